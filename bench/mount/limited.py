"""A folder once more, as if it lay on slower storage.

``python -m bench.mount.limited FOLDER MNT RATE``: what is read comes at RATE bytes a second
at most, for all readers together. The kernel's page cache keeps it, as it does what a disk holds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

from bench.mount.binding import OPTIONS, load

_STATUS = [
    *("st_mode", "st_nlink", "st_size", "st_ino", "st_uid", "st_gid", "st_blocks", "st_blksize"),
]


class TokenBucket:
    """Lets bytes through at a rate; one request is let through at once after a pause.

    Args:
        rate: bytes a second.
        clock, sleep: in seconds.
    """

    def __init__(
        self,
        rate: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._free = clock()

    def take(self, count: int) -> None:
        """Returns when so many bytes may have come."""
        with self._lock:
            now = self._clock()
            self._free = max(self._free, now) + count / self._rate
            wait = self._free - now
        self._sleep(wait)


def serve(folder: str, mountpoint: str, rate: float) -> None:
    """Mounts, and returns when unmounted."""
    binding = load()
    bucket = TokenBucket(rate)
    root = os.path.abspath(folder)

    class Folder(binding.Operations):  # type: ignore[misc, name-defined]
        use_ns = True

        def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:
            try:
                status = os.stat(root + path)
            except OSError as error:
                raise binding.FuseOSError(error.errno) from error
            found = {name: getattr(status, name) for name in _STATUS}
            for name in ("atime", "mtime", "ctime"):
                found[f"st_{name}"] = getattr(status, f"st_{name}_ns")
            return found

        def readdir(self, path: str, fh: int) -> list[str]:
            return [".", "..", *sorted(os.listdir(root + path))]

        def open(self, path: str, flags: int) -> int:
            return os.open(root + path, os.O_RDONLY)

        def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
            data = os.pread(fh, size, offset)
            bucket.take(len(data))
            return data

        def release(self, path: str, fh: int) -> int:
            os.close(fh)
            return 0

        def statfs(self, path: str) -> dict[str, int]:
            held = os.statvfs(root)
            names = ("f_bsize", "f_frsize", "f_blocks", "f_files", "f_namemax")
            return {name: getattr(held, name) for name in names}

    binding.FUSE(Folder(), mountpoint, **OPTIONS)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], float(sys.argv[3]))
