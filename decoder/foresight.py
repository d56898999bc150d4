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

_FAR_AHEAD = 8
"""Frames that are foretold of such a walk."""

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

_RELAYED = 2
"""Walks one after the other that begin where another was to end, after which a source is taken to
be gone through by several processes together."""

_CLOSE = 8
"""Walks, at most, that one is before or behind the next one to begin in such a source."""

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
        together: several processes go through the source, each a part of the way; ``ahead`` is of
            them together then, ``length`` of this one.
    """

    process: int = 0
    stride: int = 0
    ahead: int = 0
    length: int = 0
    left: Source | None = None
    together: bool = False


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
        together: it is part of a way through the source that several processes go together.
    """

    source: Source
    last: int
    stride: int = 0
    length: int = 1
    expected: int = 0
    expected_stride: int = 0
    planned: bool = False
    told: int = 0
    together: bool = False

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
                    self.resumed += walk.length >= 2  # two frames may be close by chance
                    self.walks.remove(walk)
                    self.walks.append(walk)
                return walk
            most = _NEAR_STRIDE
        return None


class _Relay(Struct):
    """How walks through a source follow each other, whichever processes' they are.

    Attributes:
        end: where the foremost of them is to end.
        times: one after the other that began where another was to end, or close to that by a
            number of whole walks.
    """

    end: int
    times: int = 0

    def begins(self, frame: int, length: int) -> bool:
        """A walk of so many frames in a row begins; whether it is part of a way through all."""
        walks, rest = divmod(frame - self.end, length)
        follows = not rest and -_CLOSE <= walks < _CLOSE
        self.times = self.times + 1 if follows else 0
        self.end = max(self.end, frame + length) if follows else frame + length
        return self.times >= _RELAYED


class Foresight:
    """Follows walks and foretells their next frames. Thread safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: OrderedDict[int, _Process] = OrderedDict()
        self._common = _Habit()
        self._relays: OrderedDict[Source, _Relay] = OrderedDict()
        self._together = False  # so it was in the source that was gone through last

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
        if walk.together and walk.stride == 1 and walk.length <= walk.expected:
            left = walk.expected - walk.length + 1
            return Outlook(process, 1, _FAR_AHEAD, left, together=True)
        if walk.planned and walk.stride == walk.expected_stride and walk.length <= walk.expected:
            # Told with the first one.
            return Outlook(process, walk.stride, 0, walk.expected - walk.length + 1)
        believed = habit.by_stride > _BELIEF
        usual = walk.stride in (*range(_NEAR_STRIDE + 1), habit.stride)
        if walk.length < _WALKING and not (usual and believed):
            return Outlook(process)  # a jump, as likely as not
        ahead = _ahead(walk.length)
        walk.told = max(walk.told, walk.length + ahead)
        return Outlook(process, walk.stride, ahead if believed else 0)

    def _foretell(self, walk: _Walk, process: int, habit: _Habit, left: Source | None) -> Outlook:
        usual = habit.usual
        if usual is None:
            # Where walks have ended differently, or not at all, their stride may be known already.
            return Outlook(process, habit.stride, left=left)
        walk.expected_stride, length = usual
        walk.expected = min(length, _WINDOW)
        if walk.expected_stride == 1 and length < _WINDOW and self._is_relayed(walk, length):
            walk.together = True
            return Outlook(process, 1, _FAR_AHEAD, length, left, together=True)
        walk.planned = habit.by_shape > _BELIEF
        if not walk.planned:
            return Outlook(process, left=left)
        if length < _WINDOW:
            return Outlook(process, walk.expected_stride, length - 1, length, left)
        return Outlook(process, walk.expected_stride, _ahead(length), 0, left)

    def _is_relayed(self, walk: _Walk, length: int) -> bool:
        """Whether a walk of so many frames in a row is part of a way that several go together."""
        relay = self._relays.get(walk.source)
        if relay is None:
            alike = self._together and walk.last < _CLOSE * length
            relay = _Relay(walk.last, _RELAYED - 1 if alike else -1)
            self._relays[walk.source] = relay
            if len(self._relays) > _FOLLOWED:
                self._relays.popitem(last=False)
        self._together = relay.begins(walk.last, length)
        return self._together


def _ahead(length: int) -> int:
    """How far to go beyond a walk of that length: its reader must not wait, and it may end here."""
    return 1 if length < _WINDOW else _FAR_AHEAD
