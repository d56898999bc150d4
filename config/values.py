"""Values of settings that YAML has no type for: amounts, rates, rectangles, file modes."""

from __future__ import annotations

import os
import re
from fractions import Fraction
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
_CROP = re.compile(r"(\d{1,5})x(\d{1,5})(?:\+(\d{1,5})\+(\d{1,5}))?", re.ASCII)
_RANGE = re.compile(r"(\d{0,12}):(\d{0,12})", re.ASCII)
_OCTAL = re.compile(r"(?:0o)?[0-7]{1,4}")

AUTO_CACHE_LIMIT = 256 << 20
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
    """A :class:`ByteSize`, or ``auto``: a thirty-second of the memory, at most 256 MiB.

    The kernel keeps what has been read; memory of our own takes away from that.
    """

    @classmethod
    def parse(cls, value: object) -> CacheSize:
        """The size that ``value`` says, in bytes. Raises ValueError as :class:`ByteSize` does."""
        if value == "auto":
            return cls.automatic()
        return cls(ByteSize.parse(value))

    @classmethod
    def automatic(cls) -> CacheSize:
        """What ``auto`` means on this machine, in bytes."""
        return cls(min(available_memory() // 32, AUTO_CACHE_LIMIT))


class Rate(Fraction):
    """Frames a second, more than 0: ``2``, ``0.5``, ``"30000/1001"``."""

    @classmethod
    def parse(cls, value: object) -> Rate:
        """The rate that ``value`` says.

        Raises:
            ValueError: it is no positive number.
        """
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError(f"not a rate: {value!r}")
        try:
            # A decimal fraction means what is written, not the binary number nearest to it.
            rate = cls(str(value))
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(f"not a rate: {value!r}") from error
        if not 0 < rate <= 10**6:
            raise ValueError(f"not a rate: {value!r}")
        return rate


class CropText(tuple[int, int, int | None, int | None]):
    """Width, height, left and top, written ``224x224+16+0``; without the last two the middle."""

    @classmethod
    def parse(cls, value: object) -> CropText:
        """What ``value`` says.

        Raises:
            ValueError: it is no such text.
        """
        match = _CROP.fullmatch(value) if isinstance(value, str) else None
        if match is None or not int(match[1]) or not int(match[2]):
            raise ValueError(f"not a crop: {value!r}")
        left, top = (None if match[n] is None else int(match[n]) for n in (3, 4))
        return cls((int(match[1]), int(match[2]), left, top))


class RangeText(tuple[int, int | None]):
    """The first frame and the one behind the last, written ``10:200``; None is the end."""

    @classmethod
    def parse(cls, value: object) -> RangeText:
        """What ``value`` says.

        Raises:
            ValueError: it is no such text, or ends before it begins.
        """
        match = _RANGE.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise ValueError(f"not a range: {value!r}")
        first, end = int(match[1] or 0), int(match[2]) if match[2] else None
        if end is not None and end <= first:
            raise ValueError(f"not a range: {value!r}")
        return cls((first, end))


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
