"""Which frames a batch asks for. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

STRIDES: dict[str, int | None] = {"contiguous": 1, "stride5": 5, "stride30": 30, "random": None}
"""Access patterns: distance from one frame of a batch to the next, None for no regular one."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Frames to read at once, ascending.

    Attributes:
        number: counts the batches of a pattern, from 0.
    """

    pattern: str
    number: int
    frames: tuple[int, ...]


def fits(pattern: str, frame_count: int, size: int) -> bool:
    """Whether a clip is long enough for one batch of ``size`` frames."""
    return span(pattern, size) <= frame_count


def span(pattern: str, size: int) -> int:
    """Frames from the first to the last of a batch, both counted; the least there can be."""
    return (size - 1) * (STRIDES[pattern] or 1) + 1


def batches(
    frame_count: int, *, patterns: Iterable[str], number: int, size: int, seed: str
) -> list[Batch]:
    """``number`` batches of each pattern that fits, at random places; the same for one ``seed``.

    Random frames are drawn without repeats. They are sorted, so that no peer is charged for the
    bad order of a request, which each user would put right in his own way.
    """
    made = []
    for pattern in patterns:
        if not fits(pattern, frame_count, size):
            continue
        source = random.Random(f"{seed} {pattern}")
        stride = STRIDES[pattern]
        for k in range(number):
            if stride is None:
                frames = tuple(sorted(source.sample(range(frame_count), size)))
            else:
                start = source.randrange(frame_count - span(pattern, size) + 1)
                frames = tuple(range(start, start + size * stride, stride))
            made.append(Batch(pattern, k, frames))
    return made
