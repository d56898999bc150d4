"""What a drawing of a source shows, in presentation order. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decoder.closure import closure
from decoder.graph import RAP, REFERENCE
from decoder.index import PICTURE_TYPES, SourceIndex
from inspection.anatomy import access_points, pictures_of_frames
from inspection.report import Request


@dataclass(frozen=True, slots=True)
class Edge:
    """One picture may read another; ``frame`` and ``reads`` are frame numbers."""

    frame: int
    reads: int
    needed: bool


class Scene:
    """A source in presentation order."""

    def __init__(self, index: SourceIndex, asked: Request | None) -> None:
        self.index = index
        self.count = index.frame_count
        self.letters = np.array(list(PICTURE_TYPES))[index.frames.picture_type]
        self.pictures = pictures_of_frames(index)
        self.points = access_points(index)
        self.access = np.isin(self.pictures, self.points)
        self.referenced = np.ones(self.count, bool)
        self.targets = np.zeros(self.count, bool)
        self.needed = np.zeros(self.count, bool)
        self.asked = asked
        if asked is not None:
            self.targets[list(asked.frames)] = True
            self.needed = np.isin(self.pictures, asked.closure) | self.targets
        graph = index.feed.graph if index.feed is not None else None
        self.graph = graph
        if graph is not None:
            self.referenced = (graph.traits[self.pictures] & REFERENCE) != 0
            self.access = (graph.traits[self.pictures] & RAP) != 0
            self._frames = np.full(len(graph), -1)
            self._frames[self.pictures] = np.arange(self.count)

    def edges(self, frames: Iterable[int]) -> list[Edge]:
        """The references between ``frames``, those of the request last."""
        if self.graph is None:
            return []
        inside = set(frames)
        found = [
            Edge(n, int(self._frames[read]), bool(self.needed[n]))
            for n in inside
            for read in self.graph.references_of(int(self.pictures[n]))
            if int(self._frames[read]) in inside
        ]
        return sorted(found, key=lambda edge: edge.needed)

    def hardest(self) -> tuple[int, NDArray[np.int64]]:
        """The frame asked for that needs the most, and what it needs."""
        best = (-1, np.zeros(0, np.int64))
        for target in np.flatnonzero(self.targets).tolist():
            needed = np.array([target])
            if self.graph is not None:
                pictures = closure(self.graph, (int(self.pictures[target]),))
                needed = np.flatnonzero(np.isin(self.pictures, list(pictures)))
            if len(needed) > len(best[1]):
                best = (target, needed)
        return best

    def since_access(self) -> NDArray[np.int64]:
        """For each frame, pictures decoded from the access point before it up to it."""
        if not len(self.points):
            return self.pictures + np.int64(1)
        places = np.searchsorted(self.points, self.pictures, side="right") - 1
        starts = np.where(places >= 0, self.points[np.maximum(places, 0)], 0)
        since: NDArray[np.int64] = self.pictures - starts + np.int64(1)
        return since
