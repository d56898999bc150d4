"""Expected amplification of periodic encodings, in closed terms: no stream is involved.

The model: an I picture (anchor) at every multiple of the intra period N, a power of two, in
presentation order; between two anchors a dyadic hierarchy of B pictures, where the one in the
middle of an interval reads the two ends of it and splits it in two. The anchors of an interval are
decoded first, then the hierarchy depth first: the middle, all of the left half, all of the right.

A request is ``count`` targets at a fixed stride. Amplification is the number of pictures
reconstructed for it (each picture once) per target, on the average over all N phases of the first
target against the anchors. For one target that is not an anchor itself

* sequential decoding reconstructs both enclosing anchors and whatever is decoded between them up to
  the target,
* sparse decoding the target's closure: both anchors and the middles it descends from,
* DDRA, where every B picture reads the two enclosing anchors only, those two and the target.

An anchor needs only itself in all three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

_Between = Callable[[int, int], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Amplification:
    """Pictures reconstructed per target."""

    sequential: float
    sparse: float
    ddra: float


def expected_amplification(intra_period: int, count: int, stride: int) -> Amplification:
    """The model's amplification for ``count`` targets at ``stride``.

    >>> a = expected_amplification(32, 10, 30)
    >>> f"{a.sequential:.2f} {a.sparse:.2f} {a.ddra:.2f}"
    '16.40 5.04 2.01'
    """
    if intra_period < 1 or intra_period & (intra_period - 1):
        raise ValueError(f"intra period {intra_period} is not a power of two")
    if count < 1 or stride < 1:
        raise ValueError(f"{count} targets at stride {stride}: both must be at least 1")
    sequential = sparse = ddra = 0
    for phase in range(intra_period):
        targets = [phase + i * stride for i in range(count)]
        sequential += len(_union(targets, intra_period, decoded_before))
        sparse += len(_union(targets, intra_period, ancestors))
        ddra += len(_union(targets, intra_period, lambda period, offset: frozenset((offset,))))
    scale = intra_period * count
    return Amplification(sequential / scale, sparse / scale, ddra / scale)


def _union(targets: list[int], period: int, between: _Between) -> set[int]:
    needed: set[int] = set()
    for target in targets:
        offset = target % period
        base = target - offset
        needed.add(base)
        if offset:
            needed.add(base + period)
            needed.update(base + inner for inner in between(period, offset))
    return needed


@lru_cache(maxsize=4096)
def ancestors(period: int, offset: int) -> frozenset[int]:
    """The pictures strictly between two anchors that ``offset`` depends on, with itself."""
    found = []
    low, high = 0, period
    while True:
        middle = (low + high) // 2
        found.append(middle)
        if middle == offset:
            return frozenset(found)
        low, high = (low, middle) if offset < middle else (middle, high)


@lru_cache(maxsize=4096)
def decoded_before(period: int, offset: int) -> frozenset[int]:
    """The pictures between two anchors decoded up to ``offset``, with itself."""
    order = depth_first(period)
    return frozenset(order[: order.index(offset) + 1])


@lru_cache(maxsize=16)
def depth_first(period: int) -> tuple[int, ...]:
    """Offsets 1 to period - 1 in decode order."""
    order: list[int] = []
    pending = [(0, period)]
    while pending:
        low, high = pending.pop()
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            pending += ((middle, high), (low, middle))
    return tuple(order)
