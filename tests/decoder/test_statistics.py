from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from decoder.corpus import Fingerprint, Source
from decoder.counters import Counters
from decoder.statistics import Histogram, Latency, Statistics


def source(name: str) -> Source:
    return Source(f"/corpus/{name}.mp4", Fingerprint(1, 1))


def count(statistics: Statistics, name: str, **work: float) -> None:
    """One request that costs so much."""
    counters = Counters(reconstructed=1000, decode_seconds=7.0)  # what other requests had cost
    meter = statistics.work_of(source(name), counters)
    for field, value in work.items():
        setattr(counters, field, getattr(counters, field) + value)
    meter.read()
    statistics.request(source(name), 0.001)


@pytest.mark.parametrize("seed", range(3))
def test_percentiles_are_those_of_the_durations(seed: int) -> None:
    durations = np.random.default_rng(seed).lognormal(-7, 2, 5000)
    histogram = Histogram()
    for seconds in durations:
        histogram.add(float(seconds))
    found = histogram.latency
    assert found.count == 5000
    assert found.seconds == pytest.approx(durations.sum())
    assert found.max == durations.max()
    for share, value in ((50, found.p50), (90, found.p90), (99, found.p99)):
        right = np.percentile(durations, share, method="inverted_cdf")
        assert value == pytest.approx(right, rel=0.046)


def test_no_durations_and_extreme_ones() -> None:
    histogram = Histogram()
    assert histogram.latency == Latency()
    for seconds in (0.0, 1e-12, -1e-9, 1e9):
        histogram.add(seconds)
    found = histogram.latency
    assert found.count == 4
    assert found.max == 1e9
    assert found.p50 < 1e-6


def test_a_request_counts_with_what_it_cost_alone() -> None:
    statistics = Statistics()
    count(statistics, "a", reconstructed=3, delivered=1, decode_seconds=0.25, bytes_read=10)
    count(statistics, "a", reconstructed=2, delivered=1, decode_seconds=0.5, plan_seconds=0.1)
    work = statistics.work()
    assert (work.requests, work.failed) == (2, 0)
    assert work.counters.reconstructed == 5
    assert work.counters.delivered == 2
    assert work.counters.bytes_read == 10
    assert work.counters.seconds == pytest.approx(0.85)
    assert work.stages["decode"].count == 2
    assert work.stages["decode"].max == 0.5
    assert work.stages["plan"].count == 1
    assert work.stages["wait"].count == 2
    assert work.stages["read"] == Latency()


def test_a_request_that_fails_counts_and_what_it_cost() -> None:
    statistics = Statistics()
    counters = Counters()
    meter = statistics.work_of(source("a"), counters)
    counters.reconstructed += 4
    meter.read()
    meter.read()
    statistics.request(source("a"), 0.5, failed=True)
    work = statistics.work()
    assert (work.requests, work.failed, work.counters.reconstructed) == (1, 1, 4)
    assert work.sources[0].requests == 1


def test_sources_that_cost_most_come_first() -> None:
    statistics = Statistics()
    for name, seconds in (("a", 0.1), ("b", 0.3), ("c", 0.2), ("b", 0.1)):
        count(statistics, name, decode_seconds=seconds, reconstructed=1, state_only=2)
    found = statistics.work(sources=2).sources
    assert [one.path for one in found] == ["/corpus/b.mp4", "/corpus/c.mp4"]
    assert (found[0].requests, found[0].reconstructed, found[0].state_only) == (2, 2, 4)
    assert found[0].seconds == pytest.approx(0.4)


def test_a_source_that_is_forgotten_stays_in_the_sum() -> None:
    statistics = Statistics()
    for n in range(3000):
        count(statistics, str(n), reconstructed=1)
    work = statistics.work(sources=5000)
    assert work.counters.reconstructed == work.requests == 3000
    assert len(work.sources) < 3000


def test_many_threads_lose_nothing() -> None:
    statistics = Statistics()
    with ThreadPoolExecutor(8) as pool:
        for n in range(4000):
            pool.submit(count, statistics, str(n % 3), reconstructed=2, read_seconds=1e-4)
    work = statistics.work()
    assert work.requests == work.stages["read"].count == work.stages["wait"].count == 4000
    assert work.counters.reconstructed == 8000
    assert sum(one.requests for one in work.sources) == 4000
