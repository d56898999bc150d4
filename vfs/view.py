"""A view: how the frames of a corpus are shown. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vfs.formats import Format, Npy, Png, Shape
from vfs.layout import Layout
from vfs.selection import Selection
from vfs.transform import Transform

PixelFormat = Literal["rgb24", "rgb48le", "gray", "gray16le", "native"]
"""Samples of a frame: uint8 or uint16, [H, W, 3] or [H, W]; "native" planes have other shapes."""

_CHANNELS: dict[PixelFormat, int] = {"rgb24": 3, "rgb48le": 3, "gray": 1, "gray16le": 1}


@dataclass(frozen=True, slots=True)
class Samples:
    """Which samples a view's files hold.

    Attributes:
        color: "rgb", "gray", or "native" for the planes as they were decoded.
        depth: bits; 16 concerns sources that have more than 8. Native planes have what they have.
    """

    color: Literal["rgb", "gray", "native"] = "rgb"
    depth: Literal[8, 16] = 8

    def pixel_format(self, bits: int) -> PixelFormat:
        """For frames with so many bits in their native format."""
        if self.color == "native":
            return "native"
        if self.depth == 16 and bits > 8:
            return "rgb48le" if self.color == "rgb" else "gray16le"
        return "rgb24" if self.color == "rgb" else "gray"


def array_of(height: int, width: int, pixel_format: PixelFormat) -> tuple[Shape, np.dtype[Any]]:
    """Shape and type of an array with such samples; not for native planes."""
    deep = pixel_format in ("rgb48le", "gray16le")
    shape = (height, width, 3) if _CHANNELS[pixel_format] == 3 else (height, width)
    return shape, np.dtype(np.uint16 if deep else np.uint8)


_DEFAULT_LAYOUT = Layout.of("{parent}/{stem}", "{number}")
_ALL = Selection()
_AS_IT_IS = Transform()


@dataclass(frozen=True, slots=True)
class View:
    """One way to show every clip.

    Attributes:
        layout: where frames are and what they are called.
        formats: the first is what directories list; files of the others are there when asked for.
        selection: which frames of a clip.
        samples: which samples of a frame.
        transform: what is done to them.
    """

    layout: Layout = _DEFAULT_LAYOUT
    formats: tuple[Format, ...] = (Png(), Npy())
    selection: Selection = _ALL
    samples: Samples = Samples()
    transform: Transform = _AS_IT_IS

    @property
    def extensions(self) -> tuple[str, ...]:
        """Of the formats."""
        return tuple(form.extension for form in self.formats)
