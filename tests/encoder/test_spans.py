from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder import spans

counts = st.integers(1, 400)
intervals = st.integers(2, 64)


@given(counts, intervals, st.integers(64, 300))
def test_every_segment_begins_and_ends_with_an_anchor(
    count: int, interval: int, least: int
) -> None:
    segment = spans.whole_segment(interval, least)
    anchors = spans.evenly(count, interval, segment)
    assert anchors == sorted(set(anchors))
    starts = spans.starts(count, segment)
    assert set(starts) <= set(anchors)
    assert {start - 1 for start in starts[1:]} | {count - 1} <= set(anchors)
    assert max(spans.lengths(anchors), default=1) <= interval


@given(intervals, st.integers(1, 1000))
def test_a_whole_segment_holds_intervals_of_one_length(interval: int, least: int) -> None:
    segment = spans.whole_segment(interval, least)
    assert segment >= least
    assert (segment - 1) % interval == 0
    assert set(spans.lengths(spans.evenly(segment, interval, segment))) == {interval}


@given(counts, intervals, st.booleans(), st.booleans())
def test_frames_are_decoded_once_and_behind_what_they_read(
    count: int, interval: int, pyramid: bool, upper: bool
) -> None:
    anchors = spans.evenly(count, interval, 257)
    middles = spans.middles(anchors, upper=upper) if pyramid else []
    order = spans.decode_order(anchors, middles)
    assert sorted(order) == list(range(count))
    place = {frame: n for n, frame in enumerate(order)}
    for low, high in pairwise(anchors):
        assert place[low] < place[high]
        inner = range(low + 1, high)
        assert all(place[high] < place[n] for n in inner)
        read = [n for n in inner if n in middles]
        assert all(place[m] <= place[n] for m in read for n in inner)


@pytest.mark.parametrize("upper", [False, True])
def test_the_middle_is_in_the_middle(upper: bool) -> None:
    assert spans.middles([0, 2], upper=upper) == []
    for length in range(3, 40):
        (middle,) = spans.middles([0, length], upper=upper)
        left, right = middle - 1, length - 1 - middle
        assert (left - right) in ((0, 1) if upper else (0, -1))
