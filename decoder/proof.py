"""Where decoding of a stream may begin and what it may leave out, proven by trying. Pure.

Headers, or a container, name pictures to start from and pictures that can be left out. Each start
is tried on the very stream: what comes out from there must be what a full decode shows, for
everything up to the next start. A picture that is no start after all refers to the one before it.
Pictures that are shown before their start and come out only with what is before it (leading ones)
refer to that too.

Stretches are tried from the last to the first, so that what a decoder keeps beyond a flush is never
what the stream had before the start; and so that a stretch whose start fails becomes the end of the
one before it without being decoded again. What is skipped in a picture may look the same in the one
behind it: a sample of starts is shown to decoders that have decoded nothing at all, and then in any
order to one decoder; every other stretch of the sample is tried on a new one too. What can be left
out is left out by halves, in two passes: each such picture is there in one of them, its neighbours
are not. Should one be needed nonetheless, none is left out anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from decoder.bitstream.structure import Coded, last_kept

_MOST_FAILURES = 256
"""Starts that may fail before the rest is not even tried, unless more than half of them hold."""

_SAMPLE = 64
"""Starts from which a decoder begins that has decoded nothing; all, once one of these fails."""

_SHUFFLES = 3
"""Orders in which these are then tried on one decoder."""

_BUDGET = 6
"""So many times the stream may be decoded for its proof."""

_ANYHOW = 1000
"""Pictures that may be decoded however short the stream is."""


class Unproven(Exception):
    """There is no proof; the message is the reason."""


class _Needed(Exception):
    """Something that was said to be needed by nothing is."""


class Trial(Protocol):
    """Whether a decoder shows exactly the frames of a full decode."""

    def __call__(self, fed: list[int], *, fresh: bool = False) -> bool:
        """Feeds these pictures, which ascend, to a decoder that was flushed; or to a new one."""


@dataclass(slots=True)
class Stretch:
    """What is decoded from one start: everything up to the next."""

    start: int
    leading: list[int]
    """Pictures behind the start that need what is before it."""


class Proof:
    """Tries the starts of a stream.

    Args:
        pictures: in decode order; changed to what turns out to be so.
        frames: for each the number of the frame that it shows, or -1.
        shows: tries pictures.

    Attributes:
        named: how many starts were named.
    """

    def __init__(
        self,
        pictures: list[Coded],
        frames: Sequence[int],
        shows: Trial,
    ) -> None:
        self._pictures = pictures
        self._frames = frames
        self._shows = shows
        self._keeps = False  # leaves out leading pictures only
        self._new: frozenset[int] = frozenset()  # starts that are tried on new decoders only
        self._left = _BUDGET * len(pictures) + _ANYHOW
        self.named = sum(picture.start for picture in pictures)

    def stretches(self) -> list[Stretch]:
        """Those that hold, in decode order; together they are the whole stream.

        Raises Unproven.
        """
        before = [replace(picture) for picture in self._pictures]
        try:
            return self._all()
        except _Needed:
            self._pictures[:] = before
            self._keeps = True
            return self._all()

    def _all(self) -> list[Stretch]:
        pictures = self._pictures
        starts = [k for k, picture in enumerate(pictures) if picture.start or k == 0]
        sample = starts[:: 1 + len(starts) // _SAMPLE]
        self._new = frozenset(sample[::2])
        doubtful = self._doubtful(sample)
        held: list[Stretch] = []  # from the last to the first
        failures = 0
        for start in reversed(starts):
            stretch = None
            hopeless = start > 0 and failures > max(_MOST_FAILURES, len(held))
            if not hopeless and not (doubtful and not self._shows([start], fresh=True)):
                stretch = self._from(start, held)
            if stretch is not None:
                held.append(stretch)
            else:
                failures += 1
                self._unmake(start)
        if not held or held[-1].start:
            raise Unproven("decoding once more from its first picture gives other frames")
        return held[::-1]

    def _doubtful(self, sample: list[int]) -> bool:
        """Whether one of these starts does not hold for a new decoder.

        Raises Unproven where those that do hold fail behind each other: then a flush is not enough.
        """
        good = [k for k in sample if self._shows([k], fresh=True)]
        for seed in range(_SHUFFLES):
            order = random.Random(seed).sample(good, len(good))
            if not all(self._shows([k]) for k in order):
                raise Unproven("its decoder keeps something of earlier pictures when it is flushed")
        return len(good) < len(sample)

    def _from(self, start: int, held: list[Stretch]) -> Stretch | None:
        """The stretch from ``start`` to the next start that holds; None where it does not.

        A next one whose leading pictures do not come out from here is taken for none.
        """
        while True:
            end = held[-1].start if held else len(self._pictures)
            more = [end, *held[-1].leading] if held and held[-1].leading else []
            stretch = self._try(start, end, more)
            if stretch is not None or not more:
                return stretch
            if self._try(start, end, []) is None:
                return None
            self._unmake(held.pop().start)

    def _try(self, start: int, end: int, more: list[int]) -> Stretch | None:
        """Tries the pictures from ``start`` to before ``end``, and ``more`` behind them."""
        leading = [k for k in range(start, end) if min(self._references(k), default=k) < start]
        if not all(self._pictures[k].droppable for k in leading):
            return None
        last = (more[-1] if more else end - 1) + 1
        shown_before = [] if start == 0 else self._shown_before(start, end)
        for left_out in dict.fromkeys((tuple(leading), tuple(sorted({*leading, *shown_before})))):
            fed = [k for k in range(start, end) if k not in left_out] + more
            droppable = [k for k in fed if self._pictures[k].droppable]
            if self._holds(fed, [] if self._keeps else droppable):
                self._lead(start, left_out, last)
                for k in set(droppable) - set(more) if self._keeps else ():
                    self._pictures[k].droppable = False
                return Stretch(start, list(left_out))
            if droppable and not self._keeps and self._holds(fed, []):
                raise _Needed
        return None

    def _holds(self, fed: list[int], droppable: list[int]) -> bool:
        passes = [self._without(fed, droppable[half::2]) for half in (0, 1)] if droppable else []
        if not set(droppable) <= {k for some in passes for k in some} or not passes:
            passes.append(fed)  # with those of which each refers to the one before it
        return all(self._affordable(some) for some in passes)

    def _without(self, fed: list[int], left_out: list[int]) -> list[int]:
        """``fed`` but for some, and for what refers to them."""
        gone = set(left_out)
        for k in fed:
            if not gone.isdisjoint(self._references(k)):
                gone.add(k)
        return [k for k in fed if k not in gone]

    def _affordable(self, fed: list[int]) -> bool:
        self._left -= len(fed)
        if self._left < 0:
            raise Unproven("too many starts fail: a proof would take longer than it is worth")
        return self._shows(fed, fresh=fed[0] in self._new)

    def _references(self, k: int) -> tuple[int, ...]:
        return self._pictures[k].references

    def _shown_before(self, start: int, end: int) -> list[int]:
        """Pictures that are decoded after ``start`` and shown before it."""
        first = self._frames[start]
        return [k for k in range(start + 1, end) if 0 <= self._frames[k] < first]

    def _lead(self, start: int, leading: Sequence[int], end: int) -> None:
        """Has ``leading`` refer to what is before ``start``, and nothing refer to them."""
        pictures = self._pictures
        before = last_kept(pictures, start)
        freed = set()
        for k in leading:
            if before is not None and min(self._references(k), default=k) >= start:
                pictures[k].references = (before, start)
                freed |= set() if pictures[k].droppable else {k}
                pictures[k].droppable = True
        for k in range(start + 1, end):
            if not freed.isdisjoint(self._references(k)):
                kept = {self._kept(reference) for reference in self._references(k)}
                pictures[k].references = tuple(sorted(kept))

    def _kept(self, k: int) -> int:
        """The picture itself, or where it can be left out the last before it that cannot."""
        if not self._pictures[k].droppable:
            return k
        last = last_kept(self._pictures, k)
        assert last is not None
        return last

    def _unmake(self, start: int) -> None:
        before = last_kept(self._pictures, start)
        self._pictures[start].start = False
        self._pictures[start].references = () if before is None else (before,)
