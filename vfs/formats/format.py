"""What a file format is. Pure."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]
"""Of an array of samples: [H, W, 3] or [H, W]; native planes have others."""


class Format(Protocol):
    """One file format with its options. The size of a file follows from shape and type alone."""

    @property
    def extension(self) -> str:
        """Of the files, without the dot."""

    def size(self, shape: Shape, dtype: np.dtype[Any]) -> int:
        """Bytes of the file that holds an array of this shape and type, uint8 or uint16.

        Raises:
            FrameTooLarge: the format cannot hold so many samples.
        """

    def encode(self, array: NDArray[Any]) -> memoryview:
        """The file that holds ``array`` (C-contiguous), as a read-only view of that many bytes."""
