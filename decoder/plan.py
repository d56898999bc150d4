"""What to feed to the decoder for a request: real pictures, state-only ones, nothing for the rest.

Pure. A plan consists of runs. Each starts at a random access point (or behind a preamble) with a
flushed decoder, and feeds packets in decode order: the closure of its targets as it is, other
pictures that keep the decoder's state in their state-only form, nothing of the rest. Where a
decoder tells the order of a picture from one that it was fed before, no gap is wide enough to
mislead it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from decoder.closure import closure, reason_against
from decoder.graph import ANCHORS, DROPPABLE, HIDDEN, NO_PICTURE, RAP, REPLACEABLE, ReferenceGraph

REAL_COST = 1.0
STATE_ONLY_COST = 0.15
PREAMBLE_COST = 0.4
"""Of a start behind a preamble: its pictures, a flush, parameter sets. Measured on H.264, 640x480:
0.3 ms, where a state-only picture takes 0.11 ms."""

_WALK = 256
"""Pictures behind which a walk may end."""


class Feed(Enum):
    """What is done with a packet."""

    REAL = "real"
    STATE_ONLY = "state-only"
    BRIDGE = "bridge"
    """As it is, for its place in the order alone: what it may read has not been fed."""


class FeedItem(Struct, frozen=True):
    """One packet to send, for the sake of those of its pictures that are named."""

    packet: int
    feed: Feed
    pictures: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """What one flushed decoder is given."""

    start: int
    """Decode index of the picture that decoding starts from."""
    preamble: bool
    """The picture at ``start`` is no RAP; its preamble goes first, if it has one."""
    items: tuple[FeedItem, ...]
    """Packets in the order to send them; packets in between are dropped."""
    targets: tuple[int, ...]
    """Decode indexes wanted of the output, ascending."""
    real: int
    """Pictures reconstructed, bridges among them."""
    state_only: int
    """Pictures sent in their state-only form."""
    dropped: int
    """Pictures between the start and the last one sent that are not sent."""
    conservative: str | None
    """Why everything since the start of the stream is sent with default options, or None."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of a request, in decode order."""

    runs: tuple[Run, ...]

    @property
    def real(self) -> int:
        """Pictures reconstructed in all runs."""
        return sum(run.real for run in self.runs)

    @property
    def state_only(self) -> int:
        """State-only pictures in all runs."""
        return sum(run.state_only for run in self.runs)

    @property
    def dropped(self) -> int:
        """Pictures passed over inside the runs."""
        return sum(run.dropped for run in self.runs)

    @property
    def targets(self) -> int:
        """Pictures asked for."""
        return sum(len(run.targets) for run in self.runs)

    @property
    def amplification(self) -> float:
        """Pictures reconstructed per picture asked for."""
        return self.real / self.targets if self.runs else 0.0

    def explain(self) -> str:
        """The plan in words, a line per run and a summary."""
        lines = [
            f"{_count(self.targets, 'target')} in {_count(len(self.runs), 'run')}: "
            f"{self.real} reconstructed (amplification {self.amplification:.2f}), "
            f"{self.state_only} state-only, {self.dropped} dropped"
        ]
        for number, run in enumerate(self.runs, 1):
            if run.conservative is not None:
                lines.append(
                    f"run {number}: conservatively, because {run.conservative}: from a key packet "
                    f"on, each frame compared with its hash, for {_ranges(run.targets)}"
                )
                continue
            if run.preamble:
                how = f"from picture {run.start}, behind its preamble if it has one"
            else:
                how = f"from the random access point {run.start}"
            lines.append(
                f"run {number}: {how}: {run.real} real, {run.state_only} state-only, "
                f"{run.dropped} dropped, for {_ranges(run.targets)}"
            )
        return "\n".join(lines)


def plan(graph: ReferenceGraph, targets: Iterable[int]) -> Plan:
    """The cheapest exact plan for ``targets`` (decode indexes, any order, repeats allowed).

    Targets whose closure holds an unsafe picture, or has no place to start from, are decoded
    conservatively: one run that feeds every packet from the first on.
    """
    wanted = sorted(set(targets))
    if wanted and not 0 <= wanted[0] <= wanted[-1] < len(graph):
        raise ValueError(
            f"targets {wanted[0]} to {wanted[-1]} in a stream of {len(graph)} pictures"
        )
    parts: list[_Part] = []
    known: dict[int, set[int]] = {}
    refused: list[int] = []
    reason = ""
    for target in wanted:
        needed = known[target] = closure(graph, (target,), known)
        problem = reason_against(graph, needed)
        start = -1 if problem is not None else _start_for(graph, needed)
        if start < 0:
            refused.append(target)
            reason = reason or problem or f"picture {target}: no place to start decoding before it"
            continue
        parts.append(_Part(start, needed, [target]))
    runs = [_run(graph, run) for part in _merged(graph, parts) for run in _inferable(graph, part)]
    if refused:
        runs.insert(0, _everything(graph, refused, reason))
    return Plan(tuple(runs))


