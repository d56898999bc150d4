"""What an index tells of a source: its structure, and what requests cost in pictures.

Pure. *Amplification* is pictures reconstructed per frame asked for. Three ways are compared:
sequential decoding from the random access point that a request needs up to its last picture, the
same without the pictures that no other reads (drop-only), and the plans of `decoder.plan`. In all
three a request of several frames decodes a picture once.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from decoder.closure import closure
from decoder.graph import DROPPABLE, REFERENCE, REPLACEABLE, ReferenceGraph
from decoder.index import DIRECT, KEY, NO_PACKET, PICTURE_TYPES, SourceIndex
from decoder.plan import plan

_TARGETS = 2000
"""Frames whose closures are computed at most, evenly spread."""

_REQUESTS = 40
"""Requests of a kind that are planned at most."""

_SHARED = 3
"""Closures that the next one is put together from."""

_WORK = 40_000
_FEW = 4
"""Where closures are very large, so many pictures in one for each request of a kind, or so few
requests."""

_SHOWN = 64
"""Pictures of a segment that are spelled at most."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Distances from one random access point to the next, in pictures."""

    count: int
    shortest: int
    mean: float
    longest: int


@dataclass(frozen=True, slots=True)
class Closures:
    """How many pictures single frames need.

    Attributes:
        mean, worst: pictures, the frame itself among them.
        worst_frame: a frame that needs the most.
        looked_at: frames that this is told from.
    """

    mean: float
    worst: int
    worst_frame: int
    looked_at: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """What requests of one kind cost, in pictures per frame, on the average over the source.

    Attributes:
        name: "stride 5" and so on.
        frames: in one request; fewer than 10 where the source is too short.
        requests: so many were planned.
        sequential: amplification.
        drop_only, closure, state_only: None where the reference graph is not known.
        state_only: pictures fed in their state-only form, which costs about a sixth of a picture.
    """

    name: str
    frames: int
    requests: int
    sequential: float
    drop_only: float | None = None
    closure: float | None = None
    state_only: float | None = None


@dataclass(frozen=True, slots=True)
class Anatomy:
    """The structure of a source.

    Attributes:
        frames, pictures, packets: how many; pictures are counted as packets where the graph is not
            known.
        types: frames by picture type.
        unreferenced: pictures that no other may read.
        access_points: pictures from which decoding may start; key packets where the graph is not
            known.
        preambles: pictures from which it may start behind a preamble.
        segments: None where there is no access point.
        order: types of the frames of a typical segment as they are shown, lower case where no
            other picture reads them; empty where the graph is not known.
        closures: None where the graph is not known.
        patterns: contiguous, two strides and random.
        direct: packets whose bytes are read straight from the file.
        hashes: the frames' hashes are there.
        bytes: of the index in memory.
    """

    frames: int
    pictures: int
    packets: int
    types: dict[str, int]
    unreferenced: int | None
    access_points: int
    preambles: int | None
    segments: Segments | None
    order: str
    closures: Closures | None
    patterns: tuple[Pattern, ...]
    direct: int
    hashes: bool
    bytes: int


def anatomy(index: SourceIndex) -> Anatomy:
    """The structure of the source that ``index`` is of."""
    graph = None if index.feed is None else index.feed.graph
    count = len(index.packets) if graph is None else len(graph)
    points = access_points(index)
    lengths = np.diff([*points, count]) if len(points) else np.zeros(0, np.int64)
    closures = None if graph is None else _closures(index, graph)
    letters = Counter(PICTURE_TYPES[kind] for kind in index.frames.picture_type.tolist())
    return Anatomy(
        frames=index.frame_count,
        pictures=count,
        packets=len(index.packets),
        types=dict(sorted(letters.items(), key=lambda item: "IPB".find(item[0]) % 8)),
        unreferenced=None if graph is None else int(np.sum((graph.traits & REFERENCE) == 0)),
        access_points=len(points),
        preambles=None if graph is None else len(graph.starts) - len(points),
        segments=None
        if not len(lengths)
        else Segments(len(lengths), int(lengths.min()), float(lengths.mean()), int(lengths.max())),
        order=_spelled(index, graph, points) if graph is not None else "",
        closures=closures,
        patterns=tuple(_patterns(index, graph, points, _affordable(closures))),
        direct=int(np.sum((index.packets.flags & DIRECT) != 0)),
        hashes=len(index.frames.hash) == index.frame_count,
        bytes=index.nbytes,
    )


def access_points(index: SourceIndex) -> NDArray[np.int64]:
    """Decode indexes from which decoding may start as it is: by the graph, else key packets."""
    if index.feed is not None:
        starts = index.feed.graph.starts.astype(np.int64)
        return np.setdiff1d(starts, index.feed.preambles.keys)
    return np.flatnonzero(index.packets.flags & KEY)


def skipped(index: SourceIndex) -> str | None:
    """What is not decoded for a frame, and why not more; None where all is."""
    if index.feed is None or index.facts.rule is not None:
        return index.facts.rule
    traits = index.feed.graph.traits
    rest = traits[(traits & DROPPABLE) == 0]
    if not len(rest):
        return "pictures that are not needed are left out"
    stubs = int(np.sum((rest & REPLACEABLE) != 0))
    text = "pictures that no other reads are left out where they are not needed"
    if stubs:
        text += f", {stubs:,} others are fed in their state-only form"
    if stubs < len(rest):
        text += f"; {len(rest) - stubs:,} have no such form"
    return text


