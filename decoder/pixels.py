"""The samples of one frame: native planes, their hash, and arrays in the formats people read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, cast

import av
import numpy as np
import xxhash
from av.buffer import Buffer
from av.sidedata.sidedata import SideDataContainer
from av.sidedata.sidedata import Type as SideDataType
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from decoder.errors import UnsupportedStream
from decoder.index import Geometry
from decoder.planes import joined, joined_shape

PixelFormat = Literal["rgb24", "rgb48le", "gray", "gray16le"]
"""Arrays that a frame can be had as: uint8, or uint16 for rgb48le and gray16le;
[H, W, 3], or [H, W] for gray."""


class _Converter(threading.local):
    """swscale, set up once in each thread: that takes a sixth of the time of a conversion."""

    def __init__(self) -> None:
        self.reformatter = VideoReformatter()


_converter = _Converter()


class Pixels:
    """One decoded frame, as the decoder made it. Thread safe.

    Args:
        frame: the decoder's frame; kept alive, never written to.
        rotate: turn arrays by the display matrix, as the ffmpeg tool does when it extracts images.
    """

    __slots__ = ("__dict__", "_converting", "_rotate", "native")

    def __init__(self, frame: av.VideoFrame, *, rotate: bool = True) -> None:
        self.native = frame
        self._rotate = rotate
        # PyAV changes the frame's own tags while it converts.
        self._converting = threading.Lock()

    @cached_property
    def geometry(self) -> Geometry:
        """Size as shown, and the native format."""
        frame = self.native
        orientation = self._orientation
        width, height = frame.width, frame.height
        if orientation.transpose:
            width, height = height, width
        return Geometry(
            width=width,
            height=height,
            pixel_format=frame.format.name,
            bits=max((c.bits for c in frame.format.components), default=8),
            orientation=orientation.name,
        )

    @cached_property
    def planes(self) -> list[NDArray[np.uint8]]:
        """The native planes without padding: uint8 views [rows, bytes per row], as in memory.

        A palette is a plane of one row of 1024 bytes.
        """
        frame = self.native
        planar = frame.format.is_planar
        views = []
        for number, plane in enumerate(frame.planes):
            memory = np.frombuffer(memoryview(plane), np.uint8)
            stride = abs(plane.line_size)
            if stride == 0:  # the palette of pal8 has no lines
                views.append(memory.reshape(1, -1))
                continue
            if planar:
                samples = [c for c in frame.format.components if c.plane == number]
                row = plane.width * sum((c.bits + 7) // 8 for c in samples)
            else:
                # Packed 4:2:2 and 4:1:1 store groups of samples, the last one whole.
                group = 4 // frame.format.chroma_width(4)
                width = -(-plane.width // group) * group
                row = (width * frame.format.padded_bits_per_pixel + 7) // 8
            lines = memory[: plane.height * stride].reshape(plane.height, stride)
            views.append(lines[:, :row])
        return views

    @property
    def hash(self) -> int:
        """64-bit xxh3 of the native planes and of what else `array` depends on.

        That is size and format, but matrix, range and interlacing too: decoders carry them over
        from earlier pictures, so that the same samples may come with others after a seek, and
        would be other colours.
        """
        frame = self.native
        with self._converting:
            colors = f"matrix {int(frame.colorspace)} range {int(frame.color_range)}"
        kind = (
            f"{frame.width}x{frame.height} {frame.format.name} {colors} "
            f"interlaced {int(frame.interlaced_frame)}"
        )
        digest = xxhash.xxh3_64(kind.encode())
        for plane in self.planes:
            digest.update(np.ascontiguousarray(plane).data)
        return digest.intdigest()

    def array(self, pixel_format: PixelFormat) -> NDArray[Any]:
        """The frame as shown: C-contiguous, shape and dtype as `PixelFormat` says.

        Colours are converted as ``av.VideoFrame.to_ndarray`` does (the frame's own matrix and
        range, swscale's defaults), then turned by the display matrix.

        Raises:
            UnsupportedStream: swscale cannot convert the native format.
        """
        try:
            # One thread: with several, swscale's slices overwrite each other's first samples now
            # and then (gray16le), or differ with their number (rgb48le). rgb24 is the same.
            with self._converting:
                converted = _converter.reformatter.reformat(
                    self.native, format=pixel_format, threads=1
                )
            samples = converted.to_ndarray()
        except (ValueError, av.FFmpegError) as error:
            raise UnsupportedStream(
                f"frames of pixel format {self.native.format.name} cannot be converted to "
                f"{pixel_format}: {error}"
            ) from error
        return np.ascontiguousarray(self._orientation.apply(samples))

    def joined(self) -> NDArray[Any]:
        """The native planes as one array, each turned by the display matrix; see `decoder.planes`.

        Raises:
            UnsupportedStream: the native format has no planes of samples.
        """
        _, dtype = joined_shape(self.geometry)
        stored = dtype.newbyteorder(">") if self.native.format.is_big_endian else dtype
        planes = [
            self._orientation.apply(np.ascontiguousarray(plane).view(stored))
            for plane in self.planes
        ]
        return joined(planes).astype(dtype, copy=False)

    @property
    def nbytes(self) -> int:
        """Memory taken by the native planes."""
        return sum(plane.buffer_size for plane in self.native.planes)

    @cached_property
    def _orientation(self) -> Orientation:
        if not self._rotate:
            return UPRIGHT
        matrix = display_matrix(self.native)
        return UPRIGHT if matrix is None else Orientation.of(matrix)


def display_matrix(frame: av.VideoFrame) -> NDArray[np.int32] | None:
    """How ``frame`` is to be turned: int32 [9], see `Orientation.of`; None if it does not say."""
    data = side_data(frame, "DISPLAYMATRIX")
    return None if data is None else np.frombuffer(data, np.int32).copy()


def side_data(frame: av.VideoFrame, kind: str) -> bytes | None:
    """What is attached to ``frame`` of this ``kind`` (FFmpeg's name, e.g. "DISPLAYMATRIX")."""
    # Not `frame.side_data`: that makes the frame and its side data refer to each other, and the
    # samples stay in memory until the garbage collector comes by.
    data = _side_data(frame).get(kind)
    return None if data is None else bytes(cast(Buffer, data))


_side_data: Callable[[av.VideoFrame], Mapping[str, object]] = cast(Any, SideDataContainer)


def _unknown_side_data(kinds: type[SideDataType], value: int) -> SideDataType:
    kind: Any = object.__new__(kinds)
    kind._name_, kind._value_ = f"UNKNOWN_{value}", value
    return cast(SideDataType, kind)


# PyAV names the kinds of side data that it knows; of a frame with any other (FFmpeg 8.1: Exif) it
# can tell none at all, unless its enumeration takes unknown numbers.
SideDataType._missing_ = classmethod(_unknown_side_data)  # type: ignore[method-assign, assignment]


class Orientation:
    """How to turn a frame so that it is seen as its maker meant it.

    Attributes:
        transpose: swap rows and columns first,
        mirror: then left and right,
        flip: then top and bottom.
        name: "upright", or these words joined by "+"; "tilted" for an angle that is not a
            multiple of 90 degrees, which is left as it is.
    """

    __slots__ = ("flip", "mirror", "name", "transpose")

    def __init__(self, *, transpose: bool, mirror: bool, flip: bool, name: str = "") -> None:
        self.transpose = transpose
        self.mirror = mirror
        self.flip = flip
        words = {"transpose": transpose, "mirror": mirror, "flip": flip}
        self.name = name or "+".join(word for word, on in words.items() if on) or "upright"

    @classmethod
    def of(cls, matrix: NDArray[np.int32]) -> Orientation:
        """From a display matrix: nine numbers, row by row, as in ISO/IEC 14496-12, 6.2.2.

        A point (x, y) is shown at (a x + c y, b x + d y), where the rows begin with a, b and c, d.
        """
        a, b, c, d = (int(matrix[i]) for i in (0, 1, 3, 4))
        if a and d and not (b or c):
            return cls(transpose=False, mirror=a < 0, flip=d < 0)
        if b and c and not (a or d):
            return cls(transpose=True, mirror=c < 0, flip=b < 0)
        return cls(transpose=False, mirror=False, flip=False, name="tilted")

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        """A view of ``samples`` [H, W, ...], turned."""
        if self.transpose:
            samples = samples.swapaxes(0, 1)
        if self.mirror:
            samples = samples[:, ::-1]
        if self.flip:
            samples = samples[::-1]
        return samples


UPRIGHT = Orientation(transpose=False, mirror=False, flip=False)
