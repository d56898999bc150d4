"""Files of a frame's size from memory: the least that a filesystem in Python can cost.

``python -m bench.mount.memory MNT IMAGE...``: ``MNT/CLIP/NNNNNN.png`` is there for every clip and
number, and is image number NNNNNN modulo how many there are.
"""

from __future__ import annotations

import ctypes
import stat
import sys
from pathlib import Path
from typing import Any

from bench.mount.binding import OPTIONS, load

_SECOND = 10**9


def serve(mountpoint: str, images: list[bytearray]) -> None:
    """Mounts, and returns when unmounted."""
    binding = load()

    class Memory(binding.Operations):  # type: ignore[misc, name-defined]
        use_ns = True

        def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:
            parts = path.strip("/").split("/")
            times = dict.fromkeys(("st_atime", "st_mtime", "st_ctime"), _SECOND)
            if len(parts) < 2:
                return {"st_mode": stat.S_IFDIR | 0o555, "st_nlink": 2, **times}
            size = len(images[_number(parts[1])])
            return {"st_mode": stat.S_IFREG | 0o444, "st_nlink": 1, "st_size": size, **times}

        def open(self, path: str, flags: int) -> int:
            return _number(path.rpartition("/")[2])

        def read(self, path: str, size: int, offset: int, fh: int) -> Any:
            image = images[fh]
            length = max(0, min(size, len(image) - offset))
            # Not a copy: the binding makes the only one.
            return (ctypes.c_char * length).from_buffer(image, offset) if length else b""

    def _number(name: str) -> int:
        return int(name.partition(".")[0]) % len(images)

    binding.FUSE(Memory(), mountpoint, **OPTIONS)


if __name__ == "__main__":
    serve(sys.argv[1], [bytearray(Path(name).read_bytes()) for name in sys.argv[2:]])
