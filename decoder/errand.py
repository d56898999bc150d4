"""Frames that are decoded in one go for those who ask at a desk, and how far that has come."""

from __future__ import annotations

import time
from collections.abc import Sequence

from decoder.crew import Job
from decoder.reader import FrameReader

REACH = 32
"""Frames beyond what is due that an errand is expected to come to; what lies further is not waited
for."""


class Errand:
    """Frames that are decoded in one go, and how far that has come.

    Args:
        frames: those it will give, ascending.
        due: so many of them, from the first on, are to be decoded by now.
        walker: the process whose walk it follows; None where it is for whoever asked.
        endless: the walk has no end that is known; each frame is decoded when it is due.
        reach: see `REACH`.

    Attributes:
        given_up: nobody waits for it any more.
        job: its work.
        promised: frames that it will give before they are asked for.
        reader: that it works with, once it has one.
    """

    __slots__ = (
        "_done", "_given", "_moved", "_noted", "_places", "_reach", "due", "endless", "frames",
        "given_up", "job", "promised", "reader", "walker",
    )  # fmt: skip

    job: Job

    def __init__(
        self,
        frames: Sequence[int],
        due: int,
        walker: int | None = None,
        *,
        endless: bool = False,
        reach: int = REACH,
    ) -> None:
        self.frames = frames
        self.due = due
        self.walker = walker
        self.endless = endless
        self.given_up = False
        self.promised = 0
        self.reader: FrameReader | None = None
        self._reach = reach
        self._noted = 0
        self._moved: float | None = None
        self._done = 0  # so many have been given, from the first on,
        self._given: set[int] = set()  # and those in these places
        self._places = None if isinstance(frames, range) else {n: k for k, n in enumerate(frames)}

    def place(self, n: int) -> int:
        """The place of frame ``n`` among those that it will give soon; -1 where it will not."""
        if self.given_up:
            return -1
        if self._places is not None:
            place = self._places.get(n, -1)
        else:
            place = self.frames.index(n) if n in self.frames else -1
        if place < self._done or place in self._given or place >= self.due + self._reach:
            return -1
        return place

    def gave(self, place: int) -> None:
        """The frame in this place has been given."""
        self._given.add(place)
        while self._done in self._given:
            self._given.remove(self._done)
            self._done += 1

    def is_past(self, n: int) -> bool:
        """Whether frame ``n`` is not among those that it will give, and lies before them."""
        return self.place(n) < 0 and n < self.frames[self.due - 1]

    @property
    def stride(self) -> int:
        """The step from one frame to the next; 0 where it is not always the same."""
        return self.frames.step if isinstance(self.frames, range) else 0

    @property
    def is_idle(self) -> bool:
        """All that is due has been given, but not all."""
        return self.due <= self._done < len(self.frames)

    def begin(self) -> None:
        """Its work begins."""
        self._moved = time.monotonic()

    def is_stuck(self, seconds: float) -> bool:
        """Whether it has begun, and for so long nothing has been seen to be read for it.

        However many ask: those who were waiting together ask at the same time.
        """
        now = time.monotonic()
        before = self._noted
        self._noted = self.reader.stats.bytes_read if self.reader is not None else 0
        if self._moved is None:
            return False
        if self._noted != before:
            self._moved = now
        return now - self._moved >= seconds
