from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from decoder.corpus import source_at
from decoder.indexing import index_source
from tests.clips import write_clip
from tests.oracle import full_frames
from vfs.moments import nearest, times

seconds = st.lists(st.integers(0, 40), min_size=1, max_size=12)


@given(shown=seconds, wanted=seconds, unknown=st.sets(st.integers(0, 11), max_size=3))
def test_nearest_is_the_first_of_those_with_the_least_distance(
    shown: list[int], wanted: list[int], unknown: set[int]
) -> None:
    moments = np.array(shown, float)
    moments[[n for n in unknown if 0 < n < len(shown)]] = np.nan
    targets = np.array(wanted) + 0.25
    found = nearest(moments, targets)
    for frame, target in zip(found, targets, strict=True):
        distances = np.abs(moments - target)
        least = np.nanmin(distances)
        assert frame == np.flatnonzero(distances == least)[0]


def test_times_are_those_of_a_full_decode(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "vfr.mp4", frames=30, pts=lambda n: n * n + 5)
    found = times(index_source(source_at(str(clip))))
    shown = [frame.time for frame in full_frames(clip)]
    assert found.tolist() == [float(time) for time in shown if time is not None]


def test_times_of_a_file_without_timestamps_are_not_made_up(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "raw.h264", frames=8)
    found = times(index_source(source_at(str(clip))))
    shown = [frame.time for frame in full_frames(clip)]
    expected = [np.nan if time is None else float(time) for time in shown]
    np.testing.assert_array_equal(found, expected)
