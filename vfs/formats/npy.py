"""NPY, format 1.0: the array itself behind a header of 128 bytes. Pure."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vfs.formats.format import Shape

_HEADER = 128


@dataclass(frozen=True, slots=True)
class Npy:
    """An array file. ``order`` "chw" has the colours first: [3, H, W]."""

    order: Literal["hwc", "chw"] = "hwc"
    extension: str = "npy"

    def size(self, shape: Shape, dtype: np.dtype[Any]) -> int:
        """As `Format.size`."""
        return _HEADER + math.prod(shape) * dtype.itemsize

    def encode(self, array: NDArray[Any]) -> memoryview:
        """As `Format.encode`."""
        if self.order == "chw" and array.ndim == 3:
            array = array.transpose(2, 0, 1)
        descr = "|u1" if array.itemsize == 1 else "<u2"
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {array.shape}, }}"
        length = _HEADER - 10
        header = b"\x93NUMPY\x01\x00" + struct.pack("<H", length)
        header += text.encode("ascii").ljust(length - 1) + b"\n"
        out = np.empty(_HEADER + array.nbytes, np.uint8)
        out[:_HEADER] = np.frombuffer(header, np.uint8)
        out[_HEADER:].view(array.dtype).reshape(array.shape)[...] = array
        return out.data.toreadonly()
