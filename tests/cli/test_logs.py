"""Where records go. ``configure`` changes the whole process, so each runs in one of its own."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.commands import run


def logged(target: str, level: str = "info", daemon: bool = False) -> CompletedProcess[str]:
    """Log one record of each level, with stderr itself pointed elsewhere as a mount has it."""
    program = f"""
import logging, os
from cli import logs
from cli.errors import CommandFailed
from cli.streams import CapturedStderr
from config.settings import LoggingSettings
captured = CapturedStderr()
settings = LoggingSettings(level={level!r}, target={target!r})
try:
    print(logs.configure(settings, daemon={daemon}, stderr=captured.original))
except CommandFailed as error:
    print(error)
for level in ("debug", "info", "warning", "error"):
    getattr(logging.getLogger("vfs"), level)("%s of %s", level, "clip.mp4")
"""
    return run(sys.executable, "-c", program)


@pytest.mark.parametrize(
    ("level", "first"), [("debug", 0), ("info", 1), ("warning", 2), ("error", 3)]
)
def test_levels(level: str, first: int) -> None:
    lines = [
        f"{name.upper()} vfs: {name} of clip.mp4" for name in ("debug", "info", "warning", "error")
    ]
    result = logged("stderr", level)
    assert result.stderr.splitlines() == lines[first:]
    assert result.stdout == "True\n"


def test_automatic_is_stderr_in_the_foreground_and_never_in_a_daemon() -> None:
    assert logged("auto").stderr.count("clip.mp4") == 3
    result = logged("auto", daemon=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "False\n", "")


def test_a_file_is_appended_to_with_times(tmp_path: Path) -> None:
    log = tmp_path / "framefs.log"
    log.write_text("before\n")
    assert logged(str(log), daemon=True).returncode == 0
    lines = log.read_text().splitlines()
    assert lines[0] == "before"
    assert [line.split(" ", 2)[2] for line in lines[1:]] == [
        "INFO vfs: info of clip.mp4",
        "WARNING vfs: warning of clip.mp4",
        "ERROR vfs: error of clip.mp4",
    ]


@pytest.mark.skipif(
    os.geteuid() != 0 or os.path.exists("/dev/log"), reason="stands in for syslog at /dev/log"
)
def test_syslog() -> None:
    assert logged("syslog").stdout == (
        "logging.target: there is no syslog at /dev/log; log to a file instead\n"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as syslog:
        syslog.bind("/dev/log")
        syslog.settimeout(5)
        try:
            assert logged("syslog", "warning").returncode == 0
            # <facility * 8 + severity>: daemon is 3, warning 4, error 3
            first, second = syslog.recv(4096), syslog.recv(4096)
        finally:
            os.unlink("/dev/log")
    assert first.startswith(b"<28>framefs[")
    assert first.rstrip(b"\0").endswith(b"]: WARNING vfs: warning of clip.mp4")
    assert second.startswith(b"<27>framefs[")
