"""What a long-running server asks of the system: less memory, more open files."""

from __future__ import annotations

import contextlib
import ctypes
import resource

# <malloc.h>
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8

_ARENAS = 2
_MAPPED_BYTES = 32 << 20
_TRIM_BYTES = 64 << 20


def keep_frames_in_place() -> None:
    """Has glibc use the memory of one frame for the next; nothing with other C libraries.

    Memory that is mapped for a frame and given back after it costs a page fault every 4 KiB: half
    of what a cheap frame takes (docs/performance.md). Two arenas, not one a thread, keep what lies
    unused between frames of many sizes to some 100 MiB beside the cache.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return
    mallopt(_M_ARENA_MAX, _ARENAS)
    mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
    mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)


def allow_open_files() -> None:
    """Raises the number of files that may be open to what the system allows this user."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
