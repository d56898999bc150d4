"""What is mounted where, as the kernel tells it."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass

FILESYSTEM_TYPE = "fuse.framefs"

_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mounted:
    """One line of the mount table."""

    mountpoint: str
    type: str
    source: str


def mount_table(path: str = "/proc/self/mountinfo") -> list[Mounted]:
    """All mounts that this process sees, later ones over earlier ones."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return [_parse(line) for line in file]


def mounted_at(mountpoint: str) -> Mounted | None:
    """The topmost mount exactly at ``mountpoint``, or ``None``.

    Never touches the mount itself, which may be dead.
    """
    wanted = real_place(mountpoint)
    for mounted in reversed(mount_table()):
        if mounted.mountpoint == wanted:
            return mounted
    return None


def is_dead(mountpoint: str) -> bool:
    """Whether the process that served the mount at ``mountpoint`` is gone.

    Asks what the kernel keeps no answer to, unlike the attributes of the root.
    """
    try:
        os.statvfs(mountpoint)
    except OSError as error:
        # ECONNABORTED where the question was under way when the process went
        return error.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    return False


def real_place(path: str) -> str:
    """``path`` absolute and without symbolic links, also where its last part is a dead mount."""
    try:
        return os.path.realpath(path, strict=True)
    except OSError:
        head, tail = os.path.split(os.path.abspath(path))
        return os.path.join(os.path.realpath(head), tail)


def _parse(line: str) -> Mounted:
    # proc(5): six fields, any number of optional ones, "-", type, source, options
    head, _, tail = line.partition(" - ")
    kind, source = tail.split(" ")[:2]
    return Mounted(_unescape(head.split(" ")[4]), kind, _unescape(source))


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)
