"""Open readers, so many and no more, lent to one thread at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import partial

from decoder.checked import KeyTrust
from decoder.corpus import Source
from decoder.errors import Stopped
from decoder.index import SourceIndex
from decoder.reader import FrameReader
from decoder.walking import Verify


class ReaderPool:
    """Lends readers of any source; keeps them open in between, at most ``limit`` at once.

    A reader is one open file and one codec context, and one thread uses it at a time. ``demote``
    makes an index by decoding for a source whose plans fail, given the reason. ``rotate`` and
    ``verify`` are passed on to readers. Nothing is lent once ``stop`` is set, and what is out gives
    up.
    """

    def __init__(
        self,
        limit: int,
        demote: Callable[[Source, str], SourceIndex] | None = None,
        *,
        rotate: bool = True,
        stop: threading.Event | None = None,
        verify: Verify = "never",
    ) -> None:
        self._verify: Verify = verify
        self._stop = stop or threading.Event()
        self._limit = limit
        self._demote = demote
        self._rotate = rotate
        self._idle: list[FrameReader] = []  # least recently used first
        self._lent: list[FrameReader] = []
        self._closing: list[FrameReader] = []  # for the sake of one that is lent, not yet open
        self._returned = threading.Condition()

    @contextlib.contextmanager
    def reader(
        self, source: Source, index: SourceIndex, trust: KeyTrust | None, frame: int
    ) -> Iterator[FrameReader]:
        """A reader of ``source``, best the one that is closest before ``frame``."""
        reader, surplus = self._lend(source, index, trust, frame)
        if surplus is not None:
            surplus.close()
            with self._returned:
                self._closing.remove(surplus)
                self._returned.notify_all()
        sound = False
        try:
            yield reader
            sound = True
        finally:
            with self._returned:
                keep = sound and reader in self._lent and not self._stop.is_set()
                if reader in self._lent:
                    self._lent.remove(reader)
                if keep:
                    self._idle.append(reader)
                self._returned.notify_all()
            if not keep:
                reader.close()

    def _lend(
        self, source: Source, index: SourceIndex, trust: KeyTrust | None, frame: int
    ) -> tuple[FrameReader, FrameReader | None]:
        """A reader to lend, and one to close for it where there are as many as may be."""
        with self._returned:
            while not self._stop.is_set():
                # Once a plan has failed, frames may have other numbers than before.
                idle = [
                    reader
                    for reader in self._idle
                    if reader.source == source
                    and (reader.index.feed is None or index.feed is not None)
                ]
                before = [reader for reader in idle if reader.distance(frame) >= 0]
                chosen = None
                if before:
                    chosen = min(before, key=lambda reader: reader.distance(frame))
                elif idle:
                    chosen = idle[0]
                elif len(self._lent) + len(self._closing) < self._limit:
                    full = len(self._lent) + len(self._idle) == self._limit
                    surplus = self._idle.pop(0) if full else None
                    if surplus is not None:
                        self._closing.append(surplus)
                    made = FrameReader(
                        source,
                        index=index,
                        rotate=self._rotate,
                        trust=trust,
                        stop=self._stop,
                        verify=self._verify,
                        reindex=partial(self._demote, source) if self._demote else None,
                    )
                    self._lent.append(made)
                    return made, surplus
                if chosen is not None:
                    self._idle.remove(chosen)
                    self._lent.append(chosen)
                    return chosen, None
                self._returned.wait()
        raise Stopped(f"{source.path}: not read, decoding is being shut down")

    def write_off(self, reader: FrameReader) -> None:
        """Counts a lent reader no longer: who has it is stuck. It is closed if it comes back."""
        with self._returned:
            if reader in self._lent:
                self._lent.remove(reader)
                self._returned.notify_all()

    @property
    def idle(self) -> int:
        """How many readers are open and not lent."""
        with self._returned:
            return len(self._idle)

    def close(self) -> None:
        """Sets ``stop``, and closes the readers: those that are lent when they come back."""
        self._stop.set()
        with self._returned:
            idle, self._idle = self._idle, []
            self._returned.notify_all()
        for reader in idle:
            reader.close()
