"""A desk for each source, and what all desks share: threads, readers, memory and foresight."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from cachetools import LRUCache
from msgspec.structs import replace

from decoder.corpus import Source
from decoder.crew import Crew
from decoder.desk import Desk, Tally
from decoder.foresight import Foresight, Outlook
from decoder.graph import REFERENCE
from decoder.index import SourceIndex
from decoder.pixels import Pixels
from decoder.pool import ReaderPool
from decoder.reader import FrameReader
from decoder.statistics import Statistics
from decoder.stock import Stock, StockStats

_DESKS = 4096
"""Sources whose requests are remembered to belong together."""

Lend = Callable[[ReaderPool, Source, int], AbstractContextManager[FrameReader]]
"""Lends a reader of a source, best one that is close before the frame."""


@dataclass(frozen=True, slots=True)
class DeskLoad:
    """What is going on at all desks, and what has been done.

    Attributes:
        decoding: errands that threads take turns at (see `decoder.crew`),
        waiting: that wait to be begun,
        resting: that have done what is due, and may have more to do.
        idle: readers that are open for later.
        stock: frames that nobody has asked for yet.
        tally: see there.
    """

    decoding: int
    waiting: int
    resting: int
    idle: int
    stock: StockStats
    tally: Tally


class Desks:
    """Hands out frames of any source. Thread safe; of use in the process that made it.

    Args:
        pool: the readers; closed with this.
        readers: how many of them there may be, 2 at least.
        lend: takes one for a source.
        statistics: learns what decoding costs.
        stock: bytes for decoded frames that nobody has asked for yet.
        deadline: seconds after which a request whose frame is not there ends.

    Attributes:
        process: that made it.
    """

    def __init__(
        self,
        pool: ReaderPool,
        readers: int,
        lend: Lend,
        statistics: Statistics,
        *,
        stock: int,
        deadline: float,
    ) -> None:
        self.process = os.getpid()
        self._pool = pool
        self._lend = lend
        self._statistics = statistics
        self._deadline = deadline
        cores = os.cpu_count() or 1
        # What has been begun has a reader, at work or resting.
        self._crew = Crew(min(cores, readers), readers)
        self._parallel = max(2, cores)
        self._most = max(1, readers // 2)
        self._stock = Stock(stock)
        self._foresight = Foresight()
        self._tally = Tally()
        self._lock = threading.Lock()
        self._desks: LRUCache[Source, Desk] = LRUCache(_DESKS)
        self._alive: weakref.WeakSet[Desk] = weakref.WeakSet()  # and those that somebody waits at

    def announce(self, source: Source, frame: int, process: int) -> Outlook:
        """A process is about to ask for a frame, or would if it did not have it already."""
        outlook = self._foresight.ask(source, frame, process)
        if outlook.left is not None:
            with self._lock:
                left = self._desks.get(outlook.left)
            if left is not None:
                left.leave(process)
        return outlook

    def frame(self, source: Source, index: SourceIndex, frame: int, outlook: Outlook) -> Pixels:
        """A frame that the index has. Raises as `decoder.desk.Desk.frame`."""
        desk = self._desk(source, index)
        outlook = self._bounded(outlook, index)
        return desk.frame(frame, outlook, index.frame_count, self._deadline)

    def forget(self, source: Source) -> None:
        """Keeps nothing of ``source`` any longer: its index has changed."""
        with self._lock:
            desk = self._desks.pop(source, None)
        if desk is not None:
            desk.retire()  # what it has begun goes on for those who wait
        self._stock.forget(source)

    @property
    def load(self) -> DeskLoad:
        """What is going on now."""
        return DeskLoad(*self._crew.load, self._pool.idle, self._stock.stats, self._tally.copy())

    def close(self) -> None:
        """Gives up what is going on, with `Stopped`, and closes the readers."""
        self._pool.close()
        self._crew.close()
        with self._lock:
            desks = list(self._alive)
        for desk in desks:
            desk.close()

    def _bounded(self, outlook: Outlook, index: SourceIndex) -> Outlook:
        """``outlook`` as far as there is room for its frames beside others that were foretold."""
        room = max(0, self._stock.budget // 2 - self._stock.foretold) // _bytes(index)
        if outlook.ahead <= room:
            return outlook
        return replace(outlook, ahead=room, length=0)

    def _desk(self, source: Source, index: SourceIndex) -> Desk:
        with self._lock:
            desk = self._desks.get(source)
            if desk is not None and index.feed is None and not desk.is_retired:
                # Who comes with the new index may be here before `forget` is, or it was another
                # process that made it.
                desk.retire()
                self._stock.forget(source)
                desk = None
            if desk is None:
                desk = self._desks[source] = Desk(
                    source,
                    partial(self._lend, self._pool, source),
                    self._pool.write_off,
                    self._stock,
                    self._crew,
                    self._parallel,
                    self._most,
                    None if index.feed is None else partial(_is_anchor, index),
                    self._tally,
                    self._statistics,
                    _bytes(index),
                )
                self._alive.add(desk)
            return desk


def _bytes(index: SourceIndex) -> int:
    """What a decoded frame takes, about: most have 1.5 to 2 bytes for each pixel."""
    height, width = index.shape(0)
    return max(1, 2 * height * width)


def _is_anchor(index: SourceIndex, n: int) -> bool:
    """Whether other pictures read the one of frame ``n``."""
    assert index.feed is not None
    graph = index.feed.graph
    picture = graph.packet_pictures[index.frames.packet[n]]
    return bool(graph.traits[picture] & REFERENCE)
