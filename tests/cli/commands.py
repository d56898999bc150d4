"""Runs the real commands in processes of their own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cli.mounts import mounted_at

ROOT = Path(__file__).parent.parent.parent
MOUNT = (sys.executable, str(ROOT / "mount.py"))
FRAMEFS = (sys.executable, "-m", "cli.main")
SECONDS = 60


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command from the root of the project, its output captured."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [str(part) for part in command],
        **{"cwd": ROOT, "capture_output": True, "text": True, "timeout": SECONDS, **options},
    )


def the_line(result: subprocess.CompletedProcess[str], status: int) -> str:
    """The one line that a command which ended with ``status`` complained in."""
    assert result.returncode == status, result
    assert result.stdout == ""
    # a mount in the foreground has its log on stderr as well
    lines = re.sub(r"^(DEBUG|INFO) .*\n", "", result.stderr, flags=re.MULTILINE)
    assert re.fullmatch(r"framefs: [^\n]+\n", lines), result.stderr
    return lines.removeprefix("framefs: ").rstrip("\n")


@contextlib.contextmanager
def mounted(source: Path, mountpoint: Path, *arguments: str | Path) -> Iterator[int]:
    """A mount in the background, with the id of its process; unmounted at the end."""
    result = run(*MOUNT, source, mountpoint, "--index", ":memory:", *arguments)
    assert result.returncode == 0, result
    try:
        yield process_of(mountpoint)
    finally:
        if mounted_at(str(mountpoint)) is not None:
            run(*FRAMEFS, "umount", "--lazy", mountpoint)


def process_of(mountpoint: Path) -> int:
    """The process that serves ``mountpoint``: the one that was started to mount there."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if os.fsencode(mountpoint) in words and words[0] == os.fsencode(sys.executable):
                    return int(entry.name)
    raise AssertionError(f"no process serves {mountpoint}")


def is_running(process: int) -> bool:
    """Whether ``process`` runs; one that has ended and waits to be reaped does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def eventually(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait until ``condition`` holds; fail after ``seconds``."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not come about in time"
        time.sleep(0.02)