def pictures_of_frames(index: SourceIndex) -> NDArray[np.int32]:
    """For each frame the decode index of its picture, or of its packet without a graph."""
    if index.feed is None:
        return np.maximum(index.frames.packet, 0)
    assert not np.any(index.frames.packet == NO_PACKET)
    return index.feed.graph.packet_pictures[index.frames.packet]


def typical_segment(pictures: NDArray[np.int32], points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Frames of the first segment that another one follows, or else of the only one."""
    if not len(points):
        return np.arange(len(pictures))
    end = points[1] if len(points) > 1 else pictures.max() + 1
    return np.flatnonzero((pictures >= points[0]) & (pictures < end))


def spelling(index: SourceIndex, graph: ReferenceGraph, frames: Sequence[int]) -> list[str]:
    """The picture type of each frame, in lower case where no other picture reads it."""
    pictures = pictures_of_frames(index)
    letters = []
    for n in frames:
        letter = PICTURE_TYPES[index.frames.picture_type[n]]
        letters.append(letter if graph.traits[pictures[n]] & REFERENCE else letter.lower())
    return letters


def _spelled(index: SourceIndex, graph: ReferenceGraph, points: NDArray[np.int64]) -> str:
    frames = typical_segment(pictures_of_frames(index), points)
    text = "".join(spelling(index, graph, frames[:_SHOWN].tolist()))
    return text + "..." if len(frames) > _SHOWN else text


def closure_sizes(
    index: SourceIndex, graph: ReferenceGraph, most: int = _TARGETS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Frames, all or ``most`` of them evenly spread, and the size of the closure of each."""
    pictures = pictures_of_frames(index)
    count = index.frame_count
    frames = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))
    sizes = np.zeros(len(frames), np.int64)
    known: dict[int, set[int]] = {}
    for place in np.argsort(pictures[frames]).tolist():
        picture = int(pictures[frames[place]])
        needed = closure(graph, (picture,), known)
        known = {**dict(list(known.items())[-_SHARED:]), picture: needed}
        sizes[place] = len(needed)
    return frames, sizes


def _closures(index: SourceIndex, graph: ReferenceGraph) -> Closures:
    frames, sizes = closure_sizes(index, graph)
    worst = int(sizes.argmax())
    return Closures(float(sizes.mean()), int(sizes[worst]), int(frames[worst]), len(sizes))


def _patterns(
    index: SourceIndex, graph: ReferenceGraph | None, points: NDArray[np.int64], most: int
) -> Iterator[Pattern]:
    pictures = pictures_of_frames(index)
    for name, requests in (
        ("contiguous 10", _strided(index.frame_count, 1, most)),
        ("stride 5", _strided(index.frame_count, 5, most)),
        ("stride 30", _strided(index.frame_count, 30, most)),
        ("random 10", _random(index.frame_count, most)),
    ):
        costs = [
            _cost(graph, points, sorted(set(pictures[list(request)].tolist())))
            for request in requests
        ]
        size = len(requests[0])
        means = [fmean(column) / size for column in zip(*costs, strict=True)]
        yield Pattern(name, size, len(requests), *means)


def _affordable(closures: Closures | None) -> int:
    """Requests of a kind to plan."""
    mean = 1.0 if closures is None else closures.mean
    return min(_REQUESTS, max(_FEW, int(_WORK / mean)))


def _strided(count: int, stride: int, most: int) -> list[Sequence[int]]:
    size = min(10, (count - 1) // stride + 1)
    last = count - 1 - (size - 1) * stride
    starts = sorted({round(last * k / (most - 1)) for k in range(most)})
    return [range(start, start + size * stride, stride) for start in starts]


def _random(count: int, most: int) -> list[Sequence[int]]:
    rng = random.Random(0)
    return [rng.sample(range(count), min(10, count)) for _ in range(most)]


def _cost(
    graph: ReferenceGraph | None, points: NDArray[np.int64], targets: Sequence[int]
) -> tuple[float, ...]:
    """Pictures decoded for one request: sequentially, and drop-only, real, state-only if known."""
    if graph is None:
        return (sum(high - low for low, high in _intervals(points, targets, targets)),)
    known: dict[int, set[int]] = {}
    for target in sorted(targets):
        known[target] = closure(graph, (target,), known)
    firsts = [min(known[target]) for target in targets]
    intervals = _intervals(points, firsts, targets)
    references = (graph.traits & REFERENCE) != 0
    sequential = sum(high - low for low, high in intervals)
    kept = sum(int(np.count_nonzero(references[low:high])) for low, high in intervals)
    kept += sum(not references[target] for target in targets)
    planned = plan(graph, targets)
    return sequential, kept, planned.real, planned.state_only


def _intervals(
    points: NDArray[np.int64], firsts: Sequence[int], targets: Sequence[int]
) -> list[tuple[int, int]]:
    """What is decoded from access points on, as half-open intervals that do not overlap.

    Args:
        firsts: for each target the first picture that it needs.
    """
    places = np.searchsorted(points, firsts, side="right") - 1
    starts = [int(points[place]) if place >= 0 else 0 for place in places.tolist()]
    found: list[tuple[int, int]] = []
    for low, high in sorted(zip(starts, (target + 1 for target in targets), strict=True)):
        if found and low < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found
