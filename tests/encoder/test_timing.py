from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder import spans
from encoder.timing import timing, told_rate

rates = st.sampled_from([Fraction(20), Fraction(30000, 1001), Fraction(25), Fraction(1000, 33)])


@st.composite
def shown(draw: st.DrawFn) -> list[Fraction]:
    """Times of frames, some of them equal, at any start."""
    base = draw(st.sampled_from([Fraction(1, 1000), Fraction(1, 90000), Fraction(1, 24)]))
    steps = draw(st.lists(st.integers(0, 50), min_size=0, max_size=60))
    times = [Fraction(draw(st.integers(0, 9)))]
    for step in steps:
        times.append(times[-1] + step * base)
    return times


@given(shown(), st.integers(2, 17))
def test_times_are_kept_and_pictures_are_decoded_in_order(
    times: list[Fraction], interval: int
) -> None:
    order = spans.decode_order(spans.evenly(len(times), interval, 40))
    when = timing(times, order, Fraction(1, 30))
    assert [Fraction(pts, when.timescale) for pts in when.pts] == times
    assert all(when.dts[n] <= when.pts[n] for n in order)
    assert all(when.dts[n] < when.dts[following] for n, following in pairwise(order))
    assert min(when.durations) > 0


@given(rates, st.integers(1, 90), st.integers(2, 17), st.integers(0, 3))
def test_at_an_even_rate_nothing_is_decoded_before_the_start_or_seems_to_be_shown_early(
    rate: Fraction, count: int, interval: int, start: int
) -> None:
    times = [start + n / rate for n in range(count)]
    anchors = spans.evenly(count, interval, 40)
    order = spans.decode_order(anchors)
    when = timing(times, order, 1 / rate)
    assert when.dts[0] == when.pts[0] >= 0
    for low, high in pairwise(anchors):
        if high > low + 1:
            assert when.pts[low] < when.dts[high] < when.pts[low + 1]
    last = order[-1]
    end = times[-1] + 1 / rate
    assert Fraction(when.dts[last] + when.durations[last], when.timescale) == pytest.approx(end)


def test_frames_shown_before_earlier_ones_are_refused_by_number() -> None:
    times = [Fraction(0), Fraction(2, 25), Fraction(1, 25)]
    with pytest.raises(ValueError, match="frame 2 is shown"):
        timing(times, [0, 1, 2], Fraction(1, 25))


def test_times_that_no_timescale_holds_are_refused() -> None:
    times = [Fraction(0), Fraction(1, 2**20 + 7), Fraction(2, 2**21 + 9)]
    with pytest.raises(ValueError, match="timescale"):
        timing(times, [0, 1, 2], Fraction(1, 25))


@pytest.mark.parametrize("rate", [Fraction(20), Fraction(30000, 1001), Fraction(120)])
def test_an_even_rate_is_told_as_it_is(rate: Fraction) -> None:
    exact = [3 + n / rate for n in range(50)]
    milliseconds = [Fraction(round(time * 1000), 1000) for time in exact]
    assert told_rate(exact, rate) == told_rate(milliseconds, rate) == rate


def test_the_rate_gives_each_frame_a_tick_of_its_own() -> None:
    """Frames 30 ms apart in a stream of 14 a second on average."""
    times = [Fraction(n, 14) for n in range(10)]
    times[5] = times[4] + Fraction(30, 1000)
    average = Fraction(14)
    assert told_rate(times, average) == Fraction(100, 3)
    assert told_rate(times[:3], average) == average


def test_a_rate_that_nobody_would_believe_is_not_told() -> None:
    average = Fraction(14)
    for step in (Fraction(0), Fraction(1, 500)):
        assert told_rate([Fraction(0), step, Fraction(1)], average) == average
    assert told_rate([Fraction(1)], average) == average
