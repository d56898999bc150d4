"""JPEG by libjpeg-turbo, filled up with comments to a size that is known before. Pure.

How many bytes an encoding takes depends on the picture. The size of the file is therefore a bound
that follows from width, height, quality and subsampling, and what the encoding leaves of it is
filled with COM segments behind the JFIF header. The first of them says which quality it was
encoded with: the one asked for, or where a picture exceeds the bound, the highest that does not.

Pictures are encoded from RGB. Encoders that take the decoded planes directly (TurboJPEG's) use the
less accurate of libjpeg's transforms below a quality of 96: at 95 their pictures differ from these
by 0.5 levels on average and by up to 9.
"""

from __future__ import annotations

import bisect
import io
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vfs.errors import FrameTooLarge
from vfs.formats.format import Shape

Subsampling = Literal["4:2:0", "4:2:2", "4:4:4"]

_LIMIT = 65535  # ITU-T T.81, B.2.2: X and Y are 16 bits
_SEGMENT = 65535  # B.1.1.4: the length of a segment, its own two bytes included
_FRAMING = 1024
"""Bytes for everything but the coded picture: 623 of tables and headers, and the first comment."""

_BLOCK = 16
"""Pixels of the largest coded unit in either direction."""

_QUALITIES = (30, 50, 75, 85, 90, 95, 98, 100)
_BYTES_PER_PIXEL: Mapping[Subsampling | None, tuple[float, ...]] = {
    "4:2:0": (0.26, 0.28, 0.36, 0.46, 0.54, 0.76, 1.04, 1.35),
    "4:2:2": (0.26, 0.30, 0.42, 0.55, 0.65, 0.92, 1.30, 1.73),
    "4:4:4": (0.45, 0.46, 0.53, 0.69, 0.82, 1.16, 1.72, 2.40),
    None: (0.26, 0.27, 0.30, 0.35, 0.42, 0.56, 0.71, 0.87),
}
"""At each of these qualities 1.05 times what the worst of 624 frames of 156 clips took, film and
test patterns; uniform noise takes up to 1.7 times as much, and gets a lower quality. The least ones
are what random black and white takes at quality 1, so that every picture fits at some quality.
None is for gray pictures."""

_COMMENT = re.compile(rb"framefs quality=(\d+)")


@dataclass(frozen=True, slots=True)
class Jpg:
    """A JPEG file. ``quality`` 1 to 100, libjpeg's; ``subsampling`` of the colours."""

    quality: int = 95
    subsampling: Subsampling = "4:2:0"
    extension: str = "jpg"

    def size(self, shape: Shape, dtype: np.dtype[Any]) -> int:
        """As `Format.size`."""
        height, width = shape[:2]
        if max(height, width) > _LIMIT:
            raise FrameTooLarge(
                f"{width}x{height}: a JPEG has at most {_LIMIT} pixels a side; read it as .npy"
            )
        pixels = -(-height // _BLOCK) * -(-width // _BLOCK) * _BLOCK * _BLOCK
        rates = _BYTES_PER_PIXEL[self.subsampling if len(shape) == 3 else None]
        return _FRAMING + round(pixels * float(np.interp(self.quality, _QUALITIES, rates)))

    def encode(self, array: NDArray[Any]) -> memoryview:
        """As `Format.encode`."""
        size = self.size(array.shape, array.dtype)
        image = Image.fromarray(array)
        quality = self.quality
        coded = self._coded(image, quality)
        if not _fits(coded, quality, size):
            # The larger the quality, the larger the file; so say all but a few at the very end.
            quality = bisect.bisect_left(
                range(1, self.quality),
                True,
                key=lambda one: not _fits(self._coded(image, one), one, size),
            )
            coded = self._coded(image, max(1, quality))
            if not _fits(coded, quality, size):
                raise FrameTooLarge(
                    f"{image.width}x{image.height}: does not fit into {size} bytes as JPEG at any "
                    "quality; read it as .npy"
                )
        return _filled(coded, quality, size)

    def _coded(self, image: Image.Image, quality: int) -> bytes:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=quality, subsampling=self.subsampling)
        return file.getvalue()


def quality_of(content: memoryview) -> int | None:
    """The quality with which a file of `Jpg` was encoded; None for anything else."""
    match = _COMMENT.search(content[:128])
    return int(match[1]) if match else None


def _remark(quality: int) -> bytes:
    return b"framefs quality=%d\0" % quality


def _fits(coded: bytes, quality: int, size: int) -> bool:
    return len(coded) + 4 + len(_remark(quality)) <= size


def _filled(coded: bytes, quality: int, size: int) -> memoryview:
    """``coded`` with comments behind its first segment, ``size`` bytes altogether."""
    (length,) = struct.unpack_from(">H", coded, 4)
    head = 4 + length  # SOI, and APP0 with its length
    out = bytearray(size)
    out[:head] = coded[:head]
    out[size - len(coded) + head :] = coded[head:]
    place, end = head, size - len(coded) + head
    remark = _remark(quality)
    while place < end:
        left = end - place
        segment = min(left, 2 + _SEGMENT)
        if 0 < left - segment < 4:
            segment -= 4  # what is left must have room for a segment
        struct.pack_into(">2sH", out, place, b"\xff\xfe", segment - 2)
        out[place + 4 : place + 4 + len(remark)] = remark
        remark = b""
        place += segment
    return memoryview(out).toreadonly()
