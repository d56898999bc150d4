from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.corpus import source_at
from decoder.index import NO_TIMESTAMP
from decoder.indexing import index_source
from tests.clips import write_clip
from vfs.errors import NoTimestamps
from vfs.selection import Selection, Timeline, at_rate, rounded

NO_TIMES = Timeline(np.empty(0, np.int64), Fraction(1))


def chosen(selection: Selection, count: int, timeline: Timeline | None = None) -> list[int]:
    def given() -> Timeline:
        assert timeline is not None, "nobody needs times for this"
        return timeline

    return [int(n) for n in selection.of(range(count), given)]


def test_a_range_and_a_stride_within_it() -> None:
    assert chosen(Selection(), 5) == [0, 1, 2, 3, 4]
    assert chosen(Selection(2, 4), 5) == [2, 3]
    assert chosen(Selection(1, None, 3), 9) == [1, 4, 7]
    assert chosen(Selection(1, 100, 3), 5) == [1, 4]
    assert chosen(Selection(7), 5) == []
    assert list(Selection(1, 3).of(range(100, 105), lambda: NO_TIMES)) == [101, 102]


def test_every_frame_at_its_own_rate() -> None:
    timeline = Timeline(np.arange(10, dtype=np.int64) * 512, Fraction(1, 15360))
    assert chosen(Selection(fps=Fraction(30)), 10, timeline) == list(range(10))
    assert chosen(Selection(fps=Fraction(15)), 10, timeline) == [0, 2, 4, 6, 8]
    assert chosen(Selection(fps=Fraction(60)), 4, timeline) == [0, 0, 1, 1, 2, 2, 3, 3]
    # The last one that is nearer to this time than to the next.
    assert chosen(Selection(fps=Fraction(10)), 10, timeline) == [1, 4, 7]


def test_a_clip_shorter_than_a_tick_has_a_frame() -> None:
    timeline = Timeline(np.arange(3, dtype=np.int64), Fraction(1, 30))
    assert chosen(Selection(fps=Fraction(1)), 3, timeline) == [2]


def test_missing_and_backward_times_are_replaced_by_the_rate() -> None:
    pts = np.array([0, 1024, 512, 1536], np.int64)
    rate = Fraction(30)
    for values in (pts, np.full(4, NO_TIMESTAMP)):
        timeline = Timeline(values, Fraction(1, 15360), rate)
        assert at_rate(range(4), Fraction(15), timeline).tolist() == [0, 2]
        with pytest.raises(NoTimestamps, match="choose frames by stride"):
            at_rate(range(4), Fraction(15), Timeline(values, Fraction(1, 15360)))


def test_the_frame_behind_a_range_says_how_long_its_last_one_lasts() -> None:
    timeline = Timeline(np.array([0, 1, 11, 12], np.int64), Fraction(1, 10))
    assert at_rate(range(2), Fraction(10), timeline).tolist() == [0, *[1] * 10]
    assert at_rate(range(1, 3), Fraction(10), timeline).tolist() == [*[1] * 10, 2]


def test_milliseconds_are_rounded_to_the_nearest() -> None:
    timeline = Timeline(np.array([-1, 0, 1, 2, 3, NO_TIMESTAMP], np.int64), Fraction(1001, 30000))
    assert timeline.milliseconds().tolist() == [-33, 0, 33, 67, 100, NO_TIMESTAMP]


@given(
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5),
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**6, max_denominator=10**9),
)
def test_rounding_is_exact_whatever_the_size(values: list[int], ratio: Fraction) -> None:
    expected = [int((value * ratio + Fraction(1, 2)) // 1) for value in values]
    if max(map(abs, expected)) < 2**63:
        assert rounded(np.array(values, np.int64), ratio).tolist() == expected


def by_ffmpeg(path: Path, fps: Fraction) -> list[int]:
    """What FFmpeg's own filter shows: the pts of the frames that come out of it."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        graph: Any = av.filter.Graph()
        source = graph.add_buffer(template=stream)
        # Where it would start from zero, as the ffmpeg tool has it do for most files.
        mark = graph.add("setpts", "PTS-STARTPTS")
        rate = graph.add("fps", f"fps={fps}")
        sink = graph.add("buffersink")
        source.link_to(mark)
        mark.link_to(rate)
        rate.link_to(sink)
        graph.configure()
        known: dict[bytes, int] = {}
        shown: list[int] = []

        def pull() -> None:
            while True:
                try:
                    frame = graph.pull()
                except (av.BlockingIOError, av.EOFError):
                    return
                shown.append(known[frame.to_ndarray(format="gray").tobytes()])

        for number, frame in enumerate(container.decode(stream)):
            known[frame.to_ndarray(format="gray").tobytes()] = number
            graph.push(frame)
            pull()
        graph.push(None)
        pull()
    return shown


@pytest.mark.parametrize("fps", ["2", "5", "7.5", "12", "24000/1001", "30", "48"])
@pytest.mark.parametrize("kind", ["constant", "variable"])
def test_frames_by_rate_are_those_of_the_filter(kind: str, fps: str, tmp_path: Path) -> None:
    pts = None if kind == "constant" else lambda n: n * n // 3 + n
    clip = write_clip(tmp_path / "clip.mp4", frames=40, pts=pts, fps=30)
    index = index_source(source_at(str(clip)))
    rate = Fraction(fps)
    ours = at_rate(range(index.frame_count), rate, Timeline.of(index)).tolist()
    theirs = by_ffmpeg(clip, rate)
    if kind == "variable":
        # How long the last frame lasts the file says, and the index does not.
        ours, theirs = (one[: one.index(39) + 1] for one in (ours, theirs))
    assert ours == theirs


@pytest.mark.parametrize("name", ["s05_vfr", "s01_base", "s04_start5"])
def test_frames_by_rate_of_real_clips(name: str, clips: Path) -> None:
    clip = clips / "synth" / f"{name}.mp4"
    index = index_source(source_at(str(clip)))
    for fps in (Fraction(2), Fraction(10), Fraction(25), Fraction(60)):
        ours = at_rate(range(index.frame_count), fps, Timeline.of(index)).tolist()
        assert ours == by_ffmpeg(clip, fps)
