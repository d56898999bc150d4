"""Which frames of a clip a view shows: a range, every n-th of them, or so many a second. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from decoder.index import NO_PACKET, NO_TIMESTAMP, SourceIndex
from vfs.errors import NoTimestamps

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Selection:
    """What to choose from the frames of a clip, in this order: a range, then a stride or a rate.

    Attributes:
        start, stop: the first frame, and the one behind the last; None for the end of the clip.
        stride: every so many frames.
        fps: so many frames a second by timestamp; see `at_rate`. None where frames are counted.
    """

    start: int = 0
    stop: int | None = None
    stride: int = 1
    fps: Fraction | None = None

    def of(self, frames: range, timeline: Callable[[], Timeline]) -> range | NDArray[np.int64]:
        """The chosen ones of these frames of a source, in order.

        Args:
            timeline: of the source; called where it is needed.

        Raises:
            NoTimestamps: they are to be chosen by time, and nothing tells it.
        """
        chosen = frames[self.start : self.stop]
        if self.fps is None:
            return chosen[:: self.stride]
        return at_rate(chosen, self.fps, timeline())


class Timeline:
    """When the frames of a source are shown.

    Attributes:
        pts: int64 [frames], in units of the time base, `NO_TIMESTAMP` where missing.
        time_base: seconds per unit.
        rate: frames per second on average, None where unknown.
    """

    __slots__ = ("pts", "rate", "time_base")

    def __init__(
        self, pts: NDArray[np.int64], time_base: Fraction, rate: Fraction | None = None
    ) -> None:
        self.pts = pts
        self.time_base = time_base
        self.rate = rate

    @classmethod
    def of(cls, index: SourceIndex) -> Timeline:
        """The timeline in an index."""
        packet = index.frames.packet
        pts = np.where(packet == NO_PACKET, NO_TIMESTAMP, index.packets.pts[packet])
        rate = index.facts.rate
        return cls(pts, index.time_base, Fraction(*rate) if rate and all(rate) else None)

    def milliseconds(self) -> NDArray[np.int64]:
        """The time of each frame, rounded to the nearest; `NO_TIMESTAMP` where it has none."""
        missing = self.pts == NO_TIMESTAMP
        times = rounded(np.where(missing, 0, self.pts), self.time_base * 1000)
        return np.where(missing, NO_TIMESTAMP, times)

    def since(self, frames: range) -> tuple[NDArray[np.int64], Fraction]:
        """(times, unit): when each of these frames, and what follows the last, begins.

        int64 [len(frames) + 1], in units of ``unit`` seconds after the first of them. The last
        frame of a source lasts as long as the one before. Where timestamps are missing or run
        backwards, frames are as far apart as the rate says.

        Raises:
            NoTimestamps: and there is no rate either.
        """
        end = min(frames.stop + 1, len(self.pts))
        pts = self.pts[frames.start : end]
        if (pts == NO_TIMESTAMP).any() or (np.diff(pts) < 0).any():
            if self.rate is None:
                raise NoTimestamps(
                    "the source has neither usable timestamps nor a frame rate; choose frames by "
                    "stride, and name them by number"
                )
            return np.arange(len(frames) + 1), 1 / self.rate
        if len(pts) == len(frames):
            pts = np.append(pts, pts[-1] + self._last_duration(frames))
        return pts - pts[0], self.time_base

    def _last_duration(self, frames: range) -> int:
        if frames.stop > 1 and self.pts[frames.stop - 2] != NO_TIMESTAMP:
            return int(self.pts[frames.stop - 1] - self.pts[frames.stop - 2])
        return round(1 / (self.rate * self.time_base)) if self.rate else 1


def at_rate(frames: range, fps: Fraction, timeline: Timeline) -> NDArray[np.int64]:
    """The frames shown at 0, 1/fps, 2/fps ... seconds after the first of ``frames``.

    As FFmpeg's filter ``fps`` chooses them: the time of a frame is rounded to the nearest multiple
    of 1/fps, and at each multiple the last frame that has begun is shown, so that frames are left
    out or repeated. It ends where the last frame does, rounded alike. A clip has one frame at
    least.
    """
    if not frames:
        return np.empty(0, np.int64)
    times, unit = timeline.since(frames)
    ticks = rounded(times, unit * fps)
    count = max(1, int(ticks[-1]))
    shown = np.searchsorted(ticks[:-1], np.arange(count), side="right") - 1
    return frames.start + shown.astype(np.int64)


def rounded(values: NDArray[np.int64], ratio: Fraction) -> NDArray[np.int64]:
    """``values * ratio`` to the nearest whole number, halves upwards, exactly."""
    up, down = ratio.numerator, ratio.denominator
    largest = max(abs(int(values.max(initial=0))), abs(int(values.min(initial=0))))
    if (2 * largest + 1) * up + down >= _INT64:
        exact = [(2 * int(value) * up + down) // (2 * down) for value in values]
        return np.array(exact, np.int64)
    return (2 * values * up + down) // (2 * down)
