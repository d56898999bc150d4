"""Frames by number, the conservative way: right for any stream, since each is checked."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence

import av
import numpy as np
from numpy.typing import NDArray

from decoder.corpus import Source
from decoder.counters import Counters
from decoder.errors import DecodeFailed
from decoder.index import KEY, NO_PACKET, SourceIndex
from decoder.media import check_unchanged
from decoder.pixels import Pixels
from decoder.session import Session

_NEAR = 16
"""Packets decoded through rather than sought past: a seek and a flush cost about as much."""

_HERE = -1
"""In place of a packet to start from: where the decoder is."""

_TRIES = 3
"""Key packets tried for one frame before the start of the file: where three were wrong the
container's key flags mean nothing, and each try costs a decode."""


class KeyTrust:
    """Which packets are known to be, or not to be, places where decoding may start.

    Shared by the readers of one index; grows as frames are checked against their hashes.
    """

    def __init__(self, index: SourceIndex) -> None:
        keys = np.flatnonzero(index.packets.flags & KEY)
        self._keys = keys[keys > 0]
        self._first_frame = _first_frames(index, self._keys)
        self._bad: set[int] = set()

    def before(self, frame: int, packet: int) -> Iterator[int]:
        """Packets to start from for ``frame``, which is in ``packet``: nearest first, 0 last.

        Leading pictures are shown before the key packet that they follow in decode order and may
        need what came before it, so that only keys shown no later than the frame are named.
        """
        tries = 0
        for place in range(int(np.searchsorted(self._keys, packet, side="right")) - 1, -1, -1):
            key = int(self._keys[place])
            if key in self._bad or int(self._first_frame[place]) > frame:
                continue
            if tries == _TRIES:
                break
            tries += 1
            yield key
        yield 0

    def reject(self, key: int) -> None:
        """Decoding from ``key`` gave another picture than decoding from the start."""
        self._bad.add(key)


