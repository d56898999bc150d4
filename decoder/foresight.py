"""Which frames a reader will ask for next, from those it has asked for. Pure.

Loaders read a window one file after the other: frames at a fixed stride, from some place on. A
*walk* is such a series by one process in one source. Its second step shows the stride; walks that
have ended show how long walks are, so that the next one is known from its first frame. What is
foretold is compared with what comes. Where it would not have come true, nothing is foretold.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque

from msgspec import Struct

from decoder.corpus import Source

_MOST_STRIDE = 64
"""A longer step is a jump."""

_WINDOW = 32
"""A walk that has so many frames has no end that can be foretold."""

_REMEMBERED = 8
"""Walks from whose shapes the next one is told."""

_ALIKE = 2
"""So many of them, and half of all, must have the same shape."""

_SEVERAL = 16
"""Walks of one process that are followed at the same time, where it has more than one."""

_NEAR_STRIDE = 8
"""So long a step makes a walk of two frames; a longer one does if other walks had that stride."""

_RESUMED = 2
"""Walks taken up again after which a process is taken to have several at the same time."""

_WALKING = 3
"""Frames from which on a walk counts as one."""

_OWN = 4
"""Walks of one process after which it is judged by these alone."""

_FOLLOWED = 1024
"""Processes that are followed, the least recent forgotten first."""

_BELIEF = 0.7
_LEARNING = 0.2
"""Foretelling is done while its mean success, which weighs the last walk so much, is above."""


class Outlook(Struct, frozen=True):
    """What is foretold when a frame is asked for.

    Attributes:
        process: that asks.
        stride: of the walk that the frame belongs to, or probably begins; 0 where none is known.
        ahead: frames behind this one, at this stride, that are worth decoding before they are asked
            for.
        length: frames from this one on that the walk will have; 0 where that is not known.
        left: the source of a walk that the process has given up with this; or None.
    """

    process: int = 0
    stride: int = 0
    ahead: int = 0
    length: int = 0
    left: Source | None = None


ALONE = Outlook(-1)
"""Of a frame that belongs to nothing."""


class _Walk(Struct):
    """A series of frames that one process asks for in one source.

    Attributes:
        last: the frame asked for last.
        stride: 0 until a second frame has been asked for.
        length: frames asked for.
        expected: frames that it was foretold to have from the first one on; 0 where that was not
            foretold.
        expected_stride: the stride foretold with that.
        planned: that was believed, and told.
        told: frames, from the first one on, that its second step or a later one foretold.
    """

    source: Source
    last: int
    stride: int = 0
    length: int = 1
    expected: int = 0
    expected_stride: int = 0
    planned: bool = False
    told: int = 0

    def leads_to(self, source: Source, frame: int, most: int) -> bool:
        """Whether ``frame`` is its next one, or could be: then a step is at most so long."""
        step = frame - self.last
        fits = step == self.stride if self.stride else 0 < step <= most
        return fits and source == self.source


class _Habit:
    """How walks were lately, and how well they were foretold."""

    def __init__(self) -> None:
        self.shapes: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        self.strides: deque[int] = deque(maxlen=_REMEMBERED)  # 0 of a walk that was none
        self.walks = 0
        self.by_shape = 1.0
        self.by_stride = 1.0

    def learn(self, walk: _Walk) -> None:
        """A walk has ended."""
        self.walks += 1
        if walk.length < _WALKING:
            self.strides.append(0)
        self.shapes.append((walk.stride, walk.length))
        if walk.expected:
            right = walk.length if walk.stride == walk.expected_stride else 1
            self.by_shape += _LEARNING * (min(1.0, right / walk.expected) - self.by_shape)
        if walk.told:
            # The first two frames of a walk are not foretold by its stride.
            share = (min(walk.length, walk.told) - 2) / max(walk.told - 2, 1)
            self.by_stride += _LEARNING * (share - self.by_stride)

    @property
    def stride(self) -> int:
        """What walks lately had, those that go on among them; 0 where they were not alike."""
        if not self.strides:
            return 0
        ((stride, times),) = Counter(self.strides).most_common(1)
        return stride if 2 * times > len(self.strides) else 0

    @property
    def usual(self) -> tuple[int, int] | None:
        """(stride, length) that walks lately had; None where they were not alike."""
        strides = Counter(stride for stride, length in self.shapes if length >= _WALKING)
        if not strides:
            return None
        ((stride, times),) = strides.most_common(1)
        if times < _ALIKE or 2 * times < len(self.shapes):
            return None
        return stride, min(
            length for each, length in self.shapes if each == stride and length >= _WALKING
        )


class _Process:
    """The walks of one process, the present one last."""

    def __init__(self) -> None:
        self.walks: deque[_Walk] = deque(maxlen=_SEVERAL)
        self.habit = _Habit()
        self.resumed = 0

    def find(self, source: Source, frame: int) -> _Walk | None:
        """The walk that leads to ``frame``, which is the present one from now on."""
        most = _MOST_STRIDE
        for walk in reversed(self.walks):
            if walk.leads_to(source, frame, most):
                if walk is not self.walks[-1]:
                    self.resumed += 1
                    self.walks.remove(walk)
                    self.walks.append(walk)
                return walk
            most = _NEAR_STRIDE
        return None


class Foresight:
    """Follows walks and foretells their next frames. Thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: OrderedDict[int, _Process] = OrderedDict()
        self._common = _Habit()

    def ask(self, source: Source, frame: int, process: int) -> Outlook:
        """What ``process`` will ask for next, now that it asks for this frame."""
        with self._lock:
            known = self._processes.setdefault(process, _Process())
            self._processes.move_to_end(process)
            if len(self._processes) > _FOLLOWED:
                self._processes.popitem(last=False)
            habit = known.habit if known.habit.walks >= _OWN else self._common
            before = known.walks[-1] if known.walks else None
            if before is not None and source == before.source and frame == before.last:
                return Outlook(process)
            walk = known.find(source, frame)
            if walk is not None:
                return self._go_on(walk, frame, process, known, habit)
            left = self._close(known)
            walk = _Walk(source, frame)
            known.walks.append(walk)
            return self._foretell(walk, process, habit, left)

    def _close(self, process: _Process) -> Source | None:
        """A new walk is about to begin; returns the source of the one that has ended with that."""
        if not process.walks:
            return None
        several = process.resumed >= _RESUMED
        if several and len(process.walks) < _SEVERAL:
            return None
        ended = process.walks[0] if several else process.walks[-1]
        process.habit.learn(ended)
        self._common.learn(ended)
        return ended.source

    def _go_on(
        self, walk: _Walk, frame: int, process: int, known: _Process, habit: _Habit
    ) -> Outlook:
        walk.stride = frame - walk.last
        walk.last = frame
        walk.length += 1
        if walk.length == _WALKING:
            self._common.strides.append(walk.stride)
            known.habit.strides.append(walk.stride)
        if walk.planned and walk.stride == walk.expected_stride and walk.length <= walk.expected:
            # Told with the first one.
            return Outlook(process, walk.stride, 0, walk.expected - walk.length + 1)
        if walk.length < _WALKING and walk.stride not in (*range(_NEAR_STRIDE + 1), habit.stride):
            return Outlook(process)  # a jump, as likely as not
        ahead = _ahead(walk.length)
        walk.told = max(walk.told, walk.length + ahead)
        return Outlook(process, walk.stride, ahead if habit.by_stride > _BELIEF else 0)

    def _foretell(self, walk: _Walk, process: int, habit: _Habit, left: Source | None) -> Outlook:
        usual = habit.usual
        if usual is None:
            # Where walks have ended differently, or not at all, their stride may be known already.
            return Outlook(process, habit.stride, left=left)
        walk.expected_stride, length = usual
        walk.expected = min(length, _WINDOW)
        walk.planned = habit.by_shape > _BELIEF
        if not walk.planned:
            return Outlook(process, left=left)
        if length < _WINDOW:
            return Outlook(process, walk.expected_stride, length - 1, length, left)
        return Outlook(process, walk.expected_stride, _ahead(length), 0, left)


def _ahead(length: int) -> int:
    """How far to go beyond a walk of that length: its reader must not wait, and it may end here."""
    return 1 if length < _WINDOW else 8
