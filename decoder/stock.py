"""Decoded frames that somebody may ask for, in bounded memory.

What has been asked for is not here: whoever asked has it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from enum import IntEnum

from decoder.corpus import Source
from decoder.pixels import Pixels

_Shelf = OrderedDict[tuple[Source, int], Pixels]


class Worth(IntEnum):
    """Why a frame is kept; what is worth least goes first."""

    BY_PRODUCT = 0
    """It was reconstructed on the way to another; no picture reads it."""
    ANCHOR = 1
    """The same, and pictures read it: what is near it will be asked for with it again."""
    FORETOLD = 2
    """Somebody is about to ask for it."""


@dataclass(frozen=True, slots=True)
class StockStats:
    """What a stock did so far, and what it holds.

    Attributes:
        hits: frames found, by why they were kept.
        evicted: frames that made room for others.
        entries, size: held now; ``size`` in bytes.
    """

    hits: dict[str, int]
    evicted: int
    entries: int
    size: int


class Stock:
    """Frames of any source, with their native planes, up to ``budget`` bytes. Thread safe.

    A frame takes the place of what is worth no more, the oldest first, and of nothing else.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._lock = threading.Lock()
        self._shelves: list[_Shelf] = [OrderedDict() for _ in Worth]
        self._sizes = dict.fromkeys(Worth, 0)
        self._hits = dict.fromkeys(Worth, 0)
        self._evicted = 0
        self._promised = 0

    def take(self, source: Source, frame: int) -> Pixels | None:
        """The frame, if it is here, which it no longer is."""
        key = source, frame
        with self._lock:
            for worth in reversed(Worth):
                pixels = self._remove(worth, key)
                if pixels is not None:
                    self._hits[worth] += 1
                    return pixels
        return None

    def put(self, source: Source, frame: int, pixels: Pixels, worth: Worth) -> None:
        """Keeps a frame, if there is room for it."""
        key = source, frame
        size = pixels.nbytes
        with self._lock:
            for shelf in self._shelves[worth:]:
                if key in shelf:
                    return
            for lower in list(Worth)[:worth]:
                self._remove(lower, key)
            if self._make_room(size, worth):
                self._shelves[worth][key] = pixels
                self._sizes[worth] += size

    @property
    def foretold(self) -> int:
        """Bytes of frames that somebody is about to ask for, those yet to be decoded included."""
        return self._sizes[Worth.FORETOLD] + self._promised

    def promise(self, size: int) -> None:
        """So many bytes more of such frames will be decoded; or, below 0, so many fewer."""
        with self._lock:
            self._promised += size

    def forget(self, source: Source) -> None:
        """Keeps nothing of ``source`` any longer."""
        with self._lock:
            for worth in Worth:
                shelf = self._shelves[worth]
                for key in [key for key in shelf if key[0] == source]:
                    self._remove(worth, key)

    @property
    def stats(self) -> StockStats:
        """Counters, and what is held now."""
        with self._lock:
            return StockStats(
                hits={worth.name.lower(): count for worth, count in self._hits.items()},
                evicted=self._evicted,
                entries=sum(map(len, self._shelves)),
                size=sum(self._sizes.values()),
            )

    def _make_room(self, size: int, worth: Worth) -> bool:
        """Whether ``size`` bytes fit, after what is worth no more has gone, oldest first."""
        for place in Worth:
            if place > worth:
                break
            shelf = self._shelves[place]
            while shelf and sum(self._sizes.values()) + size > self.budget:
                self._evicted += 1
                self._remove(place, next(iter(shelf)))
        return sum(self._sizes.values()) + size <= self.budget

    def _remove(self, worth: Worth, key: tuple[Source, int]) -> Pixels | None:
        pixels = self._shelves[worth].pop(key, None)
        if pixels is not None:
            self._sizes[worth] -= pixels.nbytes
        return pixels
