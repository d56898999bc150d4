"""Threads that take turns at jobs, so that none waits for another to end."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Generator
from typing import TypeAlias

Job: TypeAlias = Generator[bool, None, None]
"""Each step is some work; it gives whether there is more to do, or it rests until it is woken."""

_TURN = 0.02
"""Seconds that a job may go on while others wait."""

STALL = 0.25
"""Seconds after which a thread that is still in the same step counts as one that waits for storage:
others need not wait with it."""

_log = logging.getLogger(__name__)


class _Step:
    """What a thread is at.

    Args:
        closes: the job, which no longer counts, is closed.
    """

    __slots__ = ("_began", "closes", "job")

    def __init__(self, job: Job, closes: bool) -> None:
        self.job = job
        self.closes = closes
        self._began = time.monotonic()

    @property
    def is_stalled(self) -> bool:
        return time.monotonic() - self._began > STALL


class Crew:
    """Works at jobs. Thread safe.

    At most ``begun`` jobs are begun and not finished. They take turns, but for those that rest; a
    job that waits to begin has the one closed that has rested longest. Threads are started when
    there is work, and end with `close`.

    Args:
        threads: that work at the same time, but for those that are stalled.
        begun: jobs that are at work or rest, and so all threads.
    """

    def __init__(self, threads: int, begun: int) -> None:
        self._threads_most = threads
        self._begun_most = begun
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()  # not begun
        self._ready: deque[Job] = deque()
        self._resting: OrderedDict[Job, None] = OrderedDict()
        self._closing: deque[Job] = deque()
        self._working: dict[threading.Thread, _Step] = {}
        self._woken: set[Job] = set()  # while they were at work
        self._active = 0
        self._threads = 0
        self._closed = False

    def add(self, job: Job) -> bool:
        """Has ``job`` worked at, from now or later; one that raises is logged and finished.

        False, and nothing is done, when closed.
        """
        with self._changed:
            if self._closed:
                return False
            self._waiting.append(job)
            self._admit()
            return True

    def wake(self, job: Job) -> None:
        """Has ``job`` go on, if it rests or is about to."""
        with self._changed:
            if job in self._resting:
                del self._resting[job]
                self._active += 1
                self._ready.append(job)
                self._admit()
            elif any(step.job is job and not step.closes for step in self._working.values()):
                self._woken.add(job)

    def forsake(self, job: Job) -> None:
        """Counts ``job`` as finished, though a thread may be stuck in it; another takes its place.

        Should the step end after all, job and thread end, too.
        """
        with self._changed:
            stuck = [thread for thread, step in self._working.items() if step.job is job]
            for thread in stuck:
                step = self._working.pop(thread)
                self._woken.discard(job)
                self._threads -= 1
                self._active -= not step.closes
            self._admit()

    def relieve(self) -> None:
        """Has other threads work in place of stalled ones; to be called by who waits for long."""
        with self._changed:
            self._admit()

    def is_stalled(self, job: Job) -> bool:
        """Whether ``job`` has been in the same step for long."""
        with self._changed:
            return any(step.job is job and step.is_stalled for step in self._working.values())

    @property
    def load(self) -> tuple[int, int, int]:
        """Jobs that take turns, that wait to, and that rest."""
        with self._changed:
            return self._active, len(self._waiting), len(self._resting)

    def close(self) -> None:
        """Begins no more steps. Jobs that are not finished are closed."""
        with self._changed:
            self._closed = True
            jobs = [*self._closing, *self._ready, *self._waiting, *self._resting]
            for queue in (self._closing, self._ready, self._waiting, self._resting):
                queue.clear()
            self._changed.notify_all()
        for job in jobs:
            _close(job)

    def _admit(self) -> None:
        """Has as many begin as may be, and threads for what there is to do."""
        while self._waiting:
            if self._active + len(self._resting) >= self._begun_most:
                if not self._resting:
                    break
                # Closed by a thread of its own: whoever adds a job may hold what that needs.
                self._closing.append(self._resting.popitem(last=False)[0])
            self._ready.append(self._waiting.popleft())
            self._active += 1
        due = len(self._ready) + len(self._closing)
        idle = self._threads - len(self._working)
        while due > idle and self._threads < self._begun_most and self._missing > 0:
            self._threads += 1
            idle += 1
            threading.Thread(target=self._work, name="framefs-decode", daemon=True).start()
        self._changed.notify(min(due, self._threads))

    @property
    def _missing(self) -> int:
        """So many threads more may work, or (below 0) fewer, stalled ones aside."""
        stalled = sum(step.is_stalled for step in self._working.values())
        return self._threads_most + stalled - self._threads

    def _work(self) -> None:
        me = threading.current_thread()
        while True:
            with self._changed:
                while not (self._ready or self._closing or self._closed):
                    self._changed.wait()
                if self._closed:
                    return
                closing = bool(self._closing)
                job = (self._closing if closing else self._ready).popleft()
                self._working[me] = _Step(job, closing)
                self._woken.discard(job)
            more: bool | None = None
            if closing:
                _close(job)
            else:
                more = self._take_turn(job)
            with self._changed:
                forsaken = self._working.pop(me, None) is None
                over = forsaken or self._closed
                if not (over or closing):
                    self._put_away(job, more)
                surplus = not over and self._missing < 0
                if surplus:
                    self._threads -= 1
                    self._changed.notify()  # of what this thread would have taken next
            if over:
                _close(job)
            if forsaken or surplus:
                return
            del job  # and with it what it holds, while there is nothing to do

    def _put_away(self, job: Job, more: bool | None) -> None:
        """After its turn."""
        woken = job in self._woken
        self._woken.discard(job)
        if more or (more is not None and woken):
            self._ready.append(job)
            return
        self._active -= 1
        if more is not None:
            self._resting[job] = None
        self._admit()

    def _take_turn(self, job: Job) -> bool | None:
        """Whether the job has more to do, or (None) is finished."""
        began = time.monotonic()
        try:
            for more in job:
                if not more or self._closed or time.monotonic() - began > _TURN:
                    return more
        except Exception:
            _log.exception("a decoding job failed unexpectedly")
        return None


def _close(job: Job) -> None:
    try:
        job.close()
    except Exception:
        _log.exception("a decoding job could not be closed")
