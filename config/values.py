"""Values of settings that YAML has no type for: amounts of memory and file modes."""

from __future__ import annotations

import os
import re
from pathlib import Path

_UNITS = {
    "": 1,
    "b": 1,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_OCTAL = re.compile(r"(?:0o)?[0-7]{1,4}")

AUTO_CACHE_LIMIT = 4 * 2**30
"""Bytes that ``auto`` never exceeds."""


class ByteSize(int):
    """A number of bytes, written as ``2GiB``, ``500MB`` or a plain number."""

    @classmethod
    def parse(cls, value: object) -> ByteSize:
        """The size that ``value`` says.

        Raises:
            ValueError: it is neither a whole number nor a number with a unit.
        """
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return cls(value)
        match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None or match[2].lower() not in _UNITS:
            raise ValueError(f"not a size: {value!r}")
        return cls(float(match[1]) * _UNITS[match[2].lower()])


class CacheSize(ByteSize):
    """A :class:`ByteSize`, or ``auto``: a quarter of the memory, at most 4 GiB."""

    @classmethod
    def parse(cls, value: object) -> CacheSize:
        """The size that ``value`` says, in bytes. Raises ValueError as :class:`ByteSize` does."""
        if value == "auto":
            return cls.automatic()
        return cls(ByteSize.parse(value))

    @classmethod
    def automatic(cls) -> CacheSize:
        """What ``auto`` means on this machine, in bytes."""
        return cls(min(available_memory() // 4, AUTO_CACHE_LIMIT))


class Umask(int):
    """Permission bits to take away, written in octal and in quotes: ``"027"``."""

    @classmethod
    def parse(cls, value: object) -> Umask:
        """The mask that ``value`` says.

        Raises:
            ValueError: it is no octal text up to 777. A bare YAML number is refused, because
                ``022`` and ``22`` would silently differ.
        """
        if not isinstance(value, str) or not _OCTAL.fullmatch(value) or int(value, 8) > 0o777:
            raise ValueError(f"not an octal mask: {value!r}")
        return cls(int(value, 8))


def available_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes of memory that this process may use: the machine's, or less where a cgroup says so."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        own = re.search(r"^0::/(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    except OSError:
        return memory
    directory = cgroup / (own[1] if own else "")
    for level in (directory, *directory.parents):
        if not level.is_relative_to(cgroup):
            break
        try:
            limit = (level / "memory.max").read_text().strip()
        except OSError:
            continue
        if limit.isdigit():
            memory = min(memory, int(limit))
    return memory
