"""Indexes that say less than a source needs, as a mistake in their making would."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from decoder.graph import RAP
from decoder.index import SourceIndex


def forgetful(index: SourceIndex) -> SourceIndex:
    """``index`` with every reference led to the random access point before it."""
    assert index.feed is not None
    graph = index.feed.graph
    points = np.flatnonzero(graph.traits & RAP)
    places = np.searchsorted(points, graph.references, side="right") - 1
    wrong = replace(graph, references=points[places].astype(np.int32))
    feed = replace(index.feed, graph=wrong)
    return SourceIndex(index.facts, index.packets, index.frames, index.geometries, feed)
