"""A hierarchy of AV1 frames between key frames, as SVT-AV1 makes it, short enough for a bound.

Promises: the closure of any frame has at most ``bound`` pictures. SVT-AV1 chooses references by
itself; with the levels taken here the largest closure was seen to be about half the distance of key
frames. Where it turns out to be larger than the bound, the distance is halved and all is encoded
again. With key frames at most ``bound`` frames apart the bound cannot be missed.
"""

from __future__ import annotations

from collections.abc import Iterator

from encoder.coding import ENCODERS, LEFT, Coding
from encoder.settings import Settings

_LEAST_LEVELS, _MOST_LEVELS = 2, 4
"""With more of them files grow again, and closures too."""


def codings(settings: Settings, count: int) -> Iterator[Coding]:
    """Ways to encode ``count`` frames: the one asked for, then shorter ones up to a sure one."""
    for period, levels in _ways(settings):
        yield Coding(
            name=f"hierarchy of {levels} levels, key frames {period} apart",
            encoder=ENCODERS[settings.codec],
            options=_options(settings, period, levels),
            kinds=(LEFT,) * count,
            order=tuple(range(count)),
            anchors=tuple(range(0, count, period)),
            starts=tuple(range(0, count, period)),
            runs=(0,),
            references=None,
            bound=settings.bound,
        )


def _ways(settings: Settings) -> Iterator[tuple[int, int]]:
    period = settings.interval
    while period > settings.bound:
        yield period, _levels(period)
        period //= 2
    yield period, _levels(period)


def _levels(period: int) -> int:
    """So many that two groups of pictures, of 2 ** levels each, fit between key frames."""
    return max(_LEAST_LEVELS, min(_MOST_LEVELS, period.bit_length() - 2))


def _options(settings: Settings, period: int, levels: int) -> dict[str, str]:
    parameters = f"hierarchical-levels={levels}:scd=0:lp={settings.threads}"
    if settings.fastdecode:
        parameters += ":enable-cdef=0"
    return {"preset": settings.preset, "g": str(period), "svtav1-params": parameters}
