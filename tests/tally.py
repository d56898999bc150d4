"""What sparse decoding costs, seen from the decoder: what goes into contexts and what comes out.

Nothing here believes the counters of the code under test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import av

from decoder import walking
from decoder.bitstream import nal
from decoder.closure import closure
from decoder.graph import HIDDEN, ReferenceGraph
from decoder.plan import Feed, Run, walk
from decoder.sparse import SparseDecoder

_OBU_FRAME_HEADER = 3
_OBU_FRAME = 6
_HAS_EXTENSION, _HAS_SIZE = 4, 2  # bits of an OBU header
_VCL = 32  # nal_unit_type below are slice segments
_FIRST_SLICE = 128  # first_slice_segment_in_pic_flag


@dataclass(slots=True)
class Counted:
    """Sums over runs of plans; walks, which want all that is fed, are left out.

    Attributes:
        went_in: coded pictures in what was fed, told from the bytes; of codecs where that is
            simple (`coded_pictures`), else what plans say.
        repeats: those of them that only show again what is decoded already (AV1).
        came_out: frames of real pictures.
        closures: pictures in the closures of the targets.
        hidden: those of them that do not come out.
        starts: pictures beside the closure that runs had to start from.
        bridges: pictures that were fed for their order only.
        state_only: pictures that were fed in a form without samples.
    """

    went_in: int = 0
    repeats: int = 0
    came_out: int = 0
    closures: int = 0
    hidden: int = 0
    starts: int = 0
    bridges: int = 0
    state_only: int = 0

    def faults(self) -> list[str]:
        """What does not add up."""
        found = []
        beside = self.starts + self.bridges
        if self.came_out != self.closures - self.hidden + self.starts:
            found.append(
                f"{self.came_out} pictures came out for {self.closures} in closures, "
                f"{self.hidden} of them hidden, and {self.starts} starts"
            )
        if self.went_in != self.closures + beside + self.state_only:
            found.append(
                f"{self.went_in} pictures went in for {self.closures} in closures, "
                f"{self.starts} starts, {self.bridges} bridges and {self.state_only} state-only"
            )
        return found

    def __iadd__(self, other: Counted) -> Counted:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


@dataclass(slots=True)
class _Running:
    """What one run has been seen to do so far."""

    run: Run
    went_in: int = 0
    repeats: int = 0
    shown: list[int] = field(default_factory=list)
    known: set[int] = field(default_factory=set)

    def feed(self, context: av.VideoCodecContext, packet: av.Packet) -> int:  # type: ignore[type-arg]
        """Takes a packet in; how many pictures a decoder reconstructs for it."""
        found, repeats = coded_pictures(context, bytes(packet))
        self.went_in += found
        self.repeats += repeats
        if found:
            return found - repeats
        fed = {
            picture
            for item in self.run.items
            if item.packet == packet.pts and item.feed is not Feed.STATE_ONLY
            for picture in item.pictures
        }
        new = len(fed - self.known)  # the second field of a picture may have a packet of its own
        self.known |= fed
        return new


class Tally:
    """Counts, while it is entered, what sparse decoders do.

    Attributes:
        counted: sums over plans that were carried out.
        decoded: pictures reconstructed by now, walks included.
    """

    def __init__(self) -> None:
        self.counted = Counted()
        self.decoded = 0
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Tally:
        decode, run = SparseDecoder._decode, SparseDecoder.run
        current: dict[SparseDecoder, _Running] = {}
        walks: list[Run | None] = []

        def counted(self_: SparseDecoder, packet: av.Packet | None) -> list[av.VideoFrame]:  # type: ignore[type-arg]
            frames = decode(self_, packet)
            running = current.get(self_)
            if running is not None:
                if packet is not None and packet.pts is not None and packet.pts >= 0:
                    assert self_._media is not None
                    self.decoded += running.feed(self_._media.context, packet)
                running.shown += [frame.pts for frame in frames if frame.pts is not None]
            return frames

        def watched(
            decoder: SparseDecoder, chosen: Run, **options: bool
        ) -> Iterator[tuple[int, av.VideoFrame]]:
            current[decoder] = _Running(chosen)
            try:
                yield from run(decoder, chosen, **options)
                if not any(chosen is walked for walked in walks):
                    self.counted += account(decoder._feed.graph, current[decoder])
            finally:
                del current[decoder]

        def walked(graph: ReferenceGraph, target: int) -> Run | None:
            walks.append(walk(graph, target))
            return walks[-1]

        for owner, name, right, wrapped in (
            (SparseDecoder, "_decode", decode, counted),
            (SparseDecoder, "run", run, watched),
            (walking, "walk", walk, walked),
        ):
            setattr(owner, name, wrapped)
            self._undo.append(partial(setattr, owner, name, right))
        return self

    def __exit__(self, *_: object) -> None:
        for undo in self._undo:
            undo()


def account(graph: ReferenceGraph, seen: _Running) -> Counted:
    """The sums of one run of a plan."""
    run = seen.run
    hidden = {k for item in run.items for k in item.pictures if graph.traits[k] & HIDDEN}
    kinds: dict[Feed, set[int]] = {feed: set() for feed in Feed}
    for item in run.items:
        kinds[item.feed].update(item.pictures)
    real = {int(graph.packet_pictures[p]) for p in seen.shown if p >= 0} & kinds[Feed.REAL]
    needed = closure(graph, run.targets)
    return Counted(
        went_in=seen.went_in or len(set().union(*kinds.values())),
        repeats=seen.repeats,
        came_out=len(real),
        closures=len(needed),
        hidden=len(needed & hidden),
        starts=len({run.start} & kinds[Feed.REAL] - needed),
        bridges=len(kinds[Feed.BRIDGE]),
        state_only=len(kinds[Feed.STATE_ONLY]),
    )


def coded_pictures(context: av.VideoCodecContext, data: bytes) -> tuple[int, int]:
    """Coded pictures in bytes that are fed, and how many of them show a decoded one again.

    (0, 0) for codecs where nobody counts them.
    """
    codec = context.codec.canonical_name
    if codec == "hevc":
        units = nal.split(data, _length_size(bytes(context.extradata or b"")))
        found = sum(
            unit[0] >> 1 < _VCL and not unit[1] >> 3 and bool(unit[2] & _FIRST_SLICE)
            for unit in units
        )
        return found, 0
    if codec == "av1":
        return _frames_of(data)
    return 0, 0


def _length_size(extradata: bytes) -> int:
    """Of hvcC (ISO/IEC 14496-15, 8.3.2): lengthSizeMinusOne."""
    if len(extradata) > 21 and extradata[0] == 1:
        return (extradata[21] & 3) + 1
    return nal.ANNEX_B


def _frames_of(data: bytes) -> tuple[int, int]:
    """(frames, those with show_existing_frame) of a temporal unit (AV1, 5.3, 5.9.2)."""
    place = frames = repeats = 0
    while place < len(data):
        head = data[place]
        place += 2 if head & _HAS_EXTENSION else 1
        size = shift = 0
        if head & _HAS_SIZE:
            byte = 128
            while byte & 128:
                byte = data[place]
                size |= (byte & 127) << shift
                shift += 7
                place += 1
        else:
            size = len(data) - place
        kind = head >> 3 & 15
        frames += kind in (_OBU_FRAME_HEADER, _OBU_FRAME)
        repeats += kind == _OBU_FRAME_HEADER and data[place] >> 7
        place += size
    return frames, repeats
