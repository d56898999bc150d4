"""Timestamps of a new file: those of the source's frames, exactly, and when each is decoded.

Pure. Pictures are decoded as late as can be: each just before what comes behind it in decode order,
and no earlier. The second anchor of an interval is decoded before the frames between the two; so
its decoding time lies in the first frame of the interval, behind that frame's own timestamp, and a
reader that seeks to an anchor's timestamp by decoding times, as FFmpeg does in MP4, arrives at that
anchor. With the usual delay of one frame it would arrive at the next one, from where frames of the
interval cannot be decoded. Nothing is decoded before time 0, so that no edit list is needed.

Where frames share a timestamp that cannot be had; they are decoded as late as can be all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor, lcm

_HALVINGS = 8
"""Timescales that are tried, each twice as fine as the one before; room for decoding times."""

_COARSEST = 10_000
"""Lowest timescale that is used. Readers guess the frame rate from decoding times, which are right
by one unit only where a picture is decoded early."""

_SHARE = 4
"""Of the shortest step between frames this part is left between decoding times where frames share a
timestamp: FFmpeg takes much shorter ones for a fault."""

_FINEST = 2**31 - 1
"""Highest timescale of a media header (ISO/IEC 14496-12, 8.4.2), as FFmpeg reads it."""

_FASTEST = 210
"""Frames per second: of a stream that tells more FFmpeg takes the average rate instead."""


def told_rate(times: Sequence[Fraction], average: Fraction) -> Fraction:
    """Frames per second that a stream is to tell of itself.

    The ``average``, unless two frames were shown in the same tick of it then: FFmpeg counts the
    frames of a stream in ticks, and warns of each that comes too soon. Then as many as the shortest
    step asks for, if FFmpeg believes that.

    Args:
        times: seconds, by frame, ascending.
    """
    ticks = [floor((time - times[0]) * average + Fraction(1, 2)) for time in times]
    steps = [other - one for one, other in pairwise(times)]
    if len(set(ticks)) == len(ticks) or min(steps) * _FASTEST < 1:
        return average
    return 1 / min(steps)


@dataclass(frozen=True, slots=True)
class Timing:
    """Timestamps in units of 1 / ``timescale`` seconds.

    Attributes:
        pts: by frame.
        dts: by frame; ascends strictly in decode order and is never above ``pts``.
        durations: by frame: until the next one is decoded; the last lasts until all is shown.
    """

    timescale: int
    pts: tuple[int, ...]
    dts: tuple[int, ...]
    durations: tuple[int, ...]


def timing(times: Sequence[Fraction], order: Sequence[int], last: Fraction) -> Timing:
    """Timestamps for frames shown at ``times`` and decoded in ``order``.

    Args:
        times: seconds, by frame, not descending, the first at 0 or later.
        order: frames in decode order.
        last: seconds for which the last frame is shown.

    Raises:
        ValueError: frames are shown in another order than that of their timestamps, or there is no
            timescale in which these can be told exactly; says which.
    """
    for n, (one, other) in enumerate(pairwise(times), 1):
        if other < one:
            raise ValueError(
                f"frame {n} is shown at {float(other):.6f} s, before frame {n - 1} at "
                f"{float(one):.6f} s"
            )
    if times[0] < 0:
        raise ValueError(f"frame 0 is shown at {float(times[0]):.6f} s, before the start")
    coarsest = lcm(*(time.denominator for time in times))
    if coarsest > _FINEST:
        raise ValueError(f"MP4 has no timescale of 1/{coarsest} s, which its timestamps need")
    if lcm(coarsest, last.denominator) <= _FINEST:
        coarsest = lcm(coarsest, last.denominator)  # the end can be told as well
    while coarsest < _COARSEST:
        coarsest *= 2
    timescale = coarsest
    while timescale <= _FINEST and timescale < coarsest << _HALVINGS:
        found = _in_scale(times, order, last, timescale)
        if _is_sought_rightly(found, order):
            return found
        timescale *= 2
    steps = [other - one for one, other in pairwise(times) if other > one]
    gap = max(1, int(min(steps, default=last) * coarsest) // _SHARE)
    return _in_scale(times, order, last, coarsest, gap)


def _in_scale(
    times: Sequence[Fraction], order: Sequence[int], last: Fraction, timescale: int, gap: int = 1
) -> Timing:
    pts = [int(time * timescale) for time in times]
    dts = _decoding_times(pts, order, gap)
    end = pts[-1] + max(1, round(last * timescale))
    durations = [0] * len(pts)
    for frame, following in pairwise(order):
        durations[frame] = dts[following] - dts[frame]
    durations[order[-1]] = end - dts[order[-1]]
    return Timing(timescale, tuple(pts), tuple(dts), tuple(durations))


def _decoding_times(pts: Sequence[int], order: Sequence[int], gap: int) -> list[int]:
    """The latest that ascend by ``gap`` at least and are never above ``pts``, by frame."""
    dts = list(pts)
    following = None
    for frame in reversed(order):
        if following is not None:
            dts[frame] = min(pts[frame], following - gap)
        following = dts[frame]
    return dts


def _is_sought_rightly(timing: Timing, order: Sequence[int]) -> bool:
    """Whether each frame is decoded after all that were complete before it have been shown."""
    pts, dts = timing.pts, timing.dts
    if dts[order[0]] < 0:
        return False
    complete = -1  # frames up to this one have been decoded, all of them
    ahead: set[int] = set()
    for frame in order:
        if complete >= 0 and dts[frame] <= pts[complete]:
            return False
        ahead.add(frame)
        while complete + 1 in ahead:
            complete += 1
            ahead.discard(complete)
    return True