def _first_frames(index: SourceIndex, keys: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each key packet the frame it shows, or the first one of a later packet if it shows none.

    All at once: where every packet is a key one there are as many keys as frames.
    """
    order = np.argsort(index.frames.packet, kind="stable")
    packets = index.frames.packet[order]
    # The first frame of this or a later packet, for each place in the order and behind its end.
    earliest = np.append(order, index.frame_count)
    earliest = np.minimum.accumulate(earliest[::-1])[::-1]
    places = np.searchsorted(packets, keys)
    own = np.append(packets, NO_PACKET)[places] == keys
    return np.where(own, np.append(order, 0)[places], earliest[places])


class CheckedReader:
    """Decodes forward from a key packet, and compares every frame with the hash in the index.

    Where it differs decoding is begun again at an earlier key packet, at last at the start of the
    file; a frame that cannot be reproduced is an error, never a picture.

    Args:
        source, index: the file and the index of this very version, made by `decoder.scan.scan`.
        trust: shared by readers of the same index.
        counters: counted up as work is done.
        rotate: as when the index was made.
        stop: ends the work, with `Stopped`, when set.
    """

    def __init__(
        self,
        source: Source,
        index: SourceIndex,
        trust: KeyTrust,
        counters: Counters,
        *,
        rotate: bool,
        stop: threading.Event | None,
    ) -> None:
        self.source = source
        self.index = index
        self.stats = counters
        self._trust = trust
        self._rotate = rotate
        packets = index.frames.packet
        self._order = np.argsort(packets, kind="stable")
        self._sorted = packets[self._order]
        self._session = Session(source, index, counters, stop)
        self._start: int | None = None
        self._ready: deque[av.VideoFrame] = deque()
        self._passed = -1

    def frames(
        self, wanted: Sequence[int], *, by_products: bool = False
    ) -> Iterator[tuple[int, Pixels]]:
        """(number, pixels) of each frame in ``wanted``, which ascends; there are no by-products.

        Raises:
            DecodeFailed: a frame cannot be reproduced.
            SourceNotFound, SourceChanged, SourceUnreadable, Stopped: see `decoder.media.Media`.
        """
        for n in wanted:
            self.stats.conservative += 1
            yield n, self._find(n)

    def onward(self, n: int) -> Iterator[tuple[int, Pixels]]:
        """Frame ``n`` and all behind it, in order. Raises as `frames`."""
        return self.frames(range(n, self.index.frame_count))

    def distance(self, n: int) -> int:
        """Packets to decode until frame ``n`` comes out, if it can be had by going on; else -1."""
        if self._start is None or n <= self._passed:
            return -1
        return max(0, int(self.index.frames.packet[n]) - self._session.position)

    def close(self) -> None:
        """Closes the file."""
        self._abandon()

    def _find(self, n: int) -> Pixels:
        packet = int(self.index.frames.packet[n])
        starts = list(self._trust.before(n, packet)) if packet != NO_PACKET else [0]
        wrong: list[int] = []
        if self.distance(n) >= 0 and starts[0] - self._session.position <= _NEAR:
            starts.insert(0, _HERE)
        for start in starts:
            pixels = self._from(start, n, wrong)
            if pixels is not None:
                # Only now is it certain that it was for where they started, not for the frame.
                for key in wrong:
                    self._trust.reject(key)
                return pixels
        check_unchanged(self.source)
        raise DecodeFailed(
            f"{self.source.path}: frame {n} cannot be reproduced: even decoding from the start "
            "gives other pixels than when it was indexed (a damaged stream); re-encode the file"
        )

    def _from(self, start: int, n: int, wrong: list[int]) -> Pixels | None:
        """Frame ``n`` by decoding from packet ``start``, or by going on (`_HERE`).

        None where it does not come out, or not as it should be; the packet where decoding began is
        then appended to ``wrong``. None too where the packets read are not those of the index, as
        long as there is another way to try.
        """
        try:
            if start != _HERE:
                self._begin(start)
            try:
                pixels = self._go_on(n)
            except DecodeFailed:
                if start == _HERE or not self._session.distrust_seeks():
                    raise
                self._begin(start)
                pixels = self._go_on(n)
        except DecodeFailed:
            self._session.distrust_seeks()
            self._abandon()
            if start == 0:
                raise
            return None
        except BaseException:
            self._abandon()
            raise
        if pixels is None:
            self.stats.rejected += 1
            if self._start:
                wrong.append(self._start)
            self._start = None
        return pixels

    def _begin(self, start: int) -> None:
        self._session.start(start)
        self._start = start
        self._passed = -1
        self._ready.clear()

    def _abandon(self) -> None:
        """Forgets a decode whose place in the file is not known any more."""
        self._session.close()
        self._start = None
        self._ready.clear()

    def _go_on(self, n: int) -> Pixels | None:
        """Decodes until frame ``n`` comes out; None where it does not, or not as it should be."""
        frame: av.VideoFrame | None
        while True:
            while self._ready:
                frame = self._ready.popleft()
                which = self._identify(frame, n)
                if which is None:
                    continue
                self._passed = which
                if which >= n:
                    return self._as_indexed(frame, n) if which == n else None
            if self._session.ended:
                return None
            # Let go before decoding on, as the scan does. What a damaged picture leaves unwritten
            # is what its buffer held before, and which one that is depends on what is in use.
            frame = None
            self._ready.extend(self._session.feed())

    def _as_indexed(self, frame: av.VideoFrame, n: int) -> Pixels | None:
        pixels = Pixels(frame, rotate=self._rotate)
        same = (
            pixels.hash == int(self.index.frames.hash[n])
            # How it is to be turned may have been said in a packet before the start.
            and pixels.geometry == self.index.geometry(n)
        )
        return pixels if same else None

    def _identify(self, frame: av.VideoFrame, n: int) -> int | None:
        """Which frame of the index this one claims to be; None where it is none of them."""
        if frame.pts is None or not 0 <= frame.pts < self._session.position:
            same = Pixels(frame).hash == int(self.index.frames.hash[n])
            return n if same else None
        first, last = np.searchsorted(self._sorted, [frame.pts, frame.pts + 1])
        # Two frames of one packet come out one after the other.
        return next((int(k) for k in self._order[first:last] if k > self._passed), None)
