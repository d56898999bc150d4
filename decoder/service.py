"""Indexes and frames of any source, for any number of threads."""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from cachetools import LRUCache
from numpy.typing import NDArray

from decoder.checked import KeyTrust
from decoder.corpus import Source
from decoder.desks import DeskLoad, Desks
from decoder.errors import DecoderError, SourceChanged, SourceNotFound, Stopped
from decoder.foresight import ALONE, Outlook
from decoder.index import SourceIndex
from decoder.indexing import Indexer
from decoder.media import check_unchanged
from decoder.pixels import PixelFormat, Pixels
from decoder.pool import ReaderPool
from decoder.reader import FrameReader
from decoder.statistics import Statistics
from decoder.store import IndexStore
from decoder.walking import Verify

_INDEX_BYTES = 128 << 20
"""Memory for indexes in use; others are read back from the store."""

_FAILURE_BYTES = 1 << 10
"""What a remembered failure counts as."""

DEFAULT_STOCK_BYTES = 256 << 20
DEFAULT_DEADLINE = 60.0

_FAILURE_SECONDS = 5.0
_FAILURE_FACTOR = 30
"""A failure is remembered for so long at least, and for so many times as long as it took to find:
what changes without changing the fingerprint (permissions, a disk that comes back) is seen again,
and a large damaged file is not decoded over and over."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Load:
    """What a service is busy with, and what it holds, at one moment.

    Attributes:
        indexing: sources whose indexes are being found or made.
        index_bytes: memory of indexes.
        desks: what is decoded, and kept.
    """

    indexing: int
    index_bytes: int
    desks: DeskLoad


@dataclass(frozen=True, slots=True)
class _Indexed:
    index: SourceIndex
    trust: KeyTrust | None  # of an index that is read conservatively


@dataclass(frozen=True, slots=True)
class _Failed:
    kind: type[DecoderError]
    message: str  # not the exception itself, whose traceback would keep a decoder alive
    until: float  # time.monotonic()


class FrameService:
    """What the filesystem asks for indexes and frames. Thread safe; a call blocks until it is done.

    Args:
        store: where indexes persist.
        stream: number of the video stream in each file, by default the first that is not a cover.
        rotate: turn frames by the display matrix.
        readers: open files (and codec contexts) at most; 2 at least.
        verify: which frames that were decoded sparsely are compared with their stored hash.
        statistics: counts what is done.
        stock: bytes for decoded frames that nobody has asked for yet.
        deadline: seconds after which a request whose frame is not there ends.
    """

    def __init__(
        self,
        store: IndexStore,
        *,
        stream: int | None = None,
        rotate: bool = True,
        readers: int = 8,
        verify: Verify = "never",
        statistics: Statistics | None = None,
        stock: int = DEFAULT_STOCK_BYTES,
        deadline: float = DEFAULT_DEADLINE,
    ) -> None:
        self.statistics = statistics or Statistics()
        self._store = store
        self._stop = threading.Event()
        self._indexer = Indexer(store, stream=stream, rotate=rotate, stop=self._stop)
        self._stock_bytes = stock
        self._deadline = deadline
        self._make_pool = partial(
            ReaderPool, readers, self._demote, rotate=rotate, stop=self._stop, verify=verify
        )
        self._readers = readers
        self._desks = self._open_desks()
        self._scanning = threading.BoundedSemaphore(os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._results: LRUCache[Source, _Indexed | _Failed] = LRUCache(_INDEX_BYTES, _weight)
        self._running: dict[Source, Future[_Indexed]] = {}
        self._demoting: dict[Source, threading.Lock] = {}

    def index(self, source: Source) -> SourceIndex:
        """The index of ``source``; made once, however many ask meanwhile.

        Raises:
            DecoderError: the source has none; remembered for a while for this version of it.
        """
        return self._indexed(source).index

    def known(self, source: Source) -> SourceIndex | DecoderError | None:
        """What `index` would return or raise if that is known already; never blocks or raises."""
        with self._lock:
            result = self._result(source)
        if isinstance(result, _Failed):
            return result.kind(result.message)
        return None if result is None else result.index

    def array(
        self,
        source: Source,
        frame: int,
        pixel_format: PixelFormat,
        outlook: Outlook | None = None,
    ) -> NDArray[Any]:
        """One frame: C-contiguous, shape and dtype as ``pixel_format`` says. As `pixels`."""
        pixels = self.pixels(source, frame, outlook)
        began = time.perf_counter()
        array = pixels.array(pixel_format)
        self.statistics.stage("convert", time.perf_counter() - began)
        return array

    def announce(self, source: Source, frame: int, process: int) -> Outlook:
        """A process is about to ask for a frame, or would if it did not have it already.

        Whoever announces all that a process is interested in has its frames decoded ahead. Never
        blocks.
        """
        return self._current_desks().announce(source, frame, process)

    def pixels(self, source: Source, frame: int, outlook: Outlook | None = None) -> Pixels:
        """One frame as it was decoded.

        Args:
            outlook: what `announce` has said of it; without it the frame is asked for by itself.

        Raises:
            FrameOutOfRange: the source has fewer frames.
            SourceChanged, SourceNotFound: the file is no longer there in this version.
            TimedOut: it was not decoded in time.
            DecoderError: it cannot be indexed, or this frame cannot be reproduced.
        """
        if self._stop.is_set():
            raise Stopped(f"{source.path}: not read, decoding is being shut down")
        indexed = self._indexed(source)
        index = indexed.index
        index.check(frame, source.path)
        desks = self._current_desks()
        asked = time.perf_counter()
        failed = True
        try:
            pixels = desks.frame(source, index, frame, outlook or ALONE)
            failed = False
        finally:
            self.statistics.request(source, time.perf_counter() - asked, failed=failed)
        check_unchanged(source)
        return pixels

    def _current_desks(self) -> Desks:
        if self._desks.process != os.getpid():
            self._desks = self._open_desks()  # the parent's threads and files are the parent's
        return self._desks

    def _open_desks(self) -> Desks:
        return Desks(
            self._make_pool(),
            self._readers,
            self._lend,
            self.statistics,
            stock=self._stock_bytes,
            deadline=self._deadline,
        )

    def _lend(
        self, pool: ReaderPool, source: Source, frame: int
    ) -> AbstractContextManager[FrameReader]:
        indexed = self._indexed(source)  # another one than before, where a plan has failed
        return pool.reader(source, indexed.index, indexed.trust, frame)

    @property
    def load(self) -> Load:
        """What is going on now."""
        with self._lock:
            indexing, index_bytes = len(self._running), int(self._results.currsize)
        return Load(indexing, index_bytes, self._desks.load)

    def close(self) -> None:
        """Gives up what is going on, with `Stopped`, and closes the files and the store."""
        self._desks.close()
        self._store.close()

    def _indexed(self, source: Source) -> _Indexed:
        mine: Future[_Indexed] = Future()
        with self._lock:
            result = self._result(source)
            running = mine if result else self._running.setdefault(source, mine)
        if isinstance(result, _Failed):
            raise result.kind(result.message)
        if result is not None:
            return result
        if running is mine:
            self._run(source, running)
        return running.result()

    def _result(self, source: Source) -> _Indexed | _Failed | None:
        result = self._results.get(source)
        if isinstance(result, _Failed) and time.monotonic() > result.until:
            del self._results[source]
            return None
        return result

    def _run(self, source: Source, future: Future[_Indexed]) -> None:
        """Makes the index and hands it, or the error, to all who wait."""
        began = time.monotonic()
        try:
            index = self._make(source)
        except BaseException as error:
            with self._lock:
                del self._running[source]
                if isinstance(error, DecoderError) and not _passing(error):
                    _log.warning("not readable: %s", error)
                    now = time.monotonic()
                    keep = max(_FAILURE_SECONDS, _FAILURE_FACTOR * (now - began))
                    self._results[source] = _Failed(type(error), str(error), now + keep)
            future.set_exception(error)
            return
        self.statistics.stage("index", time.monotonic() - began)
        with self._lock:
            del self._running[source]
            indexed = self._keep(source, index)
        future.set_result(indexed)

    def _keep(self, source: Source, index: SourceIndex) -> _Indexed:
        indexed = _Indexed(index, KeyTrust(index) if index.feed is None else None)
        if _weight(indexed) <= _INDEX_BYTES:
            self._results[source] = indexed
        return indexed

    def _make(self, source: Source) -> SourceIndex:
        index = self._indexer.stored(source)
        if index is None:
            with self._scanning:
                index = self._indexer.make(source)
        return index

    def _demote(self, source: Source, reason: str) -> SourceIndex:
        """An index of ``source`` made by decoding, once it has been seen that a plan failed."""
        with self._lock:
            alone = self._demoting.setdefault(source, threading.Lock())
        with alone:
            with self._lock:
                result = self._result(source)
            if isinstance(result, _Indexed) and result.index.feed is None:
                return result.index  # another reader met the same before
            try:
                with self._scanning:
                    index = self._indexer.demote(source, reason)
                with self._lock:
                    self._keep(source, index)
                self._desks.forget(source)  # its frames may have other numbers now
            finally:
                with self._lock:
                    self._demoting.pop(source, None)
        return index


def _weight(result: _Indexed | _Failed) -> int:
    return _FAILURE_BYTES if isinstance(result, _Failed) else result.index.nbytes


def _passing(error: DecoderError) -> bool:
    """Is about a moment, not about this version of the file."""
    return isinstance(error, (SourceChanged, SourceNotFound, Stopped))
