"""Processes of this machine, which may die or hang without stopping the rest."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic

from engines.engine import Broken, Counters, Item, Job, Pulse, Result, Watch

_LOOK = 0.2
"""Seconds between two looks at who makes no progress."""

_START = 60.0
"""Seconds that a process may take to come up, beside the patience for its first item."""

_GRACE = 3.0
"""Seconds for those who are asked to stop."""

_END = 5.0
"""Seconds for a process to end that was killed."""

_OURS = {signal.SIGINT, signal.SIGTERM}
"""Signals that are the parent's, who ends its processes then."""

_context = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Local:
    """An `engines.engine.Engine` of processes.

    A process that dies, or that shows no sign of life for ``patience`` seconds and is ended for
    it, costs the item that it had. The processes do not hear of an interrupt by themselves, and
    end with their parent, whatever ends that.

    Args:
        processes: at once.
        patience: seconds.
        attempts: how many processes may die of one item, at least 1.
    """

    processes: int
    patience: float
    attempts: int = 1

    def run(
        self, job: Job[Item, Result], items: Iterable[Item], watch: Watch[Item] | None = None
    ) -> Generator[tuple[Item, Result | Broken], None, None]:
        """See `engines.engine.Engine`."""
        first = ((item, 1) for item in items)
        again: deque[tuple[Item, int]] = deque()
        idle: list[Worker[Item, Result]] = []
        busy: dict[Worker[Item, Result], tuple[Item, int]] = {}
        try:
            while True:
                while len(busy) < self.processes:
                    task = again.popleft() if again else next(first, None)
                    if task is None:
                        break
                    worker = idle.pop() if idle else Worker(job)
                    busy[worker] = task
                    worker.begin(task[0])
                if not busy:
                    return
                wait([worker.connection for worker in busy], _LOOK)
                for worker, (item, attempt) in list(busy.items()):
                    result = worker.look(self.patience)
                    if result is None:
                        if watch is not None:
                            watch(item, *worker.steps)
                        continue
                    del busy[worker]
                    if worker.alive:
                        idle.append(worker)
                    else:
                        worker.end()
                    if isinstance(result, Broken) and result.lost and attempt < self.attempts:
                        again.append((item, attempt + 1))
                    else:
                        yield item, result
        finally:
            stop(busy)
            for worker in idle:
                worker.end()


class Worker(Generic[Item, Result]):
    """One process that does ``job``, an item at a time."""

    def __init__(self, job: Job[Item, Result]) -> None:
        self.connection, theirs = _context.Pipe()
        self._counters: Counters = _context.RawArray(ctypes.c_uint64, 4)
        self._process = _context.Process(
            target=_serve, args=(job, theirs, self._counters), daemon=True
        )
        # What is blocked is inherited, from the first moment on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self.alive = True
        self._seen = 0
        self._since = time.monotonic() + _START

    @property
    def steps(self) -> tuple[int, int]:
        """Steps done of its item, and in all; 0 and 0 as long as it has told of none."""
        return self._counters[1], self._counters[2]

    def begin(self, item: Item) -> None:
        """Gives it an item."""
        self._counters[1] = self._counters[2] = 0
        self._since = max(self._since, time.monotonic())
        with contextlib.suppress(OSError):  # it has died meanwhile, which look() finds
            self.connection.send(item)

    def look(self, patience: float) -> Result | Broken | None:
        """The result if there is one, or why there will be none; None while it works."""
        try:
            if self.connection.poll():
                result: Result | Broken = self.connection.recv()
                return result
        except (EOFError, OSError):
            self.alive = False
            self._process.join(_END)
            ending = _ending(self._process.exitcode)
            return Broken(f"the process that had it ended {ending}", lost=True)
        now = time.monotonic()
        if self._counters[0] != self._seen:
            self._seen = self._counters[0]
            self._since = now
        if now - self._since > patience:
            self.alive = False
            return Broken(f"no progress for {patience:g} s; given up")
        return None

    def do(self, item: Item, patience: float) -> Result | Broken:
        """Has one item done, and waits for it."""
        self.begin(item)
        while (result := self.look(patience)) is None:
            wait([self.connection], _LOOK)
        return result

    def ask_to_stop(self) -> None:
        """Has its item's job find that it is to stop."""
        self._counters[3] = 1

    def end(self) -> None:
        """Ends the process at once."""
        self.alive = False
        self.connection.close()
        self._process.kill()
        self._process.join(_END)


def stop(workers: Iterable[Worker[Any, Any]]) -> None:
    """Ends ``workers`` that have an item: they may tidy up for a little while."""
    left = {worker.connection: worker for worker in workers}
    for worker in left.values():
        worker.ask_to_stop()
    end = time.monotonic() + _GRACE
    while left and (ready := wait(list(left), max(0.0, end - time.monotonic()))):
        for connection in ready:
            left.pop(connection).end()  # type: ignore[call-overload]
    for worker in left.values():
        worker.end()


def _serve(job: Job[Any, Any], connection: Connection[Any, Any], counters: Counters) -> None:
    """A process's whole life."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.getLogger().addHandler(logging.NullHandler())  # results say it all
    pulse = Pulse(counters)
    pulse.is_set()
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        try:
            result = job(item, pulse)
        except Exception as error:
            result = Broken(f"an unexpected {type(error).__name__}: {error}")
        try:
            connection.send(result)
        except OSError:
            return


def _end_with_parent() -> None:
    """Ends this process when its parent has ended, in the middle of an item if need be.

    Else what nobody waits for any more would go on beside those who do it anew.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _ending(code: int | None) -> str:
    if code is None:
        return "without a word"
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
