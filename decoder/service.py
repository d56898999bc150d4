"""Indexes and frames of any source, for any number of threads."""

from __future__ import annotations

import os
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray

from decoder.corpus import Source
from decoder.desks import DeskLoad, Desks
from decoder.errors import DecoderError, Stopped
from decoder.foresight import ALONE, Outlook
from decoder.forking import fork_lock
from decoder.index import SourceIndex
from decoder.indexes import Indexes
from decoder.indexing import Indexer
from decoder.media import check_unchanged
from decoder.pixels import PixelFormat, Pixels
from decoder.pool import ReaderPool
from decoder.reader import FrameReader
from decoder.statistics import Statistics
from decoder.store import IndexStore
from decoder.walking import Verify

DEFAULT_STOCK_BYTES = 256 << 20
DEFAULT_DEADLINE = 60.0


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


class FrameService:
    """What the filesystem asks for indexes and frames. Thread safe; a call blocks until it is done.

    May be used in forked processes, each of which has threads, files and memory of its own.

    Args:
        store: where indexes persist.
        stream: number of the video stream in each file, by default the first that is not a cover.
        rotate: turn frames by the display matrix.
        readers: open files (and codec contexts) at most; 2 at least.
        verify: which frames that were decoded sparsely are compared with their stored hash.
        statistics: counts what is done.
        stock: bytes for decoded frames that nobody has asked for yet.
        deadline: seconds after which a request whose index or frame is not there ends.
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
        self._stock_bytes = stock
        self._deadline = deadline
        self._readers = readers
        self._make_pool = partial(
            ReaderPool, readers, self._demote, rotate=rotate, stop=self._stop, verify=verify
        )
        self._forks = fork_lock()
        self._desks = self._open_desks()
        indexer = Indexer(store, stream=stream, rotate=rotate, stop=self._stop)
        self._indexes = Indexes(indexer, readers, deadline, self.statistics)

    def index(self, source: Source) -> SourceIndex:
        """The index of ``source``; made once, however many ask meanwhile.

        Raises:
            TimedOut: it is not there in time; it is being made still.
            DecoderError: the source has none; remembered for a while for this version of it.
        """
        return self._indexes.get(source).index

    def known(self, source: Source) -> SourceIndex | DecoderError | None:
        """What `index` would return or raise if that is known already; never blocks or raises."""
        return self._indexes.known(source)

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
            TimedOut: it was not indexed or decoded in time.
            DecoderError: it cannot be indexed, or this frame cannot be reproduced.
        """
        if self._stop.is_set():
            raise Stopped(f"{source.path}: not read, decoding is being shut down")
        index = self._indexes.get(source).index
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
            with self._forks:
                if self._desks.process != os.getpid():
                    self._desks = self._open_desks()  # a parent's threads and files are its own
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
        indexed = self._indexes.get(source)  # another one than before, where a plan has failed
        return pool.reader(source, indexed.index, indexed.trust, frame)

    @property
    def load(self) -> Load:
        """What is going on now."""
        return Load(*self._indexes.load, self._current_desks().load)

    def close(self) -> None:
        """Gives up what is going on, with `Stopped`, and closes the files and the store."""
        self._current_desks().close()
        self._indexes.close()
        self._store.close()

    def _demote(self, source: Source, reason: str) -> SourceIndex:
        """An index for a source whose plans fail; its frames may have other numbers then."""
        return self._indexes.demote(source, reason, partial(self._desks.forget, source))