@dataclass(slots=True)
class _Part:
    """Targets that may become a run."""

    start: int
    needed: set[int]
    targets: list[int]
    bridges: frozenset[int] = frozenset()


def _start_for(graph: ReferenceGraph, needed: set[int]) -> int:
    """The latest picture decoding may start from; -1 if there is none.

    Between it and the last needed picture nothing may be impossible to replace, unless needed.
    """
    first = min(needed)
    position = int(np.searchsorted(graph.starts, first, side="right")) - 1
    return int(graph.starts[position]) if position >= 0 else -1


def _cost(graph: ReferenceGraph, start: int, needed: set[int]) -> float:
    """Reconstructions plus what state-only pictures and a preamble cost, of a run."""
    end = max(needed) + 1
    stateful = int(graph.stateful[end] - graph.stateful[start])
    fixed = int(graph.fixed[end] - graph.fixed[start])
    traits = graph.traits[np.fromiter(needed, np.int64, len(needed))]
    stateful -= int(np.count_nonzero((traits & DROPPABLE) == 0))
    fixed -= int(np.count_nonzero((traits & (DROPPABLE | REPLACEABLE)) == 0))
    begin = 0.0 if graph.traits[start] & RAP else PREAMBLE_COST
    return begin + REAL_COST * (len(needed) + fixed) + STATE_ONLY_COST * (stateful - fixed)


def _merged(graph: ReferenceGraph, parts: list[_Part]) -> list[_Part]:
    """Neighbours joined wherever one run is cheaper than two."""
    parts.sort(key=lambda part: (part.start, part.targets[0]))
    done: list[_Part] = []
    costs: list[float] = []
    for part in parts:
        cost = _cost(graph, part.start, part.needed)
        if done:
            previous = done[-1]
            last = max(previous.needed)
            if last >= part.start or _leads_on(graph, last, part.start):
                union = previous.needed | part.needed
                joint = _cost(graph, previous.start, union)
                if joint <= costs[-1] + cost:
                    previous.needed = union
                    previous.targets.extend(part.targets)
                    costs[-1] = joint
                    continue
        done.append(part)
        costs.append(cost)
    return done


def _leads_on(graph: ReferenceGraph, last: int, start: int) -> bool:
    """Whether a decoder that was fed ``last`` can be brought to ``start`` by state-only pictures.

    They are cheaper than a preamble there if they are few.
    """
    return (
        not graph.traits[start] & RAP
        and graph.segments[last] == graph.segments[start]
        and graph.fixed[start] == graph.fixed[last + 1]
    )


def _inferable(graph: ReferenceGraph, part: _Part) -> list[_Part]:
    """``part`` in pieces and with bridges, so that no picture's order count is told wrongly.

    A decoder knows counts modulo a number and takes the nearest one to that of the last anchor fed
    (H.265, 8.3.1). After too wide a gap it is flushed, where nothing later reads anything earlier:
    counts start anew. Elsewhere the anchors in the gap are fed, as in the whole stream.
    """
    if not graph.moduli[part.start]:
        return [part]
    pieces = []
    waiting = sorted(part.needed)
    while waiting:
        end = len(waiting)
        bridges: set[int] = set()
        anchor: int | None = waiting[0]
        if not graph.traits[waiting[0]] & ANCHORS:
            anchor = _anchor_before(graph, waiting[0])
            if anchor is not None and end > 1:
                bridges.add(anchor)
        for place, picture in enumerate(waiting[1:], 1):
            if anchor is not None and not _is_near(graph, anchor, picture):
                if _independent(graph, waiting[place:]):
                    end = place
                    break
                gap = np.flatnonzero(graph.traits[anchor + 1 : picture] & ANCHORS)
                between = (anchor + 1 + gap).tolist()
                bridges.update(between)
                anchor = max([anchor, *between])
            if graph.traits[picture] & ANCHORS:
                anchor = picture
        needed = set(waiting[:end])
        targets = [target for target in part.targets if target in needed]
        bridges -= needed
        start = min(needed | bridges)
        pieces.append(_Part(start, needed, targets, frozenset(bridges)))
        waiting = waiting[end:]
    return pieces


def _is_near(graph: ReferenceGraph, anchor: int, picture: int) -> bool:
    """Whether the count of ``picture`` is told rightly from that of ``anchor``."""
    half = int(graph.moduli[picture]) // 2
    return -half < int(graph.counts[picture]) - int(graph.counts[anchor]) <= half


def _independent(graph: ReferenceGraph, pictures: list[int]) -> bool:
    """Whether none of ``pictures``, which ascend, reads one before the first."""
    return all(min(graph.references_of(k), default=k) >= pictures[0] for k in pictures)


def _anchor_before(graph: ReferenceGraph, picture: int) -> int | None:
    first = int(np.searchsorted(graph.segments, graph.segments[picture]))
    anchors = np.flatnonzero(graph.traits[first:picture] & ANCHORS)
    return first + int(anchors[-1]) if len(anchors) else None


