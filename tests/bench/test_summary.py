from __future__ import annotations

import pytest

from bench.measure import Sample
from bench.summary import MEAN, summarize


def samples(
    peer: str,
    pattern: str,
    times: list[list[float]],
    clip: str = "clip",
    counts: dict[str, int] | None = None,
) -> list[Sample]:
    """By batch, then by repeat; the processor's time is half of the clock's."""
    return [
        Sample(peer, clip, pattern, batch, repeat, ms, ms / 2, counts or {})
        for batch, repeats in enumerate(times)
        for repeat, ms in enumerate(repeats)
    ]


def test_a_batch_counts_with_the_median_of_its_repeats() -> None:
    figures = summarize(samples("a", "random", [[1, 100, 3], [5, 5, 5]]), "a").figures
    assert figures["random"]["a"].ms == (3 + 5) / 2
    assert figures["random"]["a"].cpu_ms == (3 + 5) / 4


def test_the_range_is_that_of_the_passes() -> None:
    figures = summarize(samples("a", "random", [[1, 100, 3], [5, 6, 5]]), "a").figures
    assert figures["random"]["a"].ms_range == (3, 53)


def test_ratios_are_to_the_subject_and_paired_by_pass() -> None:
    subject = samples("a", "random", [[10, 20, 10]])
    peer = samples("b", "random", [[20, 40, 30]])
    figure = summarize(subject + peer, "a").figures["random"]["b"]
    assert figure.ratio == 3
    assert figure.ratio_range == (2, 3)
    assert figure.cpu_ratio == 3
    assert summarize(subject + peer, "a").figures["random"]["a"].ratio == 1


def test_ratios_take_only_batches_that_both_have_read() -> None:
    subject = samples("a", "random", [[10], [1000]])
    peer = samples("b", "random", [[15]])
    figure = summarize(subject + peer, "a").figures["random"]["b"]
    assert figure.ratio == 1.5


def test_the_mean_gives_each_pattern_the_same_weight() -> None:
    subject = samples("a", "contiguous", [[10], [10], [10]]) + samples("a", "random", [[30]])
    peer = samples("b", "contiguous", [[10], [10], [10]]) + samples("b", "random", [[70]])
    summary = summarize(subject + peer, "a")
    assert summary.figures[MEAN]["a"].ms == 20
    assert summary.figures[MEAN]["b"].ms == 40
    assert summary.figures[MEAN]["b"].ratio == 2
    assert summary.geometric_mean["b"] == pytest.approx((7 / 3) ** 0.5)


def test_the_mean_by_clip_gives_each_clip_the_same_weight() -> None:
    subject = samples("a", "random", [[10]], "quick") + samples("a", "random", [[1000]], "slow")
    peer = samples("b", "random", [[30]], "quick") + samples("b", "random", [[1000]], "slow")
    summary = summarize(subject + peer, "a")
    assert summary.mean_by_clip["b"] == (2, 2)
    assert summary.figures["random"]["b"].ratio == pytest.approx(1030 / 1010)


def test_clips_are_averaged() -> None:
    both = samples("a", "random", [[1]], "one") + samples("a", "random", [[3]], "two")
    assert summarize(both, "a").figures["random"]["a"].ms == 2


def test_without_the_subject_there_are_no_ratios() -> None:
    summary = summarize(samples("b", "random", [[1]]), "a")
    assert summary.figures["random"]["b"].ratio is None
    assert summary.geometric_mean == {}


def test_pictures_are_counted_where_the_peer_tells() -> None:
    told = samples("a", "random", [[1, 1], [1, 1]], counts={"reconstructed": 7, "state_only": 3})
    figures = summarize(told + samples("b", "random", [[1, 1]]), "a").figures["random"]
    assert (figures["a"].reconstructed, figures["a"].state_only) == (7, 3)
    assert (figures["b"].reconstructed, figures["b"].state_only) == (None, None)
