"""Filesystems that the loader reads from, each a process, mounted while a context lasts."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_PROJECT = Path(__file__).parents[2]

_PATIENCE = 120.0
"""Seconds that a mount may take to come up or to go."""

READ_AHEAD_KIB = 1024
"""How far the kernel reads ahead, as a mount of framefs has it where root mounts."""


class FilesystemFailed(Exception):
    """A filesystem did not come up, or not down; says which and what it said."""


@contextlib.contextmanager
def framefs(
    videos: Path, mountpoint: Path, scratch: Path, options: Sequence[str] = ()
) -> Iterator[int]:
    """Mounts ``videos``; the id of the process. Indexes are kept in ``scratch``."""
    command = [
        *(sys.executable, str(_PROJECT / "mount.py"), "-f", str(videos), str(mountpoint)),
        *("--index", str(scratch / "index.sqlite"), "-o", "logging.level=warning"),
        *(word for option in options for word in ("-o", option)),
    ]
    with _served(command, mountpoint, scratch / "framefs.log") as process:
        yield process


@contextlib.contextmanager
def memory(images: Sequence[Path], mountpoint: Path, scratch: Path) -> Iterator[int]:
    """Mounts files from memory: frame n of any clip is ``images[n % len(images)]``."""
    command = [sys.executable, "-m", "bench.mount.memory", str(mountpoint), *map(str, images)]
    with _served(command, mountpoint, scratch / "memory.log") as process:
        _read_ahead(mountpoint, READ_AHEAD_KIB)
        yield process


@contextlib.contextmanager
def limited(folder: Path, mountpoint: Path, scratch: Path, rate: int) -> Iterator[int]:
    """Mounts ``folder`` once more, read at ``rate`` bytes a second at most."""
    command = [
        *(sys.executable, "-m", "bench.mount.limited"),
        *(str(folder), str(mountpoint), str(rate)),
    ]
    with _served(command, mountpoint, scratch / "limited.log") as process:
        yield process


@contextlib.contextmanager
def ffmpegfs(videos: Path, mountpoint: Path, scratch: Path) -> Iterator[int]:
    """Mounts ``videos`` as frame sets of PNG by ffmpegfs, with a cache that is empty at first."""
    program = shutil.which("ffmpegfs")
    if program is None:
        raise FilesystemFailed("ffmpegfs is not installed")
    cache = scratch / "ffmpegfs-cache"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir()
    options = ["-f", f"--cachepath={cache}", "--desttype=png"]
    command = [program, *options, str(videos), str(mountpoint)]
    try:
        with _served(command, mountpoint, scratch / "ffmpegfs.log") as process:
            yield process
    finally:
        shutil.rmtree(cache, ignore_errors=True)


def statistics(mountpoint: Path) -> dict[str, Any]:
    """What a mount of framefs tells of itself."""
    found: dict[str, Any] = json.loads((mountpoint / ".framefs" / "stats.json").read_bytes())
    return found


def processor_seconds(process: int) -> float:
    """What a process has used of the processor so far."""
    with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def _served(command: Sequence[str], mountpoint: Path, log: Path) -> Iterator[int]:
    """Runs a filesystem in the foreground while the context lasts."""
    mountpoint.mkdir(parents=True, exist_ok=True)
    outside = mountpoint.stat().st_dev
    path = os.pathsep.join([str(_PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with open(log, "w+b") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env={**os.environ, "PYTHONPATH": path},
        )
        try:
            if not _until(lambda: _answers(mountpoint, outside) or process.poll() is not None):
                process.kill()
            if process.poll() is not None:
                said.seek(0)
                words = " ".join(said.read().decode(errors="replace").split())
                raise FilesystemFailed(f"{Path(command[0]).name} at {mountpoint}: {words[-400:]}")
            yield process.pid
        finally:
            _unmount(mountpoint, outside)
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(mountpoint: Path, outside: int) -> bool:
    try:
        return mountpoint.stat().st_dev != outside
    except OSError:
        return False


def _unmount(mountpoint: Path, outside: int) -> None:
    commands = [["fusermount3", "-u"], ["fusermount", "-u"], ["umount"], ["umount", "-l"]]
    for command in commands if os.geteuid() else commands[2:]:
        if not _answers(mountpoint, outside):
            return
        if shutil.which(command[0]):
            subprocess.run([*command, str(mountpoint)], capture_output=True, check=False)
            _until(lambda: not _answers(mountpoint, outside), 1.0)


def _until(condition: Any, seconds: float = _PATIENCE) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _read_ahead(mountpoint: Path, kib: int) -> None:
    device = mountpoint.stat().st_dev
    place = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb"
    with contextlib.suppress(OSError), open(place, "w", encoding="ascii") as file:
        file.write(str(kib))
