"""What is known of a source without decoding it again: its packets and its frames.

Pure. Struct of arrays, since a corpus has millions of frames: per packet in decode order, per frame
in presentation order.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from decoder.errors import FrameOutOfRange
from decoder.feed import FeedTable

NO_TIMESTAMP = int(np.iinfo(np.int64).min)
"""AV_NOPTS_VALUE: stands for a missing pts or dts."""

NO_PACKET = -1
"""Stands for the packet of a frame that the decoder did not trace to one."""

_WIDE = 4
"""Bytes from which on a number is stored as a difference."""

_DIGEST_SIZE = 16

KEY = 1
DISCARD = 2
DIRECT = 4

PICTURE_TYPES = "?IPBSipb"
"""Letters of AVPictureType, whose values are the places in this string (S, i, p: MPEG-4 sprites
and switching pictures; b: BI)."""


@dataclass(frozen=True, slots=True, eq=False)
class PacketTable:
    """One row per packet of the stream, in decode order. All arrays have shape [packets].

    Attributes:
        pts, dts: int64, in units of the time base, `NO_TIMESTAMP` where missing.
        position: int64, byte offset in the file as the demuxer tells it, -1 where it does not.
        size: int32, bytes.
        offset: uint8, how many bytes behind its position the packet lies, where it is `DIRECT`.
        flags: uint8, `KEY` (the container says so), `DISCARD` (decoded, not shown) and `DIRECT`
            (the bytes in the file there were seen to be the packet).
    """

    pts: NDArray[np.int64]
    dts: NDArray[np.int64]
    position: NDArray[np.int64]
    size: NDArray[np.int32]
    flags: NDArray[np.uint8]
    offset: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.size)


@dataclass(frozen=True, slots=True, eq=False)
class FrameTable:
    """One row per shown frame, in presentation order. All arrays have shape [frames].

    Attributes:
        packet: int32, ordinal of the packet whose frame this is, or `NO_PACKET`.
        picture_type: uint8, place in `PICTURE_TYPES`.
        hash: uint64, xxh3 of the native planes (see `decoder.pixels.Pixels.hash`); shape [0]
            where the index was made from headers and nobody asked for hashes.
        geometry: uint16, row of `SourceIndex.geometries`.
    """

    packet: NDArray[np.int32]
    picture_type: NDArray[np.uint8]
    hash: NDArray[np.uint64]
    geometry: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.packet)


class Geometry(msgspec.Struct, frozen=True):
    """What frames of one kind look like.

    Attributes:
        width, height: pixels as shown, after rotation.
        pixel_format: FFmpeg's name of the native format, e.g. "yuv420p10le".
        bits: per sample of the native format.
        orientation: how the native frame is turned before it is shown, in the words of
            `decoder.pixels.Orientation`.
    """

    width: int
    height: int
    pixel_format: str
    bits: int
    orientation: str


class StreamFacts(msgspec.Struct, frozen=True):
    """What the container says of the stream, and how the index was made.

    Attributes:
        stream: its number in the file.
        container, codec: FFmpeg's short names.
        time_base: seconds per unit of pts, as (numerator, denominator).
        rate: frames per second on average, or None.
        sample_aspect_ratio: width by height of a pixel; reported, never resampled away.
        damage: what went wrong while decoding, in words, one entry a kind; empty for a sound file.
        fallback: why frames are decoded conservatively, in words; None where they are not.
        rule: what is left out of decoding and why not more, in words, where that was proven on the
            source; None where headers tell, or frames are decoded conservatively.
    """

    stream: int
    container: str
    codec: str
    time_base: tuple[int, int]
    rate: tuple[int, int] | None
    sample_aspect_ratio: tuple[int, int]
    damage: tuple[str, ...]
    fallback: str | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """One frame of a source.

    Attributes:
        frame: its number, from 0 in presentation order.
        pts: presentation timestamp in units of the time base, None where the file has none.
        time: seconds, exactly, None where the file has no timestamp.
        picture_type: "I", "P", "B" or another of `PICTURE_TYPES`.
        width, height: pixels as shown, after rotation.
        bits: per sample of the native pixel format.
    """

    frame: int
    pts: int | None
    time: Fraction | None
    picture_type: str
    width: int
    height: int
    bits: int


class SourceIndex:
    """The packets and frames of one source in one version.

    Attributes:
        feed: how to decode it sparsely; None where it is decoded conservatively, for the reason
            in ``facts.fallback``.
        uniform_shape: (height, width) of all frames, None where they differ.
    """

    __slots__ = ("facts", "feed", "frames", "geometries", "packets", "uniform_shape")

    def __init__(
        self,
        facts: StreamFacts,
        packets: PacketTable,
        frames: FrameTable,
        geometries: tuple[Geometry, ...],
        feed: FeedTable | None = None,
    ) -> None:
        self.feed = feed
        self.facts = facts
        self.packets = packets
        self.frames = frames
        self.geometries = geometries
        shapes = {(geometry.height, geometry.width) for geometry in geometries}
        self.uniform_shape = shapes.pop() if len(shapes) == 1 else None

    @property
    def frame_count(self) -> int:
        """How many frames a full decode shows."""
        return len(self.frames)

    @property
    def time_base(self) -> Fraction:
        """Seconds per unit of pts."""
        return Fraction(*self.facts.time_base)

    @property
    def nbytes(self) -> int:
        """Memory taken by the tables."""
        return sum(int(array.nbytes) for array in self._arrays().values())

    def geometry(self, n: int) -> Geometry:
        """Size and native format of frame ``n``. Raises FrameOutOfRange."""
        self.check(n)
        return self.geometries[int(self.frames.geometry[n])]

    def shape(self, n: int) -> tuple[int, int]:
        """(height, width) of frame ``n`` as shown. Raises FrameOutOfRange."""
        if self.uniform_shape is not None and 0 <= n < self.frame_count:
            return self.uniform_shape
        geometry = self.geometry(n)
        return geometry.height, geometry.width

    def bits(self, n: int) -> int:
        """Bits per sample of frame ``n`` in its native format. Raises FrameOutOfRange."""
        return self.geometry(n).bits

    def pts(self, n: int) -> int | None:
        """Timestamp of frame ``n`` in units of the time base, None where the file has none."""
        self.check(n)
        packet = int(self.frames.packet[n])
        if packet == NO_PACKET:
            return None
        pts = int(self.packets.pts[packet])
        return None if pts == NO_TIMESTAMP else pts

    def frame(self, n: int) -> FrameInfo:
        """All that is known of frame ``n``. Raises FrameOutOfRange."""
        geometry = self.geometry(n)
        pts = self.pts(n)
        return FrameInfo(
            frame=n,
            pts=pts,
            time=None if pts is None else pts * self.time_base,
            picture_type=PICTURE_TYPES[self.frames.picture_type[n]],
            width=geometry.width,
            height=geometry.height,
            bits=geometry.bits,
        )

    def check(self, n: int, path: str = "the source") -> None:
        """Raises FrameOutOfRange, naming ``path``, unless the source has a frame ``n``."""
        if not 0 <= n < self.frame_count:
            raise FrameOutOfRange(
                f"{path}: no frame {n}; there are {self.frame_count}, from 0 to "
                f"{self.frame_count - 1}"
            )

    def to_bytes(self) -> bytes:
        """The index in a form that `from_bytes` reads back: a checksum, then compressed arrays."""
        unsafe = None if self.feed is None else self.feed.graph.unsafe
        head = msgspec.json.encode(_Head(self.facts, self.geometries, unsafe))
        arrays = {name: _packed(array) for name, array in self._arrays().items()}
        content = zlib.compress(msgspec.msgpack.encode((head, arrays)))
        return xxhash.xxh3_128_digest(content) + content

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {
            f"{prefix}.{field.name}": getattr(table, field.name)
            for prefix, table in (("packets", self.packets), ("frames", self.frames))
            for field in fields(table)
        }
        if self.feed is not None:
            arrays |= {f"feed.{name}": array for name, array in self.feed.arrays().items()}
        return arrays

    @classmethod
    def from_bytes(cls, blob: bytes) -> SourceIndex:
        """The index that `to_bytes` wrote.

        Raises:
            ValueError: the bytes are not an index.
        """
        digest, content = blob[:_DIGEST_SIZE], blob[_DIGEST_SIZE:]
        if xxhash.xxh3_128_digest(content) != digest:
            # Before it is parsed: a damaged array header may ask for any amount of memory.
            raise ValueError("not an index: the checksum is wrong")
        try:
            encoded, packed = msgspec.msgpack.decode(
                zlib.decompress(content), type=tuple[bytes, dict[str, _Packed]]
            )
            head = msgspec.json.decode(encoded, type=_Head)
            arrays = {name: _unpacked(array) for name, array in packed.items()}
            packets = PacketTable(**_below("packets.", arrays))
            frames = FrameTable(**_below("frames.", arrays))
            feed = None
            if head.unsafe is not None:
                feed = FeedTable.from_arrays(_below("feed.", arrays), head.unsafe)
        except (KeyError, TypeError, zlib.error, msgspec.MsgspecError) as error:
            raise ValueError(f"not an index: {error}") from error
        return cls(head.facts, packets, frames, head.geometries, feed)


_Packed = tuple[str, bool, bytes]
"""(dtype, whether the numbers are differences, the numbers)."""


def _packed(array: NDArray[Any]) -> _Packed:
    """Numbers of 32 bits and more as differences, which compress well: most of them ascend."""
    differs = array.dtype.kind == "i" and array.dtype.itemsize >= _WIDE
    if differs:
        # Wraps around where a missing timestamp is next to one; so does the sum that undoes it.
        array = np.diff(array, prepend=array.dtype.type(0))
    return array.dtype.str, differs, array.tobytes()


def _unpacked(packed: _Packed) -> NDArray[Any]:
    dtype, differs, numbers = packed
    array = np.frombuffer(numbers, np.dtype(dtype))
    return np.cumsum(array, dtype=array.dtype) if differs else array


def _below(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {n[len(prefix) :]: a for n, a in arrays.items() if n.startswith(prefix)}


class _Head(msgspec.Struct):
    facts: StreamFacts
    geometries: tuple[Geometry, ...]
    unsafe: dict[int, str] | None  # of the feed table; None where there is no such table
