"""Indexes of the sources in use: found or made once, however many ask, and remembered."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from functools import partial

from cachetools import LRUCache

from decoder.checked import KeyTrust
from decoder.corpus import Source
from decoder.crew import STALL, Crew, Job
from decoder.errors import DecoderError, SourceChanged, SourceNotFound, Stopped, TimedOut
from decoder.forking import fork_lock
from decoder.index import SourceIndex
from decoder.indexing import Indexer
from decoder.statistics import Statistics

_BYTES = 128 << 20
"""Memory for indexes in use; others are read back from the store."""

_FAILURE_BYTES = 1 << 10
"""What a remembered failure counts as."""

_FAILURE_SECONDS = 5.0
_FAILURE_FACTOR = 30
"""A failure is remembered for so long at least, and for so many times as long as it took to find:
what changes without changing the fingerprint (permissions, a disk that comes back) is seen again,
and a large damaged file is not decoded over and over."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Indexed:
    """An index, and where it is read conservatively what readers have seen of its key packets."""

    index: SourceIndex
    trust: KeyTrust | None


@dataclass(frozen=True, slots=True)
class _Failed:
    kind: type[DecoderError]
    message: str  # not the exception itself, whose traceback would keep a decoder alive
    until: float  # time.monotonic()


class Indexes:
    """Indexes of any source. Thread safe; goes on in forked processes.

    Args:
        indexer: finds or makes them.
        begun: indexes that are being made at the same time at most.
        deadline: seconds after which a request ends whose index is not there.
        statistics: learns how long making one takes.
    """

    def __init__(
        self, indexer: Indexer, begun: int, deadline: float, statistics: Statistics
    ) -> None:
        self._indexer = indexer
        self._begun = begun
        self._deadline = deadline
        self._statistics = statistics
        self._lock = fork_lock()
        self._results: LRUCache[Source, Indexed | _Failed] = LRUCache(_BYTES, _weight)
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._running: dict[Source, Future[Indexed]] = {}
        self._crew = Crew(min(os.cpu_count() or 1, self._begun), self._begun)

    def _begin_anew(self) -> None:
        """In a forked process: threads of a parent, and locks that they hold, are not of use."""
        if self._process != os.getpid():
            self._begin()

    def get(self, source: Source) -> Indexed:
        """The index of ``source``.

        Raises:
            TimedOut: it is not there in time; it is being made still.
            DecoderError: there is none; remembered for a while for this version of the source.
        """
        running = mine = None
        with self._lock:
            self._begin_anew()
            result = self._result(source)
            if result is None:
                running = self._running.get(source)
                if running is None:
                    running = mine = self._running[source] = Future()
        if isinstance(result, Indexed):
            return result
        if isinstance(result, _Failed):
            raise result.kind(result.message)
        assert running is not None
        if mine is not None:
            self._find(source, mine)
        return self._await(source, running)

    def known(self, source: Source) -> SourceIndex | DecoderError | None:
        """What `get` would return or raise if that is known already; never blocks or raises."""
        with self._lock:
            result = self._result(source)
        if isinstance(result, _Failed):
            return result.kind(result.message)
        return None if result is None else result.index

    def demote(self, source: Source, reason: str, then: Callable[[], None]) -> SourceIndex:
        """An index of ``source`` made by decoding, once it has been seen that a plan failed.

        Args:
            reason: why, to be kept in it.
            then: called once the index is the one that is used, before anybody gets it.
        """
        mine: Future[Indexed] = Future()
        while True:
            with self._lock:
                result = self._result(source)
                if isinstance(result, Indexed) and result.index.feed is None:
                    return result.index  # another reader met the same before
                running = self._running.setdefault(source, mine)
                if running is mine:
                    self._results.pop(source, None)  # who comes waits for the new one
            if running is mine:
                break
            self._await(source, running)
        self._make(source, mine, partial(self._indexer.demote, reason=reason), then)
        return mine.result().index

    @property
    def load(self) -> tuple[int, int]:
        """Indexes that are being found or made, and bytes of those in memory."""
        with self._lock:
            self._begin_anew()
            return len(self._running), int(self._results.currsize)

    def close(self) -> None:
        """Whoever still waits hears that nothing comes any more."""
        with self._lock:
            self._begin_anew()
        self._crew.close()
        with self._lock:
            running, self._running = self._running, {}
        for source, future in running.items():
            future.set_exception(_stopped(source))

    def _result(self, source: Source) -> Indexed | _Failed | None:
        result = self._results.get(source)
        if isinstance(result, _Failed) and time.monotonic() > result.until:
            del self._results[source]
            return None
        return result

    def _find(self, source: Source, future: Future[Indexed]) -> None:
        """In the store; else it is made by a thread that nobody has to wait for."""
        try:
            stored = self._indexer.stored(source)
        except BaseException as error:
            self._fail(source, future, error)
            raise
        if stored is not None:
            self._succeed(source, future, stored)
        elif not self._crew.add(self._job(source, future)):
            self._fail(source, future, _stopped(source))

    def _job(self, source: Source, future: Future[Indexed]) -> Job:
        """One step: see `decoder.crew.Job`."""
        self._make(source, future, self._indexer.make)
        return
        yield True

    def _await(self, source: Source, running: Future[Indexed]) -> Indexed:
        deadline = time.monotonic() + self._deadline
        while (left := deadline - time.monotonic()) > 0:
            try:
                return running.result(min(left, STALL))
            except FutureTimeout:
                self._crew.relieve()
        raise TimedOut(
            f"{source.path}: not indexed within {self._deadline:g} s; that goes on: try again "
            "later, index it beforehand (framefs index), or raise decoder.deadline"
        )

    def _make(
        self,
        source: Source,
        future: Future[Indexed],
        make: Callable[[Source], SourceIndex],
        then: Callable[[], None] | None = None,
    ) -> None:
        """Makes the index and hands it, or the error, to all who wait."""
        began = time.monotonic()
        try:
            index = make(source)
        except BaseException as error:
            self._fail(source, future, error, time.monotonic() - began)
            return
        self._statistics.stage("index", time.monotonic() - began)
        self._succeed(source, future, index, then)

    def _fail(
        self, source: Source, future: Future[Indexed], error: BaseException, seconds: float = 0.0
    ) -> None:
        lasting = isinstance(error, DecoderError) and not _passing(error)
        with self._lock:
            awaited = self._is_over(source, future)
            if isinstance(error, DecoderError) and lasting:
                keep = max(_FAILURE_SECONDS, _FAILURE_FACTOR * seconds)
                self._results[source] = _Failed(type(error), str(error), time.monotonic() + keep)
        if lasting:
            _log.warning("not readable: %s", error)
        if awaited:
            future.set_exception(error)

    def _succeed(
        self,
        source: Source,
        future: Future[Indexed],
        index: SourceIndex,
        then: Callable[[], None] | None = None,
    ) -> None:
        indexed = Indexed(index, KeyTrust(index) if index.feed is None else None)
        with self._lock:
            awaited = self._is_over(source, future)
            if _weight(indexed) <= _BYTES:
                self._results[source] = indexed
        if then is not None:
            then()
        if awaited:
            future.set_result(indexed)

    def _is_over(self, source: Source, future: Future[Indexed]) -> bool:
        """Takes ``future`` off the list; False where closing has, and another may be there."""
        if self._running.get(source) is not future:
            return False
        del self._running[source]
        return True


def _weight(result: Indexed | _Failed) -> int:
    return _FAILURE_BYTES if isinstance(result, _Failed) else result.index.nbytes


def _passing(error: DecoderError) -> bool:
    """Is about a moment, not about this version of the file."""
    return isinstance(error, (SourceChanged, SourceNotFound, Stopped, TimedOut))


def _stopped(source: Source) -> Stopped:
    return Stopped(f"{source.path}: not indexed, decoding is being shut down")
