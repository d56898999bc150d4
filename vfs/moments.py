"""Frames by their times. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from decoder.index import NO_TIMESTAMP, SourceIndex
from vfs.selection import Timeline


def times(index: SourceIndex) -> NDArray[np.float64]:
    """When each frame is shown, in seconds, [frames]; NaN where the file does not say."""
    timeline = Timeline.of(index)
    unit = timeline.time_base
    seconds = timeline.pts * float(unit.numerator) / unit.denominator
    return np.where(timeline.pts == NO_TIMESTAMP, np.nan, seconds)


def nearest(shown: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.int64]:
    """The frame that is shown nearest to each wanted time; the first of several.

    Args:
        shown: when each frame is shown, in seconds, [frames], at least one not NaN.
        wanted: times in seconds, [n].

    Returns:
        Numbers of frames, [n].
    """
    order = np.argsort(shown, kind="stable")
    ordered = shown[order]
    ordered = ordered[: np.count_nonzero(~np.isnan(ordered))]  # NaN sorts last
    after = np.searchsorted(ordered, wanted).clip(0, len(ordered) - 1)
    before = (after - 1).clip(0)
    earlier = np.abs(wanted - ordered[before]) <= np.abs(ordered[after] - wanted)
    time = ordered[np.where(earlier, before, after)]
    return order[np.searchsorted(ordered, time)]
