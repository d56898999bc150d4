from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.stream import VideoStream
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from decoder import FrameReader
from encoder import adaptive, ddra, spans
from encoder.coding import ENCODERS
from encoder.external import program
from encoder.settings import Settings
from encoder.unit import transcode


def costs(count: int, seed: int, interval: int = 16) -> dict[int, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return {n: rng.uniform(1, 100, count) for n in adaptive.halvings(interval)}


@given(st.integers(1, 300), st.integers(0, 99), st.lists(st.integers(1, 299), max_size=4))
def test_the_bound_stays_and_segments_are_closed(count: int, seed: int, cuts: list[int]) -> None:
    segment = spans.whole_segment(16, 64)
    found = adaptive.anchors(count, 16, segment, costs(count, seed), cuts)
    assert found == sorted(set(found))
    assert max(spans.lengths(found), default=1) <= 16
    starts = spans.starts(count, segment)
    assert {*starts, *(start - 1 for start in starts[1:]), 0, count - 1} <= set(found)
    assert {n for cut in cuts if cut < count for n in (cut - 1, cut)} <= set(found)


@given(st.integers(2, 200), st.integers(0, 99))
def test_what_is_chosen_costs_no_more_than_any_even_interval(count: int, seed: int) -> None:
    segment, tried = spans.whole_segment(16, 1000), costs(count, seed)
    # anchors at all multiples of 16 are there in any case, and cost what the longest trial says
    ends = spans.evenly(count, 16, segment)
    for interval in tried:
        tried[interval][ends] = tried[16][ends]
    chosen = adaptive.anchors(count, 16, segment, tried)

    def cost(anchors: list[int]) -> float:
        """Of frames in intervals of 2, 4, 8 and 16, each as in the trial of that interval."""
        total = sum(float(tried[16][n]) for n in ends)
        for low, high in pairwise(ends):
            inner = [n for n in anchors if low <= n <= high]
            total += _between(inner, tried)
        return total

    for interval in tried:
        assert cost(chosen) <= cost(spans.evenly(count, interval, segment)) + 1e-6


def _between(anchors: list[int], tried: dict[int, NDArray[np.float64]]) -> float:
    """Cost between the first and the last of ``anchors``, the cheapest way it can be read."""
    low, high = anchors[0], anchors[-1]

    def best(low: int, high: int, interval: int) -> float:
        inner = [n for n in anchors if low < n < high]
        half = interval // 2
        options = [] if inner else [float(tried[interval][low + 1 : high].sum())]
        if half in tried:
            middle = low + half
            if middle >= high:
                options.append(best(low, high, half))
            elif middle in inner:
                parts = best(low, middle, half) + best(middle, high, half)
                options.append(parts + float(tried[half][middle]))
        return min(options, default=float("inf"))

    return best(low, high, 16)


def test_halvings_end_with_an_odd_interval_or_two() -> None:
    assert adaptive.halvings(16) == [16, 8, 4, 2]
    assert adaptive.halvings(12) == [12, 6, 3]
    assert adaptive.halvings(17) == [17]


def test_a_cut_is_seen_and_a_moving_camera_is_none() -> None:
    rng = np.random.default_rng(1)
    scenes = rng.integers(0, 255, (2, 4, 12)).repeat(8, axis=1).repeat(8, axis=2)
    moving = [scenes[int(n >= 20)][:, n : n + 32].astype(np.uint8) for n in range(40)]
    assert adaptive.cuts(moving[:20]) == adaptive.cuts(moving[20:]) == []
    assert adaptive.cuts(moving) == [20]
    smooth = [(np.full((32, 32), 40) + n).astype(np.uint8) for n in range(20)]
    other = [(np.full((32, 32), 140) + n).astype(np.uint8) for n in range(20)]
    assert adaptive.cuts(smooth + other) == [20]
    assert adaptive.cuts([]) == adaptive.cuts(smooth[:1]) == []


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A still scene, a cut at frame 37, and a texture that moves and turns to another."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    rng = np.random.default_rng(2)
    blocks = rng.integers(0, 255, (2, 12, 60)).repeat(8, axis=1).repeat(8, axis=2)
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=30, options={"crf": "12"})
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        for n in range(90):
            samples = np.full((96, 128), 90, np.uint8)
            if n >= 37:
                weight = (n - 37) / 53
                mixed = (1 - weight) * blocks[0] + weight * blocks[1]
                samples = mixed[:, 3 * n : 3 * n + 128].astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(samples), format="gray")
            output.mux(stream.encode(frame.reformat(format="yuv420p")))
        output.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("interval", [16, 32])
@pytest.mark.parametrize("profile", ["fast", "compact"])
def test_anchors_are_at_the_cut_and_near_under_motion(
    film: Path, tmp_path: Path, profile: str, interval: int
) -> None:
    settings = Settings.of_profile(profile, anchors="adaptive", interval=interval)
    if interval > ddra.LONGEST_STOCK and program(ENCODERS[settings.codec], 8) is None:
        pytest.skip("scripts/build-encoders.sh has not been run")
    target = tmp_path / "new.mp4"
    outcome = transcode(str(film), str(target), settings)
    assert outcome.bound == 3
    assert isinstance(outcome.interval, list)
    anchors = [0, *np.cumsum(outcome.interval).tolist()]
    assert {36, 37} <= set(anchors)
    still, moving = [n for n in anchors if n < 36], [n for n in anchors if n > 37]
    assert len(still) <= 4
    assert len(moving) > 2 * len(still)
    with FrameReader(str(target)) as new, FrameReader(str(film)) as old:
        assert [new.index.frame(n).time for n in range(90)] == [
            old.index.frame(n).time for n in range(90)
        ]
    even = transcode(str(film), str(target), settings.replaced(anchors="fixed"))
    assert outcome.psnr > even.psnr or outcome.bytes_out < even.bytes_out
