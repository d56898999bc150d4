"""Requests for frames of one source, decoded together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from decoder.corpus import Source
from decoder.crew import STALL, Crew, Job
from decoder.errand import REACH, Errand
from decoder.errors import DecoderError, SourceChanged, Stopped, TimedOut
from decoder.foresight import Outlook
from decoder.media import check_unchanged
from decoder.pixels import Pixels
from decoder.reader import FrameReader
from decoder.statistics import Meter, Statistics
from decoder.stock import Stock, Worth

Borrow = Callable[[int], AbstractContextManager[FrameReader]]
"""Lends a reader of the source, best one that is close before the frame."""

_CHUNK = 64
"""Frames that are planned together for a walk whose end is not known."""


_MOST_LOST = 16
"""Threads that are stuck in a source, after which none is begun for it until one comes back."""

_TOGETHER = -2
"""The walker of an errand for several processes that go through the source together."""

_TOGETHER_REACH = 3 * REACH
"""Such an errand comes to what lies so far ahead, since all in between is asked for as well."""


@dataclass(slots=True)
class _Wait:
    """A frame that is asked for, and how many wait for it."""

    future: Future[Pixels] = field(default_factory=Future)
    askers: int = 0


@dataclass(slots=True)
class Tally:
    """What desks have done together; each number is only ever counted up.

    Attributes:
        joined: requests that waited for a frame that was being decoded already.
        foretold: frames that were decoded before they were asked for.
        overdue: requests that ended without their frame being there in time.
    """

    joined: int = 0
    foretold: int = 0
    overdue: int = 0

    def copy(self) -> Tally:
        """How it is now."""
        return replace(self)


class Desk:
    """Takes requests for frames of one version of one source. Thread safe.

    What waits at the same time is planned together. What an errand gives on its way is handed to
    whoever has come to wait for it meanwhile, and kept.

    Args:
        source: in the version that is meant.
        borrow: lends readers.
        write_off: is told of a reader that does not come back.
        stock: where frames are kept for those who come later.
        crew: does the work.
        parallel: errands of this source, for other than walks, that are worked at at the same time.
        most: errands of this source, walks that rest aside; other sources have room beside them.
        is_anchor: whether other pictures read the one of a frame; None: frames are decoded only
            when they are asked for, and not kept.
        tally: counted up.
        statistics: learns what decoding costs.
        frame_bytes: about so large is a decoded frame.
    """

    def __init__(
        self,
        source: Source,
        borrow: Borrow,
        write_off: Callable[[FrameReader], None],
        stock: Stock,
        crew: Crew,
        parallel: int,
        most: int,
        is_anchor: Callable[[int], bool] | None,
        tally: Tally,
        statistics: Statistics,
        frame_bytes: int,
    ) -> None:
        self._statistics = statistics
        self._frame_bytes = frame_bytes
        self._source = source
        self._borrow = borrow
        self._write_off = write_off
        self._stock = stock
        self._crew = crew
        self._parallel = parallel
        self._most = most
        self._is_anchor = is_anchor
        self._tally = tally
        self._lock = threading.Lock()
        self._asked: dict[int, _Wait] = {}
        self._alone: set[int] = set()
        self._errands: list[Errand] = []
        self._lost: set[Errand] = set()  # not waited for any more, and not over

    def frame(self, n: int, outlook: Outlook, frame_count: int, patience: float) -> Pixels:
        """Frame ``n``; has others decoded as well that are foretold.

        Args:
            frame_count: of the source.

        Raises:
            TimedOut: it took longer than ``patience`` seconds.
            DecoderError: it cannot be had.
        """
        with self._lock:
            found = self._stock.take(self._source, n)
            if found is None:
                wait = self._asked.setdefault(n, _Wait())
                self._tally.joined += wait.askers > 0
                wait.askers += 1
            self._arrange(n, outlook, frame_count, found is None)
        if found is not None:
            return found
        deadline = time.monotonic() + patience
        while (left := deadline - time.monotonic()) > 0:
            try:
                return wait.future.result(min(left, STALL))
            except FutureTimeout:
                self._look_after()
        self._despair(n, wait, patience)
        raise TimedOut(
            f"{self._source.path}: frame {n} was not decoded within {patience:g} s; "
            "check the storage, or raise decoder.deadline"
        )

    def retire(self) -> None:
        """Keeps nothing from now on: the numbers of its frames may not hold any more."""
        with self._lock:
            self._is_anchor = None

    @property
    def is_retired(self) -> bool:
        """Whether it decodes nothing but what is asked for."""
        return self._is_anchor is None

    def leave(self, process: int) -> None:
        """The walk of ``process`` has ended: nothing more is decoded for it."""
        with self._lock:
            for errand in [errand for errand in self._errands if errand.walker == process]:
                self._end(errand)

    def _arrange(self, n: int, outlook: Outlook, frame_count: int, needed: bool) -> None:
        """Sees to it that frame ``n``, if it is ``needed``, and those foretold will be decoded."""
        shared = self._errand_of(_TOGETHER)
        late = shared is not None and shared.is_past(n)
        together = outlook.together and not late
        walker = _TOGETHER if together else outlook.process
        following = self._errand_of(walker)
        if following is not None and outlook.stride not in (0, following.stride):
            self._end(following)  # it was taken for another walk
            following = None
        ahead = outlook.ahead if self._is_anchor is not None and (together or not late) else 0
        if following is not None and outlook.stride:
            self._extend(following, n + ahead * outlook.stride)
        if not needed or self._is_due(n):
            return
        if following is not None:
            self._give_up(following)
        if outlook.stride and self._has_room:
            self._follow(n, outlook, frame_count, walker, ahead)
        self._gather()

    def _follow(self, n: int, outlook: Outlook, frame_count: int, walker: int, ahead: int) -> None:
        """Begins an errand for a walk from frame ``n`` on."""
        together = walker == _TOGETHER
        endless = together or not outlook.length or self._is_anchor is None
        if not endless:
            end = n + outlook.length * outlook.stride
        elif outlook.stride == 1:
            end = frame_count
        else:
            end = n + _CHUNK * outlook.stride
        frames = range(n, min(end, frame_count), outlook.stride)
        due = min(1 + ahead, len(frames)) if endless else len(frames)
        reach = REACH
        if together:
            room = self._stock.budget // (2 * self._frame_bytes)
            reach = max(reach, min(_TOGETHER_REACH, room))
        self._start(Errand(frames, due, walker, endless=endless, reach=reach))

    def _errand_of(self, walker: int) -> Errand | None:
        return next((errand for errand in self._errands if errand.walker == walker), None)

    def _extend(self, errand: Errand, n: int) -> bool:
        """Has ``errand`` go on as far as frame ``n``; whether it will give that."""
        place = errand.place(min(n, errand.frames[-1]))
        if place >= errand.due:
            self._promise(errand, place + 1 - errand.due)
            errand.due = place + 1
            self._crew.wake(errand.job)
        return place >= 0 and n <= errand.frames[-1]

    def _is_due(self, n: int) -> bool:
        """Whether an errand will give frame ``n``, which has it go on so far."""
        return any(self._extend(errand, n) for errand in self._errands)

    def _gather(self) -> None:
        """Begins an errand for what waits and no errand will give, if there may be another.

        What one will give only if its walk goes on is made due.
        """
        waiting = sorted(k for k in self._asked if not self._is_due(k))
        if not self._has_room:
            return
        if sum(errand.walker is None for errand in self._errands) >= self._parallel:
            return
        alone = next((k for k in waiting if k in self._alone), None)
        if alone is not None:
            self._alone.discard(alone)
            waiting = [alone]
        if waiting:
            self._start(Errand(waiting, len(waiting)))

    @property
    def _has_room(self) -> bool:
        """Whether another errand may begin. Where storage stalls, none does: all would."""
        if any(self._crew.is_stalled(errand.job) for errand in self._errands):
            return False
        if len(self._lost) >= _MOST_LOST:
            return False
        return sum(not errand.is_idle for errand in self._errands) < self._most

    def _look_after(self) -> None:
        """What cannot go on is worked around, by somebody who has waited for a while."""
        self._crew.relieve()
        with self._lock:
            self._gather()

    def _start(self, errand: Errand) -> None:
        errand.job = self._work(errand)
        self._errands.append(errand)
        if errand.walker is not None:
            self._promise(errand, errand.due - 1)
        if not self._crew.add(errand.job):
            self._refuse()

    def _promise(self, errand: Errand, frames: int) -> None:
        errand.promised += frames
        self._stock.promise(frames * self._frame_bytes)

    def _remove(self, errand: Errand) -> None:
        self._errands.remove(errand)
        self._promise(errand, -errand.promised)
        errand.given_up = True

    def _end(self, errand: Errand) -> None:
        """Gives an errand up; whoever still waits for it is served by another."""
        self._give_up(errand)
        self._gather()

    def _give_up(self, errand: Errand) -> None:
        self._remove(errand)
        self._crew.wake(errand.job)

    def _work(self, errand: Errand) -> Job:
        """Decodes what is due, a frame a step; see `decoder.crew.Job`."""
        problem: Exception | None = None
        meter: Meter | None = None
        try:
            errand.begin()
            if not errand.given_up:
                with self._borrow(errand.frames[0]) as reader:
                    errand.reader = reader
                    meter = self._statistics.work_of(self._source, reader.stats)
                    for n, pixels in _frames(reader, errand):
                        meter.read()
                        self._deliver(errand, n, pixels)
                        del pixels
                        if errand.is_idle:
                            # What it reads on with may not be a mixture of two versions, and the
                            # file may be as it was again by then.
                            check_unchanged(self._source)
                        while errand.is_idle and not errand.given_up:
                            yield False
                        if errand.given_up:
                            break
                        yield True
        except DecoderError as error:
            problem = error
        except Exception as error:
            problem = error
            raise
        finally:
            if meter is not None:
                meter.read()
            self._finish(errand, problem)

    def _deliver(self, errand: Errand, n: int, pixels: Pixels) -> None:
        with self._lock:
            place = errand.place(n)
            if place >= 0:
                errand.gave(place)
                if errand.promised:
                    self._promise(errand, -1)
            wait = self._asked.pop(n, None)
            if wait is None and self._is_anchor is not None:
                if place >= 0:
                    worth = Worth.FORETOLD
                    self._tally.foretold += 1
                else:
                    worth = Worth.ANCHOR if self._is_anchor(n) else Worth.BY_PRODUCT
                self._stock.put(self._source, n, pixels, worth)
            if errand.is_idle and self._asked:
                self._gather()  # there is room for another
        if wait is not None:
            wait.future.set_result(pixels)

    def _finish(self, errand: Errand, problem: Exception | None) -> None:
        """Takes an errand off the list; what it owes is tried one by one, or fails."""
        failed = []
        if isinstance(problem, SourceChanged):
            self._stock.forget(self._source)
        with self._lock:
            self._lost.discard(errand)
            if not errand.given_up:
                owed = [k for k in self._asked if errand.place(k) >= 0]
                self._remove(errand)
                if problem is None:
                    pass
                elif len(errand.frames) > 1 and _concerns_one(problem):
                    self._alone.update(owed)
                else:
                    failed = [self._asked.pop(k) for k in owed]
            self._gather()
        for wait in failed:
            assert problem is not None
            wait.future.set_exception(problem)

    def _despair(self, n: int, wait: _Wait, patience: float) -> None:
        """Somebody waits no longer; what has not moved for long is not waited for at all."""
        with self._lock:
            self._tally.overdue += 1
            wait.askers -= 1
            if not wait.askers and self._asked.get(n) is wait:
                del self._asked[n]
            for errand in [errand for errand in self._errands if errand.place(n) >= 0]:
                if errand.is_stuck(patience / 2):
                    self._remove(errand)
                    self._lost.add(errand)
                    self._crew.forsake(errand.job)
                    if errand.reader is not None:
                        self._write_off(errand.reader)
            self._gather()

    def close(self) -> None:
        """Whoever still waits hears that nothing comes any more."""
        with self._lock:
            self._refuse()

    def _refuse(self) -> None:
        waits, self._asked = self._asked, {}
        for wait in waits.values():
            wait.future.set_exception(
                Stopped(f"{self._source.path}: not read, decoding is being shut down")
            )


def _frames(reader: FrameReader, errand: Errand) -> Iterator[tuple[int, Pixels]]:
    frames = errand.frames
    if errand.endless and isinstance(frames, range) and frames.step == 1:
        return reader.onward(frames.start)
    return reader.frames(frames, by_products=True)


def _concerns_one(problem: Exception) -> bool:
    """Others may be had where this one frame cannot."""
    return isinstance(problem, DecoderError) and not isinstance(problem, Stopped)
