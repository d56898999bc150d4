from __future__ import annotations

import subprocess
from pathlib import Path

from decoder.corpus import source_at
from decoder.indexing import index_source
from decoder.store import IndexStore
from tests.cli.commands import FRAMEFS, run, the_line
from tests.clips import write_clip
from tests.inspection.graphs import forgetful


def verify(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run(*FRAMEFS, "verify", folder, "--index", folder / "index.sqlite", *arguments)


def test_sound_videos(tmp_path: Path) -> None:
    write_clip(tmp_path / "a.mp4")
    write_clip(tmp_path / "b.mkv", codec="mpeg4")
    result = verify(tmp_path, "--all")
    assert result.returncode == 0, result
    assert result.stdout.startswith(
        "2 sources compared, 2 of them read sparsely: 120 frames read, 0 wrong\n"
    )
    sampled = verify(tmp_path, "--sample", "7", "--seed", "3")
    assert sampled.returncode == 0
    assert "14 frames read, 0 wrong" in sampled.stdout
    assert sampled.stdout.endswith("seed 3\n")


def test_faults_are_named_with_source_frame_and_plan(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", gop=15, options={"sc_threshold": "0"})
    source = source_at(str(clip))
    store = IndexStore(str(tmp_path / "index.sqlite"))
    store.put(source, "stream=auto rotate=1", forgetful(index_source(source)))
    store.close()
    result = verify(tmp_path)
    assert result.returncode == 1
    assert f"{clip}: frame " in result.stdout
    assert "has other pixels than in a full decode" in result.stdout
    assert "from the random access point" in result.stdout


def test_unreadable_videos_are_counted_and_named(tmp_path: Path) -> None:
    write_clip(tmp_path / "good.mp4", frames=5)
    (tmp_path / "bad.mp4").write_bytes(b"no video" * 100)
    result = verify(tmp_path)
    assert result.returncode == 1
    assert f"unreadable: {tmp_path}/bad.mp4: cannot be opened as a video" in result.stdout
    assert "1 source compared" in result.stdout
    assert "  1 unreadable\n" in result.stdout


def test_wrong_use(tmp_path: Path) -> None:
    assert "there is no video in it" in the_line(verify(tmp_path), 1)
    assert "--sample" in the_line(verify(tmp_path, "--sample", "0"), 2)
