"""The real command over real folders: finished, failing, stopped, gone on with."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoder.corpus import source_at
from decoder.indexing import Indexer
from decoder.store import IndexStore
from tests.cli.commands import FRAMEFS, ROOT, eventually, run, the_line
from tests.clips import with_lasting_message, write_clip

HEVC = "native265_Door_frontview.mp4"


def index(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run(*FRAMEFS, "index", *arguments)


def test_indexes_are_made_and_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    write_clip(folder / "a.mp4")
    write_clip(folder / "b.ts", codec="mpeg2video", b_frames=2)
    write_clip(folder / "c.avi", codec="rawvideo", pix_fmt="pal8", frames=20)
    store = tmp_path / "index.sqlite"
    result = index(folder, "--index", store)
    assert result.returncode == 0, result
    lines = result.stdout.splitlines()
    assert lines[:5] == [
        "3 sources with 140 frames indexed",
        "  1 by headers",
        "  1 by decoding, with the graph proven",
        "  1 by decoding",
        "    1: palettes come beside the packets of the stream",
    ]
    # by whoever mounts with the same settings
    indexer = Indexer(IndexStore(str(store)))
    assert all(indexer.keeps(source_at(str(path))) for path in folder.iterdir())
    again = index(folder, "--index", store)
    assert again.returncode == 0
    assert "3 sources with 140 frames indexed, 3 of them before" in again.stdout


def test_hashes_are_kept_beside_the_graph(tmp_path: Path) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    clip = write_clip(folder / "clip.mp4")
    store = tmp_path / "index.sqlite"
    assert index(clip, "--index", store).returncode == 0
    result = index(folder, "--hash", "--index", store)
    assert result.returncode == 0, result
    assert "of them before" not in result.stdout
    found = Indexer(IndexStore(str(store))).stored(source_at(str(clip)))
    assert found is not None
    assert found.feed is not None
    assert len(found.frames.hash) == 60
    assert "1 of them before" in index(folder, "--hash", "--index", store).stdout


def test_failures_are_named_and_do_not_stop_the_rest(tmp_path: Path) -> None:
    write_clip(tmp_path / "good.mp4")
    (tmp_path / "bad.mp4").write_bytes(b"no video" * 100)
    (tmp_path / "ignored.txt").write_text("x")
    result = index(tmp_path, "--index", tmp_path / "index.sqlite")
    assert result.returncode == 1
    assert "1 source with 60 frames indexed" in result.stdout
    assert "  1 failed\n" in result.stdout
    assert f"{tmp_path}/bad.mp4: cannot be opened as a video" in result.stdout


@pytest.fixture
def slow(sample: Path, tmp_path: Path) -> Path:
    """Eight videos that are decoded from start to end to be indexed."""
    folder = tmp_path / "slow"
    folder.mkdir()
    first = with_lasting_message(sample / HEVC, folder / "0.hevc")
    for n in range(1, 8):
        shutil.copyfile(first, folder / f"{n}.hevc")
    return folder


@contextlib.contextmanager
def started(folder: Path, store: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command with one worker that has just put its first index into the store."""
    command = [*FRAMEFS, "index", str(folder), "--index", str(store), "--jobs", "1", *arguments]

    def heeding() -> None:
        """What a shell starts in the background ignores SIGINT, and so would its children."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeding,
    ) as process:
        try:
            eventually(lambda: kept(store) > 0, 40)
            yield process
        finally:
            process.kill()


def kept(store: Path) -> int:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM sources").fetchone()[0])
    except sqlite3.Error:
        return 0


def worker_of(process: int) -> int:
    """The child of ``process`` that works for it."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    for child in map(int, children):
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    raise AssertionError("no worker")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGKILL, "the process that had it ended by SIGKILL"),
        (signal.SIGSTOP, "no progress for 1 s; given up"),
    ],
)
def test_worker_that_dies_or_hangs_costs_one_video(
    slow: Path, tmp_path: Path, number: int, reason: str
) -> None:
    with started(slow, tmp_path / "index.sqlite", "--patience", "1") as process:
        os.kill(worker_of(process.pid), number)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "7 sources with 2,100 frames indexed" in output
    assert reason in output


def test_what_was_interrupted_goes_on(slow: Path, tmp_path: Path) -> None:
    store = tmp_path / "index.sqlite"
    with started(slow, store) as process:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "to go; the same command goes on from here" in errors
    done = kept(store)
    assert 1 <= done < 8
    again = index(slow, "--index", store)
    assert again.returncode == 0
    assert f"8 sources with 2,400 frames indexed, {done} of them before" in again.stdout


def test_wrong_use(tmp_path: Path) -> None:
    assert "name the folder" in the_line(index(), 2)
    assert "there is no video in it" in the_line(index(tmp_path), 1)
    assert "No such file" in the_line(index(tmp_path / "missing"), 1)
    write_clip(tmp_path / "clip.mp4", frames=2)
    assert "name a file with --index" in the_line(index(tmp_path, "--index", ":memory:"), 1)
