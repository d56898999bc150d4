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

_log = logging.getLogger(__name__)


class Crew:
    """Works at jobs. Thread safe.

    At most ``active`` jobs are begun and neither finished nor resting; they take turns. Others wait
    until one is done. Threads are started when there is work, and end with `close`.

    Args:
        threads: that work at the same time.
        active: jobs that take turns.
        resting: jobs that rest; one more, and the one that has rested longest is closed.
    """

    def __init__(self, threads: int, active: int, resting: int) -> None:
        self._threads_most = threads
        self._active_most = active
        self._resting_most = resting
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()  # not begun, or woken
        self._ready: deque[Job] = deque()
        self._resting: OrderedDict[Job, None] = OrderedDict()
        self._working: dict[threading.Thread, Job] = {}
        self._woken: set[Job] = set()  # while they were at work
        self._active = 0
        self._threads = 0
        self._closed = False

    def add(self, job: Job) -> None:
        """Has ``job`` worked at, from now or later; one that raises is logged and finished."""
        with self._changed:
            if not self._closed:
                self._waiting.append(job)
                self._admit()

    def wake(self, job: Job) -> None:
        """Has ``job`` go on, if it rests or is about to."""
        with self._changed:
            if job in self._resting:
                del self._resting[job]
                self._waiting.append(job)
                self._admit()
            elif job in self._working.values():
                self._woken.add(job)

    def forsake(self, job: Job) -> None:
        """Counts ``job`` as finished, though a thread may be stuck in it; another takes its place.

        Should the step end after all, job and thread end, too.
        """
        with self._changed:
            stuck = [thread for thread, its in self._working.items() if its is job]
            for thread in stuck:
                del self._working[thread]
                self._woken.discard(job)
                self._threads -= 1
                self._active -= 1
            self._admit()

    @property
    def load(self) -> tuple[int, int, int]:
        """Jobs that take turns, that wait to, and that rest."""
        with self._changed:
            return self._active, len(self._waiting), len(self._resting)

    def close(self) -> None:
        """Begins no more steps. Jobs that are not finished are closed."""
        with self._changed:
            self._closed = True
            jobs = [*self._ready, *self._waiting, *self._resting]
            self._ready.clear()
            self._waiting.clear()
            self._resting.clear()
            self._changed.notify_all()
        for job in jobs:
            job.close()

    def _admit(self) -> None:
        while self._waiting and self._active < self._active_most:
            self._ready.append(self._waiting.popleft())
            self._active += 1
            self._changed.notify()
        idle = self._threads - len(self._working)
        if len(self._ready) > idle and self._threads < self._threads_most:
            self._threads += 1
            threading.Thread(target=self._work, name="framefs-decode", daemon=True).start()

    def _work(self) -> None:
        me = threading.current_thread()
        while True:
            with self._changed:
                while not self._ready and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                job = self._ready.popleft()
                self._working[me] = job
                self._woken.discard(job)
            more = self._take_turn(job)
            surplus = None
            with self._changed:
                if self._working.pop(me, None) is None:
                    surplus, forsaken = job, True
                else:
                    surplus, forsaken = self._put_away(job, more), False
            if surplus is not None:
                surplus.close()
            if forsaken:
                return

    def _put_away(self, job: Job, more: bool | None) -> Job | None:
        """After its turn; returns a job to be closed."""
        if self._closed:
            return job
        if more or (more is not None and job in self._woken):
            self._ready.append(job)
            return None
        self._active -= 1
        self._admit()
        if more is None:
            return None
        self._resting[job] = None
        if len(self._resting) > self._resting_most:
            return self._resting.popitem(last=False)[0]
        return None

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
