"""Whole runs on real mounts of small clips."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench.mount.__main__ import main
from bench.mount.corpora import Corpus

pytestmark = pytest.mark.usefixtures("fuse")

SHORT = ["--windows", "2", "--repeats", "1"]


def run(videos: list[Path], kept: Path, output: Path, *arguments: str) -> tuple[int, Any]:
    clips = [word for video in videos for word in ("--clips", str(video))]
    status = main([*clips, "--folder", str(kept), "--json", str(output), *SHORT, *arguments])
    return status, json.loads(output.read_text()) if output.exists() else None


def row(found: Any, data: str, pattern: str, **case: Any) -> list[Any]:
    """The epochs of one kind of data in one case."""
    wanted = {"data": data, "pattern": pattern, **case}
    (one,) = [f for f in found["figures"] if all(f[key] == wanted[key] for key in wanted)]
    epochs: list[Any] = one["epochs"]
    return epochs


def test_every_kind_of_data(
    videos: list[Path],
    kept: Path,
    corpus: Corpus,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("--patterns", "contiguous", "--workers", "2")
    status, found = run(videos, kept, tmp_path / "out.json", *arguments)
    shown = capsys.readouterr()
    assert status == 0, shown
    assert "framefs, re-encoded (DDRA)" in shown.out
    names = {figure["data"] for figure in found["figures"]}
    missing = set() if shutil.which("ffmpegfs") else {"ffmpegfs"}
    assert names | missing == {
        *("jpg", "png", "native-png", "native-npy", "ddra-png", "ddra-npy", "native-library"),
        *("ddra-library", "copy", "memory", "ffmpegfs"),
    }
    for figure in found["figures"]:
        for epoch in figure["epochs"]:
            assert epoch["wrong"] == 0
            assert epoch["rate"] > 0
    assert row(found, "jpg", "contiguous")[0]["ratio"] == 1
    for data in ("native-png", "native-npy", "ddra-png", "ddra-npy"):
        first, second = row(found, data, "contiguous")
        assert first["opens"] == second["opens"] == 1
        assert first["reads"] >= 1
        # The kernel has the pages, less what a machine that reclaims memory ahead of need took.
        assert second["reads"] <= 0.3
        assert first["pictures"] >= 0.5
        assert second["pictures"] == 0
    assert row(found, "native-library", "contiguous")[0]["pictures"] >= 1
    assert found["bytes_per_frame"]["copy"] > found["bytes_per_frame"]["jpg"]
    assert found["samples"][0]["epochs"][0]["frames"] == 40


def test_storage_of_limited_speed_and_options(
    videos: list[Path], kept: Path, corpus: Corpus, tmp_path: Path
) -> None:
    arguments = (
        *("--patterns", "single,whole", "--workers", "1", "--epochs", "1", "--rate", "10"),
        *("--storage", "cached,limited", "--data", "jpg,native-npy,memory"),
        *("-o", "cache.size=1"),
    )
    status, found = run(videos, kept, tmp_path / "out.json", *arguments)
    assert status == 0
    for pattern in ("single", "whole"):
        (slow,) = row(found, "native-npy", pattern, storage="limited")
        assert slow["wrong"] == 0
        assert slow["video_bytes"] > 0
    assert not [f for f in found["figures"] if (f["data"], f["storage"]) == ("memory", "limited")]


def test_a_wrong_frame_is_a_fault(
    videos: list[Path], tmp_path: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "kept"
    shutil.copytree(corpus.folder, folder / corpus.folder.name)
    # One file shows another frame than its name says.
    images = folder / corpus.folder.name / "png" / "two"
    shutil.copyfile(images / "000003.png", images / "000004.png")
    arguments = ("--patterns", "whole", "--workers", "1", "--data", "png", "--epochs", "1")
    status, found = run(videos, folder, tmp_path / "out.json", *arguments)
    assert status == 1
    assert found["samples"][0]["epochs"][0]["wrong"] == [["two", 4]]
    assert "wrong: png two frame 4" in capsys.readouterr().out


def test_a_loader_that_cannot_read_is_a_fault(
    videos: list[Path], tmp_path: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "kept"
    shutil.copytree(corpus.folder, folder / corpus.folder.name)
    (folder / corpus.folder.name / "jpg" / "one" / "000005.jpg").unlink()
    arguments = ("--patterns", "whole", "--workers", "2", "--data", "jpg", "--epochs", "1")
    status, found = run(videos, folder, tmp_path / "out.json", *arguments)
    assert status == 1
    assert found["failures"][0]["data"] == "jpg"
    assert "No such file" in capsys.readouterr().out


def test_where_the_time_of_a_read_goes(
    videos: list[Path], kept: Path, corpus: Corpus, tmp_path: Path
) -> None:
    status, found = run(videos, kept, tmp_path / "out.json", "--path")
    assert status == 0
    for name in ("native-png, cold", "ddra-png, cold"):
        parts = found[name]
        assert sum(parts["rows"].values()) == pytest.approx(parts["whole"], rel=0.01)
        assert parts["meanwhile"]["decode"] > 0
        assert min(parts["rows"].values()) >= 0
        assert parts["requests"] >= 1
    assert found["native-png, cached"]["meanwhile"]["decode"] == 0
    assert found["native-png, cached"]["requests"] <= 0.3
    assert found["memory, cold"]["whole"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clips", "/nowhere/*.mp4"], "there is no file"),
        (["--clips", __file__, "--data", "tape"], "there is no 'tape'"),
        (["--clips", __file__, "--workers", "0"], "whole numbers"),
        (["--clips", __file__, "--size", "255x256"], "both even"),
        (["--clips", __file__], "cannot be"),
        ([], "--clips"),
    ],
)
def test_wrong_use_ends_with_2_and_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--folder", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
