"""Which frames a loader reads, and in which order. Pure."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.patterns import batches

PATTERNS = ("contiguous", "stride5", "random", "single", "whole")
"""Ten frames in a row, ten with a stride of 5, ten of one clip at random, single frames of any
clip, and whole clips in order."""

SIZE = 10
"""Frames of a window."""


@dataclass(frozen=True, slots=True)
class Window:
    """Frames that one worker reads one after the other, as one sample."""

    clip: str
    frames: tuple[int, ...]


def windows(
    pattern: str, frame_counts: Mapping[str, int], *, number: int, seed: str
) -> list[Window]:
    """What is read in all clips, in the order of a loader that shuffles; the same for one ``seed``.

    Args:
        frame_counts: of each clip.
        number: windows of a clip, and ten times as many single frames; of "whole" the windows that
            a clip has at most, for its first frames in order.
    """
    made: list[Window] = []
    for clip, count in frame_counts.items():
        if pattern == "whole":
            end = min(count, number * SIZE)
            starts = range(0, end, SIZE)
            made += (Window(clip, tuple(range(s, min(s + SIZE, end)))) for s in starts)
        elif pattern == "single":
            source = random.Random(f"{seed} {clip} single")
            chosen = source.sample(range(count), min(count, number * SIZE))
            made += (Window(clip, (n,)) for n in chosen)
        else:
            found = batches(
                count, patterns=[pattern], number=number, size=SIZE, seed=f"{seed} {clip}"
            )
            made += (Window(clip, batch.frames) for batch in found)
    if pattern != "whole":
        random.Random(f"{seed} {pattern} order").shuffle(made)
    return made


def dealt(made: Sequence[Window], workers: int) -> list[list[Window]]:
    """The windows of each worker: dealt out in turn, as loaders deal out batches."""
    return [list(made[k::workers]) for k in range(workers)]
