"""Container -> index, the conservative way: decode everything once and write down what came out.

Right for any stream, whatever its codec, container or damage, because nothing is derived: a frame
is in the index if, and because, the decoder showed it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from fractions import Fraction

import av
import numpy as np

from decoder.corpus import Source
from decoder.errors import SourceUnreadable
from decoder.index import (
    DIRECT,
    DISCARD,
    KEY,
    NO_PACKET,
    NO_TIMESTAMP,
    PICTURE_TYPES,
    FrameTable,
    Geometry,
    PacketTable,
    SourceIndex,
    StreamFacts,
)
from decoder.media import Media, VideoPacket, check_unchanged, decode
from decoder.pixels import Pixels

_TICK_NS = 20_000_000
"""Longest time for which Linux gives out one and the same timestamp, with a margin."""

_COARSE_TICK_NS = 1_000_000_000
"""The same where the filesystem keeps whole seconds."""


def scan(
    source: Source,
    *,
    stream: int | None = None,
    rotate: bool = True,
    stop: threading.Event | None = None,
    fallback: str | None = None,
) -> SourceIndex:
    """Decodes ``source`` once, in order, with one thread, and records its packets and frames.

    Each packet's timestamp is replaced by its ordinal before it is decoded, so that every frame
    that comes out names its packet: the file's own timestamps may be missing, doubled or out of
    order. Errors in a packet are passed over and counted.

    Args:
        source: the file; must stay as it is meanwhile.
        stream: see `decoder.media.Media`.
        rotate: sizes are those after rotation by the display matrix.
        stop: ends the scan, with `Stopped`, when set.
        fallback: why the index is not made from headers, to be kept in it.

    Raises:
        SourceUnreadable: the file cannot be opened, has no such stream or shows no frame.
        SourceNotFound, SourceChanged: the file went away or changed meanwhile.
    """
    settle(source)
    packets = PacketRows()
    frames = _Frames(rotate)
    damage: list[str] = []
    with Media(source, stream, stop) as media:
        for packet in media.packets(damage):
            packets.add(packet)
            packet.pts = packet.dts = len(packets) - 1
            frames.add(_decoded(media, packet, damage), len(packets))
        frames.add(_decoded(media, None, damage), len(packets))
        facts = facts_of(media, damage, fallback)
    check_unchanged(source)
    if not len(frames):
        raise SourceUnreadable(
            f"{source.path}: not one of {len(packets)} packets of stream {facts.stream} "
            f"({facts.codec}) could be decoded{_because(facts.damage)}; check it with a player"
        )
    return SourceIndex(facts, packets.table(), frames.table(), tuple(frames.geometries))


def _decoded(media: Media, packet: VideoPacket | None, damage: list[str]) -> list[av.VideoFrame]:
    """As `decode`; a frame that came out damaged is damage too.

    What a decoder leaves behind in a damaged picture changes later ones, beyond IDR pictures: the
    hashes of such a file do not go with a sparse index.
    """
    frames = decode(media, packet, damage)
    damage += ["a frame came out damaged" for frame in frames if frame.is_corrupt]
    return frames


def settle(source: Source) -> None:
    """Waits until a later change to the file is sure to give it another mtime.

    Timestamps move on in ticks: a file changed a moment ago may change again with the fingerprint
    it has, and the index of a mixture would be taken for that of the file from then on.
    """
    mtime_ns = source.fingerprint.mtime_ns
    tick_ns = _TICK_NS if mtime_ns % _COARSE_TICK_NS else _COARSE_TICK_NS
    age_ns = time.time_ns() - mtime_ns
    if 0 <= age_ns < tick_ns:
        time.sleep((tick_ns - age_ns) / 1e9)


class PacketRows:
    """Collects the packets of a stream, in decode order."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, int, int, int]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, packet: VideoPacket, offset: int | None = None) -> None:
        """Adds the next packet; its bytes lie ``offset`` behind its position if that is known."""
        flags = 0 if offset is None else DIRECT
        flags |= (KEY if packet.is_keyframe else 0) | (DISCARD if packet.is_discard else 0)
        self._rows.append((*packet_identity(packet), flags, offset or 0))

    def table(self) -> PacketTable:
        """All of them."""
        columns = zip(*self._rows, strict=True) if self._rows else ((),) * 6
        types = (np.int64, np.int64, np.int64, np.int32, np.uint8, np.uint8)
        return PacketTable(*(np.array(c, t) for c, t in zip(columns, types, strict=True)))


class _Frames:
    def __init__(self, rotate: bool) -> None:
        self._rotate = rotate
        self._rows: list[tuple[int, int, int, int]] = []
        self.geometries: dict[Geometry, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, frames: list[av.VideoFrame], packets: int) -> None:
        """Adds what came out after so many ``packets`` had gone in."""
        for frame in frames:
            pixels = Pixels(frame, rotate=self._rotate)
            row = self.geometries.setdefault(pixels.geometry, len(self.geometries))
            # A timestamp that is no ordinal is of the decoder's own making.
            pts = frame.pts
            packet = pts if pts is not None and 0 <= pts < packets else NO_PACKET
            kind = int(frame.pict_type)
            self._rows.append((packet, kind if kind < len(PICTURE_TYPES) else 0, pixels.hash, row))

    def table(self) -> FrameTable:
        types = (np.int32, np.uint8, np.uint64, np.uint16)
        columns = zip(*self._rows, strict=True)
        return FrameTable(*(np.array(c, t) for c, t in zip(columns, types, strict=True)))


def packet_identity(packet: VideoPacket) -> tuple[int, int, int, int]:
    """(pts, dts, position, size) as in `PacketTable`: what tells a packet from others of a file."""
    return (
        NO_TIMESTAMP if packet.pts is None else packet.pts,
        NO_TIMESTAMP if packet.dts is None else packet.dts,
        -1 if packet.pos is None else packet.pos,
        packet.size,
    )


def facts_of(media: Media, damage: list[str], fallback: str | None = None) -> StreamFacts:
    """What the container says, and what went wrong."""
    stream = media.stream
    rate = stream.average_rate
    base = stream.time_base or Fraction(1, 1)
    sar = stream.sample_aspect_ratio or media.context.sample_aspect_ratio
    return StreamFacts(
        stream=stream.index,
        container=media.container_format,
        codec=media.context.codec.canonical_name,
        time_base=(base.numerator, base.denominator),
        rate=(rate.numerator, rate.denominator) if rate else None,
        sample_aspect_ratio=(sar.numerator, sar.denominator) if sar else (1, 1),
        damage=tuple(f"{what} ({n} times)" for what, n in Counter(damage).items()),
        fallback=fallback,
    )


def _because(damage: tuple[str, ...]) -> str:
    return f" ({'; '.join(damage)})" if damage else ""