def _run(graph: ReferenceGraph, part: _Part) -> Run:
    start = part.start
    end = max(part.needed) + 1
    low, high = graph.packet_offsets[start], graph.packet_offsets[end]
    packets = graph.packets[low:high].tolist()
    ends = (graph.packet_offsets[start + 1 : end + 1] - low).tolist()
    items: list[FeedItem] = []
    real = state_only = dropped = place = 0
    for picture, traits in enumerate(graph.traits[start:end].tolist(), start):
        mine = packets[place : ends[picture - start]]
        place = ends[picture - start]
        if picture in part.needed:
            feed = Feed.REAL
            real += 1
        elif picture in part.bridges:
            feed = Feed.BRIDGE
            real += 1
        elif traits & DROPPABLE:
            dropped += 1
            continue
        elif traits & REPLACEABLE:
            feed = Feed.STATE_ONLY
            state_only += 1
        else:
            feed = Feed.REAL
            real += 1
        for packet in mine:
            pictures: tuple[int, ...] = (picture,)
            if items and items[-1].packet == packet:
                pictures = (*items.pop().pictures, picture)
            items.append(FeedItem(packet, feed, pictures))
    return Run(
        start, not graph.traits[start] & RAP, tuple(items), tuple(sorted(part.targets)),
        real, state_only, dropped, None,
    )  # fmt: skip


def walk(graph: ReferenceGraph, target: int, later: NDArray[np.int32] | None = None) -> Run | None:
    """Everything from where decoding begins for ``target`` (a decode index) on, in order.

    It ends before a later random access point, or where the decoder is to be flushed; or, behind a
    good many pictures, before a place that decoding may start from too. What reads something before
    its start is left out; where that cannot be, it begins at a random access point. Of what comes
    out all is a target, or what is in ``later``: then what that does not read is left out as well.
    None where there is no place to begin.
    """
    points = np.flatnonzero(graph.traits & RAP)
    place = int(np.searchsorted(points, target, side="right"))
    sure = int(points[place - 1]) if place else -1
    for start in dict.fromkeys((_start_for(graph, closure(graph, (target,))), sure)):
        end = int(np.searchsorted(graph.segments, graph.segments[start], side="right"))
        if start < 0 or target >= end:
            continue
        if place < len(points):
            end = min(end, int(points[place]))
        far = int(np.searchsorted(graph.starts, target + _WALK))
        if far < len(graph.starts):
            end = min(end, int(graph.starts[far]))
        fed = _readable(graph, start, end)
        if fed is None or target not in fed:
            continue
        part = _Part(start, fed, [])
        if later is not None:
            wanted = fed.intersection(later.tolist())
            pieces = _inferable(graph, _Part(start, closure(graph, wanted), []))
            if len(pieces) == 1 and target in pieces[0].needed:
                (part,) = pieces
                fed = wanted
        run = _run(graph, part)
        visible = [k for k in sorted(fed) if not graph.traits[k] & HIDDEN]
        return replace(run, targets=tuple(visible))
    return None


def _readable(graph: ReferenceGraph, start: int, end: int) -> set[int] | None:
    """What can be decoded of ``start`` to before ``end`` with nothing before it.

    It ends where too many were left out for a decoder to tell the order of the next one. None where
    something of the rest cannot be left out.
    """
    fed = {start}
    anchor = start
    for k, traits in enumerate(graph.traits[start + 1 : end].tolist(), start + 1):
        if fed.issuperset(graph.references_of(k)):
            if graph.moduli[k] and not _is_near(graph, anchor, k):
                break
            fed.add(k)
            if traits & ANCHORS:
                anchor = k
        elif not traits & DROPPABLE:
            return None
    return fed


def whole(packets: int, targets: Sequence[int], reason: str) -> Plan:
    """The plan for a stream of so many ``packets`` of which only its ``targets`` are known."""
    items = tuple(FeedItem(packet, Feed.REAL, ()) for packet in range(packets))
    return Plan((Run(0, False, items, tuple(targets), packets, 0, 0, reason),) if targets else ())


def _everything(graph: ReferenceGraph, targets: list[int], reason: str) -> Run:
    """All packets of the stream as they are, as far as the output of ``targets`` may need them."""
    (run,) = whole(len(graph.packet_pictures), targets, reason).runs
    pictures = int(np.count_nonzero(graph.packet_pictures != NO_PICTURE))
    return replace(run, real=min(pictures, len(graph)))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ranges(numbers: tuple[int, ...]) -> str:
    """17, 20-24."""
    parts: list[str] = []
    first = previous = None
    for number in (*numbers, None):
        if number is not None and previous is not None and number == previous + 1:
            previous = number
            continue
        if first is not None:
            parts.append(str(first) if first == previous else f"{first}-{previous}")
        first = previous = number
    return ", ".join(parts)
