"""PPM and PGM (netpbm's P6 and P5): a short text header, then the samples. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfs.formats.format import Shape


@dataclass(frozen=True, slots=True)
class Ppm:
    """8 bits a sample, or 16, the high byte first. The extension of gray frames is pgm."""

    extension: str = "ppm"

    def size(self, shape: Shape, dtype: np.dtype[Any]) -> int:
        """As `Format.size`."""
        return len(_header(shape, dtype)) + math.prod(shape) * dtype.itemsize

    def encode(self, array: NDArray[Any]) -> memoryview:
        """As `Format.encode`."""
        header = _header(array.shape, array.dtype)
        out = bytearray(len(header) + array.nbytes)
        out[: len(header)] = header
        samples: NDArray[Any] = np.ndarray(
            array.shape, array.dtype.newbyteorder(">"), out, offset=len(header)
        )
        samples[...] = array
        return memoryview(out).toreadonly()


def _header(shape: Shape, dtype: np.dtype[Any]) -> bytes:
    kind = "P6" if len(shape) == 3 else "P5"
    return f"{kind}\n{shape[1]} {shape[0]}\n{np.iinfo(dtype).max}\n".encode("ascii")
