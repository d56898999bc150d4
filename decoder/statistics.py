"""What decoding does for all who read: counted while it is done, told as frozen values.

Whoever works counts for itself (`decoder.counters`); what a request has cost is added up here once,
when it ends. Durations go into histograms of fixed size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from operator import add, attrgetter, sub

from decoder.corpus import Source
from decoder.counters import Counters
from decoder.forking import fork_lock

STAGES = ("wait", "index", "open", "plan", "read", "decode", "convert", "format")
"""What a request for a frame goes through: it waits for the frame; meanwhile an index is found or
made; a file and its decoder are opened; a plan is made, its packets read and decoded. Then colours
are converted, and a file is made of them. Stages of decoding count once for each frame that comes
out, or group of frames, that they took time of."""

_TIMED = ("open", "plan", "read", "decode")
"""Stages that counters have the seconds of, in their last fields and in this order."""

_PER_OCTAVE = 8
"""Buckets from one duration to its double: a percentile is off by 4.5 % at most."""

_LEAST = 1e-7
_LAST = 34 * _PER_OCTAVE - 1
"""Buckets lie between 0.1 us and half an hour; what is outside counts in the first or last."""

_SOURCES_KEPT = 1024
"""So many that took most time are remembered one by one, and at times twice as many."""

_NAMES = tuple(field.name for field in fields(Counters))
_values = attrgetter(*_NAMES)
_NOTHING = (0,) * len(_NAMES)


@dataclass(frozen=True, slots=True)
class Latency:
    """Durations in seconds.

    Attributes:
        count: how many.
        seconds: all of them together.
        p50, p90, p99: percentiles, within 4.5 %; 0 where there are none.
        max: the longest.
    """

    count: int = 0
    seconds: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    max: float = 0.0


class Histogram:
    """Durations in buckets of logarithmic width.

    Any thread may add. There is no lock, which would cost as much as all the rest: CPython passes
    from one thread to another at calls and jumps, and between reading and writing there is neither.
    """

    __slots__ = ("_buckets", "_longest", "_seconds")

    def __init__(self) -> None:
        self._buckets = [0] * (_LAST + 1)
        self._seconds = 0.0
        self._longest = 0.0

    def add(self, seconds: float) -> None:
        """One more duration."""
        place = int(_PER_OCTAVE * math.log2(seconds / _LEAST)) if seconds > _LEAST else 0
        if place > _LAST:
            place = _LAST
        self._buckets[place] += 1
        self._seconds += seconds
        if seconds > self._longest:
            self._longest = seconds

    @property
    def latency(self) -> Latency:
        """All durations so far."""
        buckets, seconds, longest = list(self._buckets), self._seconds, self._longest
        count = sum(buckets)
        if not count:
            return Latency()
        found = []
        for share in (0.5, 0.9, 0.99):
            below, place = 0, -1
            while below < share * count:
                place += 1
                below += buckets[place]
            middle = _LEAST * 2 ** ((place + 0.5) / _PER_OCTAVE)
            found.append(min(middle, longest))
        p50, p90, p99 = found
        return Latency(count, seconds, p50, p90, p99, longest)


@dataclass(frozen=True, slots=True)
class SourceWork:
    """What one source has cost. ``requests`` are for its frames; for the rest see `Counters`."""

    path: str
    requests: int
    reconstructed: int
    state_only: int
    bytes_read: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """What has been done so far.

    Attributes:
        requests: for frames, that have ended.
        failed: those of them that ended with an error.
        counters: of all readers together.
        stages: by the names in `STAGES`.
        sources: those that took most seconds, the first most.
    """

    requests: int
    failed: int
    counters: Counters
    stages: dict[str, Latency]
    sources: tuple[SourceWork, ...]


class Statistics:
    """Adds up what requests cost. Thread safe."""

    def __init__(self) -> None:
        self._lock = fork_lock()
        self._requests = 0
        self._failed = 0
        self._totals = _values(Counters())
        self._stages = {stage: Histogram() for stage in STAGES}
        self._sources: dict[str, tuple[float, ...]] = {}  # (requests, *counters) of each

    def request(self, source: Source, seconds: float, *, failed: bool = False) -> None:
        """A request for a frame has ended; it waited for so many ``seconds``."""
        self._stages["wait"].add(seconds)
        with self._lock:
            self._requests += 1
            self._failed += failed
            self._add(source.path, (1, *_NOTHING))

    def work_of(self, source: Source, counters: Counters) -> Meter:
        """Adds up what a reader with these counters does, each time that it is read."""
        return Meter(self, source.path, counters)

    def add(self, path: str, work: tuple[float, ...]) -> None:
        """A reader's counters grew by ``work`` in a step."""
        for stage, seconds in zip(_TIMED, work[-len(_TIMED) :], strict=True):
            if seconds:
                self._stages[stage].add(seconds)
        with self._lock:
            self._totals = tuple(map(add, self._totals, work))
            self._add(path, (0, *work))

    def _add(self, path: str, one: tuple[float, ...]) -> None:
        known = self._sources.get(path)
        self._sources[path] = tuple(map(add, known, one)) if known else one
        if len(self._sources) > 2 * _SOURCES_KEPT:
            ranked = sorted(self._sources.items(), key=lambda item: _spent(item[1]))
            self._sources = dict(ranked[_SOURCES_KEPT:])

    def stage(self, name: str, seconds: float) -> None:
        """A stage took so long that counters do not tell of."""
        self._stages[name].add(seconds)

    def work(self, sources: int = 10) -> Work:
        """What has been done so far; of so many sources one by one."""
        with self._lock:
            requests, failed, totals = self._requests, self._failed, self._totals
            each = list(self._sources.items())
        each.sort(key=lambda item: _spent(item[1]), reverse=True)
        return Work(
            requests,
            failed,
            _counters(totals),
            {name: histogram.latency for name, histogram in self._stages.items()},
            tuple(_source_work(path, known) for path, known in each[:sources]),
        )


class Meter:
    """What one reader does while it is lent."""

    __slots__ = ("_before", "_counters", "_path", "_statistics")

    def __init__(self, statistics: Statistics, path: str, counters: Counters) -> None:
        self._statistics = statistics
        self._path = path
        self._counters = counters
        self._before = _values(counters)

    def read(self) -> None:
        """Adds what has been done since the last time."""
        now = _values(self._counters)
        if now != self._before:
            self._statistics.add(self._path, tuple(map(sub, now, self._before)))
            self._before = now


def _spent(known: tuple[float, ...]) -> float:
    return sum(known[-len(_TIMED) :])


def _counters(values: tuple[float, ...]) -> Counters:
    return Counters(**dict(zip(_NAMES, values, strict=True)))  # type: ignore[arg-type]


def _source_work(path: str, known: tuple[float, ...]) -> SourceWork:
    one = _counters(known[1:])
    return SourceWork(
        path, int(known[0]), one.reconstructed, one.state_only, one.bytes_read, one.seconds
    )
