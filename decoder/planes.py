"""Native planes as one array: what shape and type it has, and how it is put together."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from decoder.errors import UnsupportedStream
from decoder.index import Geometry

_Shape = tuple[int, ...]


@functools.lru_cache(maxsize=256)
def joined_shape(geometry: Geometry) -> tuple[_Shape, np.dtype[Any]]:
    """Shape and type of the planes of such frames as one array; see `joined`.

    Raises:
        UnsupportedStream: samples of several kinds lie in one plane, or stand for a palette.
    """
    height, width = geometry.height, geometry.width
    turned = "transpose" in geometry.orientation
    if turned:
        height, width = width, height
    form = av.VideoFormat(geometry.pixel_format, width, height)
    components = sorted(form.components, key=lambda component: component.plane)
    if form.has_palette or len({one.plane for one in components}) < len(components):
        raise UnsupportedStream(
            f"frames of pixel format {geometry.pixel_format} have no plane for each kind of "
            "samples; show them with color: rgb or gray"
        )
    sizes = [(one.height, one.width) for one in components]
    if turned:
        sizes = [(width, height) for height, width in sizes]
    return _joined_shape(sizes), np.dtype(np.uint16 if geometry.bits > 8 else np.uint8)


def joined(planes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Planes [H, W] one behind the other as one array.

    One plane: [H, W]. Planes of one size: [planes, H, W]. Smaller chroma planes: rows as long as
    those of the first plane, so [H * 3/2, W] for 4:2:0 (I420 in OpenCV), or [samples] where that
    does not come out even.
    """
    flat = np.concatenate([plane.reshape(-1) for plane in planes])
    return flat.reshape(_joined_shape([(len(plane), plane.shape[1]) for plane in planes]))


def _joined_shape(sizes: list[tuple[int, int]]) -> _Shape:
    if len(sizes) == 1:
        return sizes[0]
    if len(set(sizes)) == 1:
        return (len(sizes), *sizes[0])
    total, width = sum(height * width for height, width in sizes), sizes[0][1]
    return (total // width, width) if total % width == 0 else (total,)
