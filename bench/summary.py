"""From samples to figures. Pure.

A batch counts with the median over its repeats, a pattern with the mean of its batches over all
clips, and the mean of the patterns gives each the same weight. The ratio of a peer is its time over
that of the subject, on the batches that both have read. The range of a figure is that of the
passes, each one repeat of all batches: what another run of one pass would have shown.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bench.measure import Sample
from bench.patterns import STRIDES

MEAN = "mean"
"""In place of a pattern: all of them."""

Key: TypeAlias = "tuple[str, int]"
"""A batch of some pattern: clip and number."""

Times: TypeAlias = "Mapping[str, Mapping[Key, Mapping[int, float]]]"
"""By pattern, batch and repeat."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One peer on one pattern.

    Attributes:
        ms, cpu_ms: of a batch, by the clock and of the processor; ``ms_range`` over the passes.
        reconstructed, state_only: pictures of a batch, None where the peer does not tell.
        ratio, cpu_ratio: time over that of the subject, above 1 where the peer is slower.
    """

    ms: float
    ms_range: tuple[float, float]
    cpu_ms: float
    ratio: float | None
    ratio_range: tuple[float, float] | None
    cpu_ratio: float | None
    reconstructed: float | None
    state_only: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """All figures: by pattern (and `MEAN`), then by peer.

    Attributes:
        geometric_mean: of the patterns' ratios.
        mean_by_clip: of the ratios of every clip in every pattern, so that clips that are slow to
            decode count no more than others; by the clock and by the processor's time.
    """

    figures: dict[str, dict[str, Figure]]
    geometric_mean: dict[str, float]
    mean_by_clip: dict[str, tuple[float, float]]


def summarize(samples: Sequence[Sample], subject: str) -> Summary:
    """The figures of all peers in ``samples``; ratios are to ``subject``."""
    peers = list(dict.fromkeys(s.peer for s in samples))
    used = {s.pattern for s in samples}
    patterns = [p for p in STRIDES if p in used]
    by_peer = {peer: [s for s in samples if s.peer == peer] for peer in peers}
    figures: dict[str, dict[str, Figure]] = {p: {} for p in [*patterns, MEAN]}
    for peer, own in by_peer.items():
        for pattern in patterns:
            here = [s for s in own if s.pattern == pattern]
            base = [s for s in by_peer.get(subject, []) if s.pattern == pattern]
            if here:
                figures[pattern][peer] = _figure(here, base)
        if own:
            figures[MEAN][peer] = _figure(own, by_peer.get(subject, []))
    by_clip = {peer: _by_clip(by_peer[peer], by_peer.get(subject, [])) for peer in peers}
    means = {peer: mean for peer, mean in by_clip.items() if mean is not None}
    return Summary(figures, _geometric(figures, patterns, peers), means)


def _by_clip(own: Sequence[Sample], base: Sequence[Sample]) -> tuple[float, float] | None:
    ratios = []
    for clip in {s.clip for s in own}:
        for pattern in {s.pattern for s in own}:
            here = [s for s in own if (s.clip, s.pattern) == (clip, pattern)]
            there = [s for s in base if (s.clip, s.pattern) == (clip, pattern)]
            clock, _ = _ratio(_times(here, lambda s: s.ms), _times(there, lambda s: s.ms))
            cpu, _ = _ratio(_times(here, lambda s: s.cpu_ms), _times(there, lambda s: s.cpu_ms))
            if clock is not None and cpu is not None:
                ratios.append((clock, cpu))
    if not ratios:
        return None
    return statistics.fmean(r for r, _ in ratios), statistics.fmean(r for _, r in ratios)


def _geometric(
    figures: Mapping[str, Mapping[str, Figure]], patterns: Iterable[str], peers: Iterable[str]
) -> dict[str, float]:
    found = {}
    for peer in peers:
        rows = [figures[p][peer].ratio for p in patterns if peer in figures[p]]
        ratios = [ratio for ratio in rows if ratio is not None]
        if ratios:
            found[peer] = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
    return found


def _figure(own: Sequence[Sample], base: Sequence[Sample]) -> Figure:
    ms = _times(own, lambda s: s.ms)
    cpu = _times(own, lambda s: s.cpu_ms)
    ratio, ratio_range = _ratio(ms, _times(base, lambda s: s.ms))
    cpu_ratio, _ = _ratio(cpu, _times(base, lambda s: s.cpu_ms))
    passes = _passes(ms)
    return Figure(
        ms=_mean(ms),
        ms_range=(min(passes.values()), max(passes.values())),
        cpu_ms=_mean(cpu),
        ratio=ratio,
        ratio_range=ratio_range,
        cpu_ratio=cpu_ratio,
        reconstructed=_count(own, "reconstructed"),
        state_only=_count(own, "state_only"),
    )


def _ratio(own: Times, base: Times) -> tuple[float | None, tuple[float, float] | None]:
    ours, theirs = _common(own, base), _common(base, own)
    if not ours:
        return None, None
    above, below = _passes(ours), _passes(theirs)
    each = [above[k] / below[k] for k in above if k in below]
    return _mean(ours) / _mean(theirs), (min(each), max(each))


def _times(samples: Iterable[Sample], of: Callable[[Sample], float]) -> Times:
    times: dict[str, dict[Key, dict[int, float]]] = {}
    for s in samples:
        batches = times.setdefault(s.pattern, {})
        batches.setdefault((s.clip, s.batch), {})[s.repeat] = of(s)
    return times


def _common(one: Times, other: Times) -> Times:
    """The readings in ``one`` of what was read in ``other`` as well."""
    found: dict[str, dict[Key, dict[int, float]]] = {}
    for pattern, batches in one.items():
        for key, repeats in batches.items():
            there = other.get(pattern, {}).get(key, {})
            both = {k: value for k, value in repeats.items() if k in there}
            if both:
                found.setdefault(pattern, {})[key] = both
    return found


def _mean(times: Times) -> float:
    return statistics.fmean(
        statistics.fmean(statistics.median(repeats.values()) for repeats in batches.values())
        for batches in times.values()
    )


def _passes(times: Times) -> dict[int, float]:
    """By repeat, the mean of the patterns' means."""
    rows: dict[int, dict[str, list[float]]] = {}
    for pattern, batches in times.items():
        for repeats in batches.values():
            for k, value in repeats.items():
                rows.setdefault(k, {}).setdefault(pattern, []).append(value)
    return {k: statistics.fmean(map(statistics.fmean, row.values())) for k, row in rows.items()}


def _count(samples: Iterable[Sample], name: str) -> float | None:
    counted = [s for s in samples if name in s.counts]
    return _mean(_times(counted, lambda s: s.counts[name])) if counted else None
