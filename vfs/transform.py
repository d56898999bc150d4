"""What is done to the pixels of a frame after it was decoded: resizing, cutting out. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vfs.errors import FrameTooSmall

Filter = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]

_FILTERS: dict[Filter, Image.Resampling] = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}


@dataclass(frozen=True, slots=True)
class Resize:
    """To a given short side, the proportions kept, as torchvision's ``Resize(short)`` does.

    Attributes:
        short: pixels of the shorter side; the longer one is rounded down.
        filter: Pillow's name of it. Filters but "nearest" widen with the reduction.
    """

    short: int
    filter: Filter = "bilinear"

    def shape(self, height: int, width: int) -> tuple[int, int]:
        """(height, width) afterwards."""
        if height <= width:
            return self.short, max(1, self.short * width // height)
        return max(1, self.short * height // width), self.short

    def apply(self, array: NDArray[Any]) -> NDArray[Any]:
        """``array`` [H, W] or [H, W, 3], uint8 or uint16, resized by Pillow.

        Pillow has no colours of 16 bits: those are resized one by one in 32-bit floating point and
        rounded.
        """
        height, width = self.shape(*array.shape[:2])
        if (height, width) == array.shape[:2]:
            return array
        chosen = _FILTERS[self.filter]
        if array.dtype == np.uint8:
            return np.asarray(Image.fromarray(array).resize((width, height), chosen))
        planes = array[..., None] if array.ndim == 2 else array
        out = np.empty((height, width, planes.shape[2]), np.uint16)
        for channel in range(planes.shape[2]):
            image = Image.fromarray(planes[..., channel].astype(np.float32))
            resized = np.asarray(image.resize((width, height), chosen))
            out[..., channel] = np.clip(np.rint(resized), 0, 65535)
        return out[..., 0] if array.ndim == 2 else out


@dataclass(frozen=True, slots=True)
class Crop:
    """Cuts out a rectangle.

    Attributes:
        width, height: of the part that stays.
        left, top: its corner; None for the middle (rounded as torchvision's ``CenterCrop`` does).
    """

    width: int
    height: int
    left: int | None = None
    top: int | None = None

    def shape(self, height: int, width: int) -> tuple[int, int]:
        """(height, width) afterwards. Raises FrameTooSmall."""
        self._corner(height, width)
        return self.height, self.width

    def apply(self, array: NDArray[Any]) -> NDArray[Any]:
        """That part of ``array``, contiguous. Raises FrameTooSmall."""
        top, left = self._corner(*array.shape[:2])
        return np.ascontiguousarray(array[top : top + self.height, left : left + self.width])

    def _corner(self, height: int, width: int) -> tuple[int, int]:
        left = round((width - self.width) / 2) if self.left is None else self.left
        top = round((height - self.height) / 2) if self.top is None else self.top
        if left < 0 or top < 0 or left + self.width > width or top + self.height > height:
            raise FrameTooSmall(
                f"{self.width}x{self.height} at {left},{top} does not fit into frames of "
                f"{width}x{height}; choose a smaller crop, or a resize before it"
            )
        return top, left


@dataclass(frozen=True, slots=True)
class Transform:
    """A resize, then a crop; None where there is none."""

    resize: Resize | None = None
    crop: Crop | None = None

    def shape(self, height: int, width: int) -> tuple[int, int]:
        """(height, width) of what frames of that size become. Raises FrameTooSmall."""
        if self.resize is not None:
            height, width = self.resize.shape(height, width)
        if self.crop is not None:
            height, width = self.crop.shape(height, width)
        return height, width

    def apply(self, array: NDArray[Any]) -> NDArray[Any]:
        """What ``array`` [H, W] or [H, W, 3] becomes: itself, or another, C-contiguous."""
        if self.resize is not None:
            array = self.resize.apply(array)
        if self.crop is not None:
            array = self.crop.apply(array)
        return array
