"""Encoders that read memory before they have written it are kept from that.

What they find there is chance, so that the same frames and options would give another file each
time, and a larger one. MALLOC_PERTURB_ of glibc shows it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

_CPU = "/proc/cpuinfo"

_NARROW = {64: 32, 32: 16}
"""Widths that are one coding tree unit of x265, and the unit that is taken instead."""


def repeatable(encoder: str, options: Mapping[str, str], width: int) -> dict[str, str]:
    """``options`` with which ``encoder`` makes the same of the same frames.

    Args:
        encoder: FFmpeg's name.
        width: of the pictures. 16 is too narrow for x265: there is no smaller coding tree unit.
    """
    told = dict(options)
    if encoder == "libx264" and _has_avx512():
        # Its macroblock tree, in AVX-512, is wrong in pictures that are not a multiple of 128 wide.
        told["x264-params"] += ":asm=AVX2,BMI2,FMA3"
    if encoder == "libx265" and width in _NARROW:
        told["x265-params"] += f":ctu={_NARROW[width]}"
    return told


@functools.cache
def _has_avx512() -> bool:
    with open(_CPU, encoding="utf-8") as lines:
        return any("avx512f" in line.split() for line in lines if line.startswith("flags"))
