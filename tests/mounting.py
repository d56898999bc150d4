"""Real mounts for tests: the mount command in a process of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


@contextlib.contextmanager
def mounted(corpus: Path, *options: str, mountpoint: Path | None = None) -> Iterator[Path]:
    """Mounts ``corpus`` by ``mount.py`` as a daemon, and unmounts it in the end.

    The index is kept in a temporary file, the log is shown when mounting fails.
    """
    with tempfile.TemporaryDirectory(prefix="framefs-") as scratch:
        target = mountpoint or Path(scratch) / "mnt"
        target.mkdir(exist_ok=True)
        log = Path(scratch) / "log"
        command = [
            *(sys.executable, str(ROOT / "mount.py"), str(corpus), str(target)),
            *("--index", str(Path(scratch) / "index.sqlite")),
            *("-o", f"logging.target={log}", *options),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            said = log.read_text() if log.exists() else ""
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}{done.stdout}{said}")
        try:
            yield target
        finally:
            umount = [sys.executable, "-m", "cli.main", "umount", str(target)]
            if os.path.ismount(target):  # a test may have ended it in its own way
                server = server_of(target)
                subprocess.run(umount, cwd=ROOT, timeout=60, check=True)
                _wait_for(server)


def server_of(mount: Path) -> int:
    """Process id of the daemon that serves ``mount``."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(mount) in command and b"mount.py" in b" ".join(command):
                return int(entry.name)
    raise RuntimeError(f"no process serves {mount}")


def _wait_for(process: int) -> None:
    """Until a process that is nobody's child has ended, which closes its files."""
    limit = time.monotonic() + 20
    while os.path.exists(f"/proc/{process}") and time.monotonic() < limit:
        time.sleep(0.01)
