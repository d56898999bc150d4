"""Which frames of a video the steps of a recording are, by their times."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoder.index import SourceIndex
from vfs import moments, parquet
from vfs.errors import DataSetUnreadable
from vfs.parquet import reading

TOLERANCE = 1e-4
"""Seconds that a frame may be off: LeRobot's default."""

_FILES_KEPT = 4
"""Files whose rows are remembered: episodes that follow each other share one."""


class Steps:
    """Where an episode lies in a video; a `vfs.clips.Span`.

    Args:
        rows: path of the file with the rows of the episode's steps.
        episode: its number.
        length: how many steps it has.
        video: path of the video.
        start: seconds in the video at which the episode begins.
    """

    def __init__(self, rows: str, episode: int, length: int, video: str, start: float) -> None:
        self._rows = rows
        self._episode = episode
        self._length = length
        self._video = video
        self._start = start
        self._known: tuple[SourceIndex, range] | None = None

    def frames(self, index: SourceIndex) -> range:
        """As `vfs.clips.Span.frames`."""
        known = self._known
        if known is None or known[0] is not index:
            wanted = self._start + step_times(self._rows, self._episode, self._length)
            what = f"episode {self._episode} in {self._video}"
            first = first_frame(moments.times(index), wanted, what)
            self._known = known = index, range(first, first + len(wanted))
        return known[1]


def step_times(path: str, episode: int, length: int) -> NDArray[np.float64]:
    """When in its episode each step is, in seconds, [steps], from the rows in the file ``path``.

    Raises:
        DataSetUnreadable: the file cannot be read, or has other steps than the metadata says.
    """
    with reading(path):
        status = os.stat(path)
        times, steps, episodes = _rows(path, (status.st_size, status.st_mtime_ns))
        own = episodes == episode
        if not np.array_equal(steps[own], np.arange(length)):
            raise DataSetUnreadable(
                f"{path}: episode {episode} should have the steps 0 to "
                f"{length - 1}, in order, and has not"
            )
        # LeRobot keeps single precision, and adds in double precision.
        single: NDArray[np.float32] = times[own].astype(np.float32)
        return single.astype(np.float64)


@functools.lru_cache(maxsize=_FILES_KEPT)
def _rows(path: str, version: tuple[int, int]) -> tuple[NDArray[Any], ...]:
    """(timestamp, step, episode) of all rows in a version of a file, each [rows]."""
    rows = parquet.table(path, ["timestamp", "frame_index", "episode_index"])
    return tuple(column.to_numpy() for column in rows.columns)


def first_frame(
    shown: NDArray[np.float64], wanted: NDArray[np.float64], what: str = "the episode"
) -> int:
    """The frame at the first of the wanted times, where the others are at those that follow it.

    Args:
        shown: when each frame of the video is shown, in seconds, [frames].
        wanted: when a frame is wanted, in seconds, [steps].
        what: is looked for, in words.

    Raises:
        DataSetUnreadable: there is none so near to one of them, or they do not follow each other.
    """
    if not len(wanted) or np.isnan(shown).all():
        raise DataSetUnreadable(f"{what}: there are no steps, or the video has no timestamps")
    frames = moments.nearest(shown, wanted)
    # Times in single precision are as far apart as this where recordings are long.
    near = TOLERANCE + np.spacing(wanted.astype(np.float32))
    far = np.flatnonzero(np.abs(shown[frames] - wanted) >= near)
    if len(far):
        step = int(far[0])
        raise DataSetUnreadable(
            f"{what}: no frame is shown at {wanted[step]:.6f} s, where step {step} is; the nearest "
            f"is at {shown[frames[step]]:.6f} s"
        )
    first = int(frames[0])
    if not np.array_equal(frames, np.arange(first, first + len(frames))):
        raise DataSetUnreadable(f"{what}: its frames do not follow each other in the video")
    return first
