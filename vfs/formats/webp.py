"""Lossless WebP whose size is known before: every sample is written in eight bits. Pure.

A VP8L stream (RFC 9649) without transforms and back references, whose prefix codes give each value
of green, red and blue a code of eight bits. It takes three bytes a pixel whatever is in the
picture.
"""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfs.errors import FrameTooLarge
from vfs.formats.format import Shape

_LIMIT = 1 << 14  # RFC 9649, 3.4: width and height are 14 bits
_FILE_HEADER = 12 + 8  # "RIFF", size, "WEBP"; "VP8L", size
_CODE_LENGTHS = 12
"""Code length codes that are written, of 19 at most: in their order the one for length 8 is the
twelfth."""

_REVERSED = bytes(int(f"{value:08b}"[::-1], 2) for value in range(256))
"""Codes are written from their most significant bit on, everything else from the least."""


@dataclass(frozen=True, slots=True)
class Webp:
    """A lossless WebP file, 8 bits a sample; gray becomes three equal samples."""

    extension: str = "webp"

    def size(self, shape: Shape, dtype: np.dtype[Any]) -> int:
        """As `Format.size`."""
        height, width = shape[:2]
        if max(height, width) > _LIMIT:
            raise FrameTooLarge(
                f"{width}x{height}: a WebP has at most {_LIMIT} pixels a side; read it as .npy"
            )
        stream = len(_header(height, width)) + 3 * height * width
        return _FILE_HEADER + stream + stream % 2

    def encode(self, array: NDArray[Any]) -> memoryview:
        """As `Format.encode`."""
        height, width = array.shape[:2]
        header = _header(height, width)
        stream = len(header) + 3 * height * width
        out = np.empty(_FILE_HEADER + stream + stream % 2, np.uint8)
        start = _FILE_HEADER + len(header)
        out[:start] = np.frombuffer(
            struct.pack("<4sI4s4sI", b"RIFF", out.size - 8, b"WEBP", b"VP8L", stream) + header,
            np.uint8,
        )
        pixels = out[start : start + 3 * height * width].reshape(height, width, 3)
        codes = np.frombuffer(array.tobytes().translate(_REVERSED), np.uint8).reshape(array.shape)
        for place, channel in enumerate((1, 0, 2)):  # green goes first
            pixels[..., place] = codes if array.ndim == 2 else codes[..., channel]
        out[start + pixels.size :] = 0  # chunks are of even size
        return out.data.toreadonly()


@functools.lru_cache(maxsize=64)
def _header(height: int, width: int) -> bytes:
    """Everything in front of the pixels, in whole bytes (RFC 9649, 3.4 to 3.7)."""
    # Three of the codes may list further lengths of 0, three bits each, until it comes out even.
    for more in range(3 * (19 - _CODE_LENGTHS) + 1):
        bits = _Bits()
        bits.put(0x2F, 8)
        bits.put(width - 1, 14)
        bits.put(height - 1, 14)
        bits.put(0, 1)  # alpha is not used
        bits.put(0, 3)  # version
        bits.put(0, 1)  # no transform
        bits.put(0, 1)  # no colour cache
        bits.put(0, 1)  # one group of prefix codes for the whole picture
        for channel in range(3):  # green, red, blue
            extra = min(max(0, more - channel * (19 - _CODE_LENGTHS)), 19 - _CODE_LENGTHS)
            _put_code_of_eight_bits(bits, extra)
        bits.put(0b101, 3)  # alpha: one symbol, of eight bits
        bits.put(255, 8)
        bits.put(0b001, 3)  # distance: one symbol, of one bit
        bits.put(0, 1)
        if bits.count % 8 == 0:
            return bits.value.to_bytes(bits.count // 8, "little")
    raise AssertionError("three is prime to eight")


def _put_code_of_eight_bits(bits: _Bits, extra: int) -> None:
    """A prefix code in which the first 256 symbols have eight bits each."""
    bits.put(0, 1)  # not one of the simple codes
    count = _CODE_LENGTHS + extra
    bits.put(count - 4, 4)
    for place in range(count):
        # The only length there is takes no bits to write.
        bits.put(int(place == _CODE_LENGTHS - 1), 3)
    bits.put(1, 1)  # so many lengths follow:
    bits.put(3, 3)  # (a number of 2 + 2 * 3 bits)
    bits.put(256 - 2, 8)


class _Bits:
    """Bits from the least significant one on."""

    def __init__(self) -> None:
        self.value = 0
        self.count = 0

    def put(self, value: int, count: int) -> None:
        self.value |= value << self.count
        self.count += count
