"""Frames between anchors: where the anchors are, which picture is of which kind, in which order.

Pure. Frames are numbers in presentation order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def starts(count: int, segment: int) -> list[int]:
    """The first frame of each segment, of ``count`` frames in segments of ``segment``."""
    return list(range(0, count, segment))


def whole_segment(interval: int, least: int) -> int:
    """Frames of a segment of at least ``least`` that holds intervals of one length only.

    >>> whole_segment(16, 250)
    257
    """
    return max(1, -(-(least - 1) // interval)) * interval + 1


def evenly(count: int, interval: int, segment: int) -> list[int]:
    """Anchors at every ``interval``-th frame of each segment, and at the last one.

    The last interval of a segment may be shorter: an anchor closes it, so that it keeps the bound
    as well, and that no frame refers to another segment.

    >>> evenly(9, 3, 7)
    [0, 3, 6, 7, 8]
    """
    anchors: list[int] = []
    for start in starts(count, segment):
        end = min(start + segment, count)
        anchors += range(start, end - 1, interval)
        anchors.append(end - 1)
    return anchors


def middles(anchors: Sequence[int], *, upper: bool) -> list[int]:
    """The frame in the middle of each interval; none where there is but one frame between anchors.

    Args:
        upper: which of the two in the middle of an even number it is.

    >>> middles([0, 5], upper=False), middles([0, 5], upper=True)
    ([2], [3])
    """
    found = []
    for low, high in pairwise(anchors):
        between = high - low - 1
        if between > 1:
            found.append(low + 1 + (between if upper else between - 1) // 2)
    return found


def decode_order(anchors: Sequence[int], references: Sequence[int] = ()) -> list[int]:
    """Frames in decode order: the anchor that ends an interval, then its ``references``, the rest.

    >>> decode_order([0, 3, 5])
    [0, 3, 1, 2, 5, 4]
    """
    chosen = set(references)
    order = list(anchors[:1])
    for low, high in pairwise(anchors):
        inner = range(low + 1, high)
        order.append(high)
        order += [n for n in inner if n in chosen]
        order += [n for n in inner if n not in chosen]
    return order


def lengths(anchors: Sequence[int]) -> list[int]:
    """Frames from each anchor to the next."""
    return [high - low for low, high in pairwise(anchors)]
