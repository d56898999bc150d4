"""A job done for many items by processes that may die or hang without stopping the rest."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import multiprocessing
import signal
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

_Item = TypeVar("_Item")
_ItemIn = TypeVar("_ItemIn", contravariant=True)
_Result = TypeVar("_Result")
_ResultOut = TypeVar("_ResultOut", covariant=True)

_LOOK = 0.2
"""Seconds between two looks at who makes no progress."""

_START = 60.0
"""Seconds that a process may take to come up, beside the patience for its first item."""

_END = 5.0
"""Seconds for a process to end that was told to."""

_context = multiprocessing.get_context("spawn")


class Pulse(threading.Event):
    """An event that counts how often it is asked for: whoever looks whether to stop is alive.

    Decoding asks before every packet.
    """

    def __init__(self, count: ctypes.c_uint64) -> None:
        super().__init__()
        self._count = count

    def is_set(self) -> bool:
        """Whether to stop; counted."""
        self._count.value += 1
        return super().is_set()


class Job(Protocol[_ItemIn, _ResultOut]):
    """What is done for one item, in a process of its own; to be pickled, as are both."""

    def __call__(self, item: _ItemIn, pulse: Pulse) -> _ResultOut:
        """Does it."""


@dataclass(frozen=True, slots=True)
class Broken:
    """In place of a result: why there is none, in words."""

    reason: str


def work_through(
    job: Job[_Item, _Result],
    items: Iterable[_Item],
    *,
    processes: int,
    patience: float,
) -> Generator[tuple[_Item, _Result | Broken], None, None]:
    """Each item with what ``job`` returned for it, in the order in which they get done.

    A process that dies, or that shows no sign of life for ``patience`` seconds and is ended for
    it, costs the item that it had. Closing the iterator ends all processes at once; they do not
    hear of an interrupt by themselves.
    """
    pending = deque(items)
    workers: list[_Worker[_Item, _Result]] = []
    try:
        while pending or any(worker.busy for worker in workers):
            idle = [worker for worker in workers if not worker.busy]
            while pending and (idle or len(workers) < processes):
                if not idle:
                    workers.append(_Worker(job))
                    idle.append(workers[-1])
                idle.pop().begin(pending.popleft())
            busy = [worker for worker in workers if worker.busy]
            wait([worker.connection for worker in busy], _LOOK)
            for worker in busy:
                result = worker.look(patience)
                if result is None:
                    continue
                if not worker.alive:
                    workers.remove(worker)
                    worker.end()
                yield result
    finally:
        for worker in workers:
            worker.end()


class _Worker(Generic[_Item, _Result]):
    def __init__(self, job: Job[_Item, _Result]) -> None:
        self.connection, theirs = _context.Pipe()
        self._count = _context.RawValue(ctypes.c_uint64, 0)
        self._process = _context.Process(
            target=_serve, args=(job, theirs, self._count), daemon=True
        )
        # What is blocked is inherited, from the first moment on: an interrupt is the parent's.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self.alive = True
        self.busy = False
        self._item: _Item
        self._seen = 0
        self._since = time.monotonic() + _START

    def begin(self, item: _Item) -> None:
        """Gives it an item."""
        self._item = item
        self.busy = True
        self._since = max(self._since, time.monotonic())
        with contextlib.suppress(OSError):  # it has died meanwhile, which look() finds
            self.connection.send(item)

    def look(self, patience: float) -> tuple[_Item, _Result | Broken] | None:
        """The item and its result if it is done, or why there will be none."""
        try:
            if self.connection.poll():
                result: _Result | Broken = self.connection.recv()
                self.busy = False
                return self._item, result
        except (EOFError, OSError):
            self._process.join(_END)
            return self._lost(f"the process that had it ended {_ending(self._process.exitcode)}")
        now = time.monotonic()
        if self._count.value != self._seen:
            self._seen = self._count.value
            self._since = now
        if now - self._since > patience:
            return self._lost(f"no progress for {patience:g} s; given up")
        return None

    def _lost(self, reason: str) -> tuple[_Item, Broken]:
        self.alive = self.busy = False
        return self._item, Broken(reason)

    def end(self) -> None:
        """Ends the process at once."""
        self.connection.close()
        self._process.kill()
        self._process.join(_END)


def _serve(job: Job[Any, Any], connection: Connection[Any, Any], count: ctypes.c_uint64) -> None:
    """A process's whole life."""
    logging.getLogger().addHandler(logging.NullHandler())  # results say it all
    pulse = Pulse(count)
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


def _ending(code: int | None) -> str:
    if code is None:
        return "without a word"
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
