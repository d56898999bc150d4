"""Encodings made for random access, told from their graph. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from decoder.graph import ReferenceGraph
from decoder.index import SourceIndex
from inspection.anatomy import access_points, closure_sizes, pictures_of_frames

_DDRA_BOUND = 4

_SMALL = 2 / 3
"""Share of a segment that closures of a hierarchy take at most."""

_FEWEST, _LONGEST = 2, 64
"""Whole segments at least, and frames of one at most."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a stream keeps closures small.

    Attributes:
        name: "DDRA": pictures between two anchors read those, and at most one in their middle;
            "hierarchy": closures are short beside the segments, which are of one length.
        interval: T, frames from anchor to anchor, or from key frame to key frame: the usual one.
        even: whether it is always the same, but where segments and the stream end.
        bound: pictures in the largest closure.
    """

    name: Literal["DDRA", "hierarchy"]
    interval: int
    even: bool
    bound: int

    def __str__(self) -> str:
        what = "an anchor" if self.name == "DDRA" else "a key frame"
        every = "every" if self.even else "mostly every"
        return (
            f"{self.name}: {what} {every} {self.interval} frames (T), "
            f"closures of at most {self.bound} pictures"
        )


def scheme(index: SourceIndex) -> Scheme | None:
    """The scheme of the source that ``index`` is of; None where it is none of these."""
    if index.feed is None or index.frame_count < 2:
        return None
    graph = index.feed.graph
    bound = int(closure_sizes(index, graph)[1].max())
    return _ddra(index, graph, bound) or _hierarchy(index, bound)


def _ddra(index: SourceIndex, graph: ReferenceGraph, bound: int) -> Scheme | None:
    if bound > _DDRA_BOUND:
        return None
    pictures = pictures_of_frames(index)
    frame_of = {int(picture): n for n, picture in enumerate(pictures.tolist())}
    anchors = [n for n, picture in enumerate(pictures.tolist()) if not graph.references_of(picture)]
    places = np.searchsorted(anchors, np.arange(index.frame_count), side="right") - 1
    for n, picture in enumerate(pictures.tolist()):
        place = int(places[n])
        if place < 0:
            return None
        low = anchors[place]
        high = anchors[min(place + 1, len(anchors) - 1)]
        if any(not low <= frame_of.get(one, -1) <= high for one in graph.references_of(picture)):
            return None
    lengths = np.diff(anchors).tolist()
    # Next to each other where one segment ends and the next begins.
    inner = [n for n in lengths if n > 1]
    if not inner:
        return None
    usual = Counter(inner).most_common(1)[0][0]
    return Scheme("DDRA", usual, sum(n != usual for n in inner) <= 1, bound)


def _hierarchy(index: SourceIndex, bound: int) -> Scheme | None:
    points = access_points(index)
    shown = np.searchsorted(np.sort(pictures_of_frames(index)), points)
    lengths = np.diff(shown).tolist()
    if len(lengths) < _FEWEST or len(set(lengths)) > 1 or lengths[0] > _LONGEST:
        return None
    if not 1 < bound <= _SMALL * lengths[0]:
        return None
    return Scheme("hierarchy", lengths[0], True, bound)
