"""A cache bounded in bytes, in which many askers of one thing make it once."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache did so far, and what it holds.

    Attributes:
        hits: found.
        misses: made.
        joined: waited for another asker's making.
        evicted: pushed out by others.
        oversized: made, but larger than the whole budget.
        entries, size: held now; ``size`` in bytes.
    """

    hits: int
    misses: int
    joined: int
    evicted: int
    oversized: int
    entries: int
    size: int


class ByteCache(Generic[K, V]):
    """Least recently used things up to ``budget`` bytes. Thread safe.

    A failure to make one is raised to all that waited for it and is not kept: the next asker
    tries again. A thing larger than the budget is returned and not kept.
    """

    def __init__(self, budget: int, size_of: Callable[[V], int]) -> None:
        self._own_budget = self._budget = budget
        self._size_of = size_of
        self._lock = threading.Lock()
        # cachetools refuses what exceeds its bound, and cannot change it: the bound is kept here.
        self._held: LRUCache[K, V] = LRUCache(math.inf, getsizeof=size_of)
        self._making: dict[K, Future[V]] = {}
        self._hits = self._misses = self._joined = self._evicted = self._oversized = 0

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The thing of this key; ``make`` is called, without any lock held, if it is not here."""
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._hits += 1
                return held
            future = self._making.get(key)
            if future is None:
                mine: Future[V] = Future()
                self._making[key] = mine
                self._misses += 1
            else:
                self._joined += 1
        if future is not None:
            return future.result()
        try:
            made = make()
        except BaseException as error:
            with self._lock:
                del self._making[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._making[key]
            self._keep(key, made)
        mine.set_result(made)
        return made

    def discard(self, key: K) -> None:
        """Holds this thing no longer."""
        with self._lock:
            self._held.pop(key, None)

    def reserve(self, budget: int) -> None:
        """Has a budget of ``budget`` bytes from now on, or its own where that is more."""
        with self._lock:
            self._budget = max(self._own_budget, budget)
            self._evict()

    @property
    def stats(self) -> CacheStats:
        """Counters, and what is held now."""
        with self._lock:
            return CacheStats(
                hits=self._hits,
                misses=self._misses,
                joined=self._joined,
                evicted=self._evicted,
                oversized=self._oversized,
                entries=len(self._held),
                size=int(self._held.currsize),
            )

    def _keep(self, key: K, value: V) -> None:
        if self._size_of(value) > self._budget:
            self._oversized += 1
            return
        self._held[key] = value
        self._evict()

    def _evict(self) -> None:
        while self._held.currsize > self._budget:
            self._held.popitem()
            self._evicted += 1
