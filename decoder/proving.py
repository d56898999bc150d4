"""Reference graphs for sources that had to be decoded to be indexed, proven on them."""

from __future__ import annotations

import threading

import msgspec
import numpy as np
from av.packet import PktSideDataT

from decoder.bitstream.parsers import structure_of
from decoder.bitstream.picture import Picture
from decoder.bitstream.structure import StructureParser
from decoder.corpus import Source
from decoder.counters import Counters
from decoder.feed import FeedTable
from decoder.headers import offset_in
from decoder.index import NO_PACKET, PICTURE_TYPES, PacketTable, SourceIndex
from decoder.media import Media, check_unchanged, is_intra_only
from decoder.packets import BackwardReader
from decoder.pixels import Pixels
from decoder.plan import Feed, FeedItem, Run
from decoder.proof import Proof, Stretch, Unproven
from decoder.scan import PacketRows
from decoder.sparse import Alarm, SparseDecoder

_BESIDE: dict[PktSideDataT, str] = {
    "palette": "palettes come",
    "new_extradata": "other configurations come",
    "param_change": "other parameters come",
}
"""What decoders go by that is not in the packets themselves, which is all that plans feed."""


def proven(
    source: Source,
    index: SourceIndex,
    *,
    rotate: bool = True,
    stop: threading.Event | None = None,
) -> SourceIndex:
    """``index``, made by decoding ``source``, with the reference graph of its pictures.

    What headers say of them is tried once on the source: it costs about as much as decoding it
    again. Where there is no proof, or nothing to prove, ``index`` with the reason.

    Args:
        rotate, stop: see `decoder.scan.scan`.

    Raises:
        SourceNotFound, SourceChanged, SourceUnreadable, Stopped: see `decoder.scan.scan`.
    """
    try:
        return _proven(source, index, rotate, stop)
    except Unproven as reason:
        facts = msgspec.structs.replace(index.facts, fallback=str(reason))
        return SourceIndex(facts, index.packets, index.frames, index.geometries)


def _proven(
    source: Source, index: SourceIndex, rotate: bool, stop: threading.Event | None
) -> SourceIndex:
    found = _structure(source, index, stop)
    if found is None:
        return index
    parser, packets = found
    frames = _frames(index, parser)
    bare = SourceIndex(index.facts, packets, index.frames, index.geometries)
    trial = _Trial(source, bare, parser, frames, rotate, stop)
    try:
        proof = Proof(parser.pictures, frames, trial)
        stretches = proof.stretches()
    finally:
        trial.close()
    check_unchanged(source)
    held = sum(parser.pictures[stretch.start].start for stretch in stretches)
    rule = f"{parser.rule}; {_told(held, proof.named)}"
    feed = _feed(index, parser, frames, stretches)
    facts = msgspec.structs.replace(index.facts, fallback=None, rule=rule)
    return SourceIndex(facts, packets, index.frames, index.geometries, feed)


def _told(held: int, named: int) -> str:
    if not named:
        return "nothing says where decoding may begin but at the first picture"
    return f"starts proven: {held} of {named}"


def _structure(
    source: Source, index: SourceIndex, stop: threading.Event | None
) -> tuple[StructureParser, PacketTable] | None:
    """The pictures of a source by its headers, and its packets with where their bytes lie.

    None where another way than this one is made for the codec.
    """
    with Media(source, index.facts.stream, stop) as media:
        context = media.context
        parser = structure_of(
            context.codec.canonical_name,
            bytes(context.extradata or b""),
            intra=is_intra_only(context),
        )
        if parser is None:
            return None
        if index.facts.damage:
            raise Unproven(f"a full decode met damage: {index.facts.damage[0]}")
        rows = PacketRows()
        with open(source.path, "rb", buffering=0) as file:
            for packet in media.packets():
                for kind, what in _BESIDE.items():
                    if packet.has_sidedata(kind):
                        raise Unproven(f"{what} beside the packets of the stream")
                data = bytes(packet)
                rows.add(packet, offset_in(file.fileno(), packet, data))
                parser.feed(data, key=packet.is_keyframe)
                if parser.fallback is not None:
                    raise Unproven(parser.fallback)
    parser.finish()
    if parser.fallback is not None:
        raise Unproven(parser.fallback)
    check_unchanged(source)
    packets = rows.table()
    if len(packets) != len(index.packets):
        raise Unproven(f"{len(index.packets)} packets were decoded, {len(packets)} came again")
    return parser, packets


def _frames(index: SourceIndex, parser: StructureParser) -> list[int]:
    """For each picture the frame that it shows, or -1."""
    pictures = np.full(len(index.packets), -1, np.int64)
    for k, coded in enumerate(parser.pictures):
        pictures[list(coded.packets)] = k
    frames = [-1] * len(parser.pictures)
    for n, packet in enumerate(index.frames.packet.tolist()):
        picture = int(pictures[packet]) if packet != NO_PACKET else -1
        if picture < 0:
            raise Unproven(f"frame {n} comes from no packet of its own")
        if frames[picture] >= 0:
            raise Unproven(f"packet {packet} shows several frames")
        frames[picture] = n
    return frames


class _Trial:
    """Feeds a decoder as a plan would, and compares what comes out with a full decode."""

    def __init__(
        self,
        source: Source,
        index: SourceIndex,
        parser: StructureParser,
        frames: list[int],
        rotate: bool,
        stop: threading.Event | None,
    ) -> None:
        self._index = index
        self._pictures = parser.pictures
        self._frames = frames
        self._rotate = rotate
        counters = Counters()
        packets = BackwardReader(source, index, counters, stop)
        feed = _feed(index, parser, frames, [])
        self._decoder = SparseDecoder(source, index, feed, counters, stop, packets=packets)

    def __call__(self, fed: list[int], *, fresh: bool = False) -> bool:
        """Whether all that these pictures show is as in a full decode."""
        if fresh:
            self._decoder.forget()
        items = tuple(
            FeedItem(packet, Feed.REAL, (k,)) for k in fed for packet in self._pictures[k].packets
        )
        targets = tuple(k for k in fed if self._frames[k] >= 0)
        run = Run(fed[0], False, items, targets, len(fed), 0, 0, None)
        shown = self._decoder.run(run)
        try:
            for picture, frame in shown:
                n = self._frames[picture]
                pixels = Pixels(frame, rotate=self._rotate)
                if pixels.hash != int(self._index.frames.hash[n]):
                    return False
                if pixels.geometry != self._index.geometry(n):
                    return False
        except Alarm:
            return False
        finally:
            shown.close()  # type: ignore[attr-defined]
        return True

    def close(self) -> None:
        """Closes the file."""
        self._decoder.close()


def _feed(
    index: SourceIndex, parser: StructureParser, frames: list[int], stretches: list[Stretch]
) -> FeedTable:
    whole = {stretch.start for stretch in stretches if not stretch.leading}
    starts = {stretch.start for stretch in stretches}
    read = {reference for picture in parser.pictures for reference in picture.references}
    pictures = [
        Picture(
            packets=picture.packets,
            order=(0, k),
            picture_type=PICTURE_TYPES[
                index.frames.picture_type[frames[k]] if frames[k] >= 0 else 0
            ],
            is_reference=k in read,
            is_rap=k in whole,
            references=picture.references,
            state_only=None,
            droppable=picture.droppable,
            preamble=() if k in starts else None,
            unsafe=None,
            configuration=0,
            visible=frames[k] >= 0,
        )
        for k, picture in enumerate(parser.pictures)
    ]
    return FeedTable.of(pictures, parser.packets, parser.heads(), b"")
