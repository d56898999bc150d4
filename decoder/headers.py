"""Container -> index from headers alone: the same frames as `decoder.scan`, without decoding them.

One picture of each configuration is decoded, for its size and format.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoder.bitstream.parsers import parser_for
from decoder.bitstream.picture import Picture, PictureParser
from decoder.closure import closure
from decoder.corpus import Source
from decoder.counters import Counters
from decoder.feed import FeedTable
from decoder.index import (
    DISCARD,
    PICTURE_TYPES,
    FrameTable,
    Geometry,
    PacketTable,
    SourceIndex,
    StreamFacts,
)
from decoder.media import Media, VideoPacket, check_unchanged
from decoder.pixels import Pixels
from decoder.plan import plan
from decoder.scan import PacketRows, facts_of, settle
from decoder.sparse import Alarm, SparseDecoder

_HEADER = 64
"""Bytes that a container may put before a packet: a block of Matroska or a tag of FLV has fewer."""


class FallBack(Exception):
    """The frames of a source cannot be told from its headers; the message is the reason."""


@dataclass(slots=True)
class _Parsed:
    facts: StreamFacts
    packets: PacketTable
    pictures: list[Picture]
    parser: PictureParser


def index_by_headers(
    source: Source,
    *,
    stream: int | None = None,
    rotate: bool = True,
    stop: threading.Event | None = None,
) -> SourceIndex:
    """The index of ``source`` from demuxing it and parsing the headers of its pictures.

    Args:
        source, stream, rotate, stop: see `decoder.scan.scan`.

    Raises:
        FallBack: that cannot be done, or could differ from what a decoder shows.
        SourceNotFound, SourceChanged, SourceUnreadable, Stopped: see `decoder.scan.scan`.
    """
    settle(source)
    parser: PictureParser | None = None
    while True:
        with Media(source, stream, stop, sparse=True) as media:
            parsed = _parse(media, parser or _parser(media))
            parser = parsed.parser.again()
            if parser is None:
                return _index(media, parsed, rotate, stop)


def _parser(media: Media) -> PictureParser:
    context = media.context
    codec = context.codec.canonical_name
    parser = parser_for(codec, bytes(context.extradata or b""), context.reorder_depth)
    if parser is None:
        raise FallBack(f"pictures of {codec} are not told by their headers")
    return parser


def _parse(media: Media, parser: PictureParser) -> _Parsed:
    rows = PacketRows()
    pictures: list[Picture] = []
    damage: list[str] = []
    file = os.open(media.source.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for packet in media.packets(damage):
            data = bytes(packet)
            rows.add(packet, offset_in(file, packet, data))
            pictures += parser.feed(data, new_extradata=_new_extradata(packet))
            if packet.is_corrupt:
                raise FallBack("the container marks a packet as damaged")
            if parser.fallback is not None:
                raise FallBack(parser.fallback)
    finally:
        os.close(file)
    pictures += parser.flush()
    damage += [parser.fallback] if parser.fallback is not None else []
    if damage:
        raise FallBack(damage[0])
    return _Parsed(facts_of(media, []), rows.table(), pictures, parser)


def _index(
    media: Media, parsed: _Parsed, rotate: bool, stop: threading.Event | None
) -> SourceIndex:
    parser = parsed.parser
    shown = [
        index
        for index in parser.shown
        if not parsed.packets.flags[parsed.pictures[index].packets[0]] & DISCARD
    ]
    if not shown:
        raise FallBack("no picture is shown by the headers")
    feed = FeedTable.of(parsed.pictures, parser.packets, parser.heads(), parser.prelude)
    _check_safe(feed, shown)
    frames = _frame_table(parsed.pictures, shown)
    geometries = _geometries(media, parsed, frames, feed, shown, rotate, stop)
    kinds = {geometry: row for row, geometry in enumerate(dict.fromkeys(geometries.values()))}
    frames.geometry[:] = [kinds[geometries[parsed.pictures[k].configuration]] for k in shown]
    check_unchanged(media.source)
    return SourceIndex(parsed.facts, parsed.packets, frames, tuple(kinds), feed)


def _new_extradata(packet: VideoPacket) -> bytes | None:
    if not packet.has_sidedata("new_extradata"):
        return None
    return bytes(packet.get_sidedata("new_extradata"))


def offset_in(file: int, packet: VideoPacket, data: bytes) -> int | None:
    """How far behind the packet's position its bytes are in the file; None where they are not.

    Some containers tell where the packet begins, some where their own header of it does.
    """
    if packet.pos is None or packet.pos < 0:
        return None
    there = os.pread(file, len(data) + _HEADER, packet.pos)
    offset = there.find(data)
    return offset if offset >= 0 else None


def _check_safe(feed: FeedTable, shown: Sequence[int]) -> None:
    unsafe = feed.graph.unsafe
    if unsafe:
        first = min((k for k in closure(feed.graph, shown) if k in unsafe), default=None)
        if first is not None:
            raise FallBack(f"picture {first}: {unsafe[first]}")


def _frame_table(pictures: Sequence[Picture], shown: Sequence[int]) -> FrameTable:
    kinds = [max(PICTURE_TYPES.find(pictures[k].picture_type), 0) for k in shown]
    return FrameTable(
        packet=np.array([pictures[k].packets[0] for k in shown], np.int32),
        picture_type=np.array(kinds, np.uint8),
        hash=np.empty(0, np.uint64),
        geometry=np.zeros(len(shown), np.uint16),
    )


def _geometries(
    media: Media,
    parsed: _Parsed,
    frames: FrameTable,
    feed: FeedTable,
    shown: Sequence[int],
    rotate: bool,
    stop: threading.Event | None,
) -> dict[int, Geometry]:
    """By configuration, from the first frame of each."""
    first: dict[int, int] = {}
    for picture in shown:
        first.setdefault(parsed.pictures[picture].configuration, picture)
    index = SourceIndex(parsed.facts, parsed.packets, frames, (), feed)
    decoder = SparseDecoder(media.source, index, feed, Counters(), stop, media)
    found = {}
    try:
        for configuration, target in first.items():
            for run in plan(feed.graph, [target]).runs:
                if run.conservative is not None:
                    raise FallBack(run.conservative)
                for _, frame in decoder.run(run):
                    found[configuration] = Pixels(frame, rotate=rotate).geometry
    except Alarm as alarm:
        raise FallBack(str(alarm)) from alarm
    finally:
        decoder.close()
    return found
