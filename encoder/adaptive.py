"""Anchors that follow the content, from what trials with even intervals have cost. Pure.

An interval of the longest kind is halved where that is cheaper, each half again, and so on: the
anchor in the middle costs more than a B picture, the B pictures around it less, since their anchors
are nearer. A cut gets an anchor on each side, so that nothing is predicted across it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from encoder import spans

Costs = Mapping[int, NDArray[np.float64]]
"""Interval -> cost of each frame when anchors are so far apart."""

_CUT = 12.0
"""Levels by which the thumbnails of two frames differ on average at a cut, at least."""

_FAR, _NEAR = 4.0, 2.0
"""And so many times as much as on the one side of it, and on the other, where more moves."""


def halvings(interval: int) -> list[int]:
    """The intervals to try, the longest first.

    >>> halvings(16)
    [16, 8, 4, 2]
    """
    found = [interval]
    while found[-1] % 2 == 0 and found[-1] > 2:
        found.append(found[-1] // 2)
    return found


def anchors(
    count: int, interval: int, segment: int, costs: Costs, cuts: Iterable[int] = ()
) -> list[int]:
    """The cheapest anchors among those of even intervals, and those at ``cuts``.

    Args:
        costs: of trials; ``interval`` is among them.
        cuts: first frames of scenes.
    """
    even = spans.evenly(count, interval, segment)
    found = set(even)
    for low, high in pairwise(even):
        found.update(_cheapest(low, high, interval, costs)[1])
    at_cuts = {frame for cut in cuts for frame in (cut - 1, cut) if 0 < cut < count}
    heads = {*spans.evenly(count, segment - 1, segment)}
    return _thinned(sorted(found | at_cuts), heads, at_cuts, interval)


def _thinned(
    candidates: Sequence[int], heads: set[int], at_cuts: set[int], interval: int
) -> list[int]:
    """Without those beside one at a cut, as far as the others are not too far apart then."""
    kept: list[int] = []
    for place, frame in enumerate(candidates):
        beside = frame not in heads | at_cuts and {frame - 1, frame + 1} & at_cuts
        if not beside or candidates[place + 1] - kept[-1] > interval:
            kept.append(frame)
    return kept


def saving(count: int, interval: int, segment: int, costs: Costs, last: int) -> float:
    """The share of the cost that is saved by trying intervals down to ``last`` too."""
    fewer = {tried: cost for tried, cost in costs.items() if tried > last}
    before, now = (_total(count, interval, segment, some) for some in (fewer, costs))
    return 1 - now / before


def _total(count: int, interval: int, segment: int, costs: Costs) -> float:
    even = spans.evenly(count, interval, segment)
    ends = float(costs[interval][even].sum())
    return ends + sum(_cheapest(low, high, interval, costs)[0] for low, high in pairwise(even))


def _cheapest(low: int, high: int, interval: int, costs: Costs) -> tuple[float, list[int]]:
    """Cost of what is between two anchors, and the anchors in there."""
    whole = float(costs[interval][low + 1 : high].sum())
    half = interval // 2
    if interval % 2 or half not in costs:
        return whole, []
    middle = low + half
    if middle >= high:  # the last one of a segment may be shorter
        other = _cheapest(low, high, half, costs)
    else:
        left, right = _cheapest(low, middle, half, costs), _cheapest(middle, high, half, costs)
        cost = left[0] + float(costs[half][middle]) + right[0]
        other = cost, [*left[1], middle, *right[1]]
    return other if other[0] < whole else (whole, [])


def cuts(thumbnails: Sequence[NDArray[np.uint8]]) -> list[int]:
    """First frames of scenes, told from small pictures [H, W] of all frames."""
    if len(thumbnails) < 2:
        return []
    stack = np.stack(thumbnails).astype(np.int16)
    change = np.abs(np.diff(stack, axis=0)).mean(axis=(1, 2))
    around = np.concatenate([[0.0], change, [0.0]])
    before, behind = around[:-2], around[2:]
    less, more = np.minimum(before, behind), np.maximum(before, behind)
    found = (change >= _CUT) & (change >= _FAR * less) & (change >= _NEAR * more)
    return [int(n) + 1 for n in np.flatnonzero(found)]
