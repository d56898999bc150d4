"""BMP: 24-bit colours, or 8-bit gray by a palette. Uncompressed, rows from the bottom up. Pure."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfs.errors import FrameTooLarge
from vfs.formats.format import Shape

_HEADERS = 14 + 40
"""BITMAPFILEHEADER and BITMAPINFOHEADER."""

_PALETTE = np.repeat(np.arange(256, dtype=np.uint8), 4).reshape(256, 4) * np.array(
    [1, 1, 1, 0], np.uint8
)
"""RGBQUAD [256, 4]: blue, green, red, reserved."""

_LIMIT = 2**32 - 1
_PIXELS_PER_METRE = 2835  # 72 dpi


@dataclass(frozen=True, slots=True)
class Bmp:
    """A Windows bitmap, 8 bits a sample."""

    extension: str = "bmp"

    def size(self, shape: Shape, dtype: np.dtype[Any]) -> int:
        """As `Format.size`."""
        size = _start(len(shape)) + shape[0] * _row(shape)
        if size > _LIMIT:
            raise FrameTooLarge(f"{shape[1]}x{shape[0]}: more than a BMP file holds")
        return size

    def encode(self, array: NDArray[Any]) -> memoryview:
        """As `Format.encode`."""
        height, width = array.shape[:2]
        start, row = _start(array.ndim), _row(array.shape)
        out = np.empty(start + height * row, np.uint8)
        colours = 256 if array.ndim == 2 else 0
        header = struct.pack("<2sIHHI", b"BM", out.size, 0, 0, start) + struct.pack(
            "<IiiHHIIiiII",
            *(40, width, height, 1, 8 if colours else 24, 0, height * row),
            *(_PIXELS_PER_METRE, _PIXELS_PER_METRE, colours, 0),
        )
        out[:_HEADERS] = np.frombuffer(header, np.uint8)
        if colours:
            out[_HEADERS:start] = _PALETTE.reshape(-1)
        rows = out[start:].reshape(height, row)
        used = array.size // height
        rows[:, used:] = 0
        samples = rows[::-1, :used]
        if colours:
            samples[...] = array
        else:
            for channel in range(3):
                samples[:, 2 - channel :: 3] = array[..., channel]
        return out.data.toreadonly()


def _start(dimensions: int) -> int:
    return _HEADERS + (1024 if dimensions == 2 else 0)


def _row(shape: Shape) -> int:
    samples = shape[1] * (3 if len(shape) == 3 else 1)
    return -(-samples // 4) * 4
