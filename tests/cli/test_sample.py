from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, run

pytestmark = pytest.mark.usefixtures("fuse")

SAMPLE = (sys.executable, "-m", "cli.sample")


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    """What it says until it has said how to end it."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or "Ctrl-C unmounts" not in lines[-1]:
        line = process.stdout.readline()
        assert line, lines
        lines.append(line.rstrip("\n"))
    return lines


def test_make_run_says_what_to_try_and_it_works(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "c")}
    with subprocess.Popen(
        SAMPLE, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        first, heading, *commands, last = lines_of(process)
        mountpoint = Path(first.removeprefix(f"{ROOT}/sample is mounted at "))
        assert mountpoint.parent == tmp_path
        assert heading == "Try, in another terminal:"
        assert last == "Ctrl-C unmounts."
        said = [run("sh", "-c", command).stdout for command in commands]
        assert said[0].split() == [f"{n:06}.png" for n in range(10)]
        assert said[1].startswith("<PIL.PngImagePlugin.PngImageFile image mode=RGB size=640x480 ")
        assert said[2] == "(480, 640, 3)\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert not mountpoint.exists()


def test_own_videos_at_an_own_place(tmp_path: Path) -> None:
    videos = tmp_path / "my videos"
    videos.mkdir()
    mountpoint = tmp_path / "my frames"
    arguments = ("--videos", str(videos), "--mount", str(mountpoint))
    with subprocess.Popen(
        (*SAMPLE, *arguments), cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert lines_of(process) == [
            f"{videos} is mounted at {mountpoint}",
            "There is no video in it yet. Ctrl-C unmounts.",
        ]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert not mountpoint.exists()
