"""Frames by number, sparsely: plans for requests that jump, a walk for readers going forward."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal

import av
import numpy as np

from decoder.closure import closure
from decoder.corpus import Source
from decoder.counters import Counters
from decoder.feed import FeedTable
from decoder.index import NO_PACKET, SourceIndex
from decoder.media import check_unchanged
from decoder.pixels import Pixels
from decoder.plan import Run, plan, walk
from decoder.sparse import Alarm, SparseDecoder

Verify = Literal["never", "sample", "always"]
"""Which frames are compared with their hash."""

_SAMPLE = 64
"""One frame in so many is compared where a sample is."""

_STEP = 8
"""Frames that a step forward may skip and still be part of a walk."""

_STEPS = 2
"""Steps forward after which a reader is taken to be walking."""

_CHUNK = 64
"""Frames of a plan where a stream cannot be walked through."""

_FAR = 16
"""Pictures of a closure that is all there is since its start, above which a reader walks at once:
should it go on from there the way is not gone again, should it not a decoder is opened anew."""


class SparseReader:
    """Decodes the closure of what is asked for.

    Frames asked for one by one, going forward, share most of their closures: after a few steps all
    pictures are decoded in order instead, as long as the reader keeps walking, or going on decodes
    no more than a plan.

    Args:
        source, index, feed: the file and the index of this very version.
        counters: counted up as work is done.
        rotate: as when the index was made.
        stop: ends the work, with `Stopped`, when set.
        verify: which frames are compared with their hash in the index, where it has hashes.
    """

    def __init__(
        self,
        source: Source,
        index: SourceIndex,
        feed: FeedTable,
        counters: Counters,
        *,
        rotate: bool,
        stop: threading.Event | None,
        verify: Verify = "never",
    ) -> None:
        self._source = source
        self._counters = counters
        self._graph = feed.graph
        self._rotate = rotate
        self._decoder = SparseDecoder(source, index, feed, counters, stop)
        # Both directions between frames and pictures; what is not shown has no frame.
        self._pictures = feed.graph.packet_pictures[index.frames.packet]
        self._frames = np.full(len(feed.graph), NO_PACKET, np.int32)
        self._frames[self._pictures] = np.arange(index.frame_count, dtype=np.int32)
        self._geometry = index.geometry
        self._hashes = index.frames.hash
        self._every = {"never": 0, "sample": _SAMPLE, "always": 1}[verify]
        if len(self._hashes) != index.frame_count:
            self._every = 0
        self._read = 0
        self._walk: Iterator[tuple[int, av.VideoFrame]] | None = None
        self._passed = -1
        self._ends = -1
        self._final = -1
        self._last = -1
        self._steps = 0

    def frames(
        self, wanted: Sequence[int], *, by_products: bool = False
    ) -> Iterator[tuple[int, Pixels]]:
        """(number, pixels) of each frame in ``wanted``, which ascends; in no particular order.

        With ``by_products`` other frames that are reconstructed on the way are given, too, and
        nothing is decoded for the sake of later requests. Whoever hands these frames on sees to it
        that the file is unchanged then; what they are worth is only known at the end.

        Raises:
            Alarm: see `decoder.sparse.SparseDecoder.run`; or a frame has not the size and format,
                or not the hash, of the index.
            DecodeFailed, SourceNotFound, SourceChanged, SourceUnreadable, Stopped: see there.
        """
        if not by_products and len(wanted) == 1 and self._walks_to(wanted[0]):
            yield wanted[0], self._checked(wanted[0], self._go_on(wanted[0]))
            return
        self._stop_walking()
        began = time.perf_counter()
        runs = plan(self._graph, self._pictures[list(wanted)].tolist()).runs
        self._counters.plan_seconds += time.perf_counter() - began
        for run in runs:
            if run.conservative is not None:
                raise Alarm(run.conservative)
            for picture, frame in self._decoder.run(run, by_products=by_products):
                n = int(self._frames[picture])
                if n >= 0:
                    yield n, self._checked(n, frame, unchanged=by_products)
                del frame
            if by_products:
                check_unchanged(self._source)

    def onward(self, n: int) -> Iterator[tuple[int, Pixels]]:
        """Frame ``n`` and all behind it, in order; each picture is reconstructed once at most.

        What is asked for in between has it end. Raises as `frames`.
        """
        count = len(self._pictures)
        while n < count:
            self._stop_walking()
            later = self._pictures[n:]
            run = walk(self._graph, int(later[0]), later)
            if run is None:
                ahead = range(n, min(n + _CHUNK, count))
                yield from self.frames(ahead)
                n = ahead.stop
                continue
            self._begin(run, n)
            while n < self._ends:
                yield n, self._checked(n, self._go_on(n))
                n += 1

    def distance(self, n: int) -> int:
        """Pictures to decode until frame ``n`` comes out, if a walk leads there; else -1."""
        if self._walk is None or not self._passed < n < self._ends:
            return -1
        return n - self._passed

    def close(self) -> None:
        """Closes the file."""
        self._stop_walking()
        self._decoder.close()

    def _checked(self, n: int, frame: av.VideoFrame, *, unchanged: bool = False) -> Pixels:
        if not unchanged:
            # Its packets were read as they lay: a file that is written over gives other pictures.
            check_unchanged(self._source)
        pixels = Pixels(frame, rotate=self._rotate)
        if pixels.geometry != self._geometry(n):
            raise Alarm(f"frame {n} is {pixels.geometry}, not {self._geometry(n)}")
        if self._every:
            if self._read % self._every == 0 and pixels.hash != int(self._hashes[n]):
                raise Alarm(f"frame {n} has other pixels than in a full decode")
            self._read += 1
        return pixels

    def _walks_to(self, n: int) -> bool:
        """Whether frame ``n`` is to be had by walking; begins a walk where that is worth it."""
        step = n - self._last
        self._steps = self._steps + 1 if 0 < step <= _STEP else 0
        self._last = n
        distance = self.distance(n)
        if 0 < distance <= _STEP:
            return True
        picture = int(self._pictures[n])
        needed = closure(self._graph, (picture,))
        if 0 < distance <= len(needed):
            return True
        everything = len(needed) == picture - min(needed) + 1
        if self._steps < _STEPS and not (everything and len(needed) > _FAR):
            return False
        self._stop_walking()
        run = walk(self._graph, picture)
        if run is None:
            return False
        self._begin(run, n)
        return True

    def _begin(self, run: Run, n: int) -> None:
        shown = np.sort(self._frames[list(run.targets)])
        shown = shown[shown >= 0]
        # As far as no frame is missing: what reads something before the start is left out.
        gaps = np.flatnonzero(np.diff(shown) > 1)
        place = int(np.searchsorted(shown[gaps], n))
        first = int(gaps[place - 1]) + 1 if place else 0
        last = int(gaps[place]) if place < len(gaps) else len(shown) - 1
        self._passed = int(shown[first]) - 1
        self._ends = int(shown[last]) + 1
        self._final = int(shown[-1])
        self._walk = self._decoder.run(run)

    def _go_on(self, n: int) -> av.VideoFrame:
        assert self._walk is not None
        for picture, frame in self._walk:
            self._passed = int(self._frames[picture])
            if self._passed == n:
                if n == self._final:
                    # A run that comes to its end leaves a decoder that can be used again.
                    deque(self._walk, maxlen=0)
                    self._walk = None
                return frame
        raise Alarm(f"frame {n} did not come out of the decoder")

    def _stop_walking(self) -> None:
        if self._walk is not None:
            self._walk.close()  # type: ignore[attr-defined]
            self._walk = None
