"""The decoded picture buffer as the stock decoder keeps it: references, and what waits to be shown.

FFmpeg shows pictures by the count of those that wait (ITU-T H.265, C.5.2, without latency). This
repeats its decisions from headers, so that a list of frames can be made without decoding.
"""

from __future__ import annotations

from operator import attrgetter

NOT_FOR_OUTPUT = "is not for output (pic_output_flag)"
DISCARDED = "is given up before it is shown (no_output_of_prior_pics_flag)"

NO_PICTURE = -1

_poc = attrgetter("poc")


class Entry:
    """A decoded picture in the buffer; ``index`` is NO_PICTURE for one that had to be made up."""

    __slots__ = ("earliest", "index", "poc", "reference", "waiting")

    def __init__(self, index: int, poc: int, waiting: bool) -> None:
        self.index = index
        self.poc = poc
        self.waiting = waiting
        self.reference = True
        self.earliest = index
        """The first picture in decode order that decoding it takes."""


class PictureBuffer:
    """Pictures that later ones may read or that have not been shown."""

    __slots__ = ("entries", "hidden", "shown")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.shown: list[int] = []
        """Decode indexes in the order shown, so far."""
        self.hidden: dict[int, str] = {}
        """Decode index -> reason, of pictures decoded and not shown."""

    def drain(self, *, discard: bool = False) -> None:
        """The end of the stream or of a sequence: what waits is shown, or given up."""
        waiting = sorted([e for e in self.entries if e.waiting], key=_poc)
        for entry in waiting:
            entry.waiting = False
            if discard:
                self.hidden[entry.index] = DISCARDED
            else:
                self.shown.append(entry.index)
        self._tidy()

    def forget_references(self) -> None:
        """No picture is a reference any more."""
        for entry in self.entries:
            entry.reference = entry.index == NO_PICTURE
        self._tidy()

    def add(self, index: int, poc: int, *, output: bool) -> Entry | None:
        """The current picture comes in; None where another has its order count."""
        for entry in self.entries:
            if entry.poc == poc:
                return None
        if not output:
            self.hidden[index] = NOT_FOR_OUTPUT
        added = Entry(index, poc, output)
        self.entries.append(added)
        return added

    def keep(self, kept: list[Entry], current: Entry) -> None:
        """Marks references (8.3.2): ``kept`` and the current picture, no other.

        What had to be made up lasts for one picture.
        """
        for entry in self.entries:
            entry.reference = False
        for entry in kept:
            entry.reference = True
        current.reference = True
        self.entries = [e for e in self.entries if e.reference or e.waiting]
        self.entries += [e for e in kept if e.index == NO_PICTURE]

    def bump(self, max_num_reorder_pics: int, max_dec_pic_buffering: int) -> None:
        """Shows pictures while more wait, or are held, than the sequence allows."""
        waiting = [e for e in self.entries if e.waiting]
        while waiting and (
            len(waiting) > max_num_reorder_pics or len(self.entries) > max_dec_pic_buffering
        ):
            first = min(waiting, key=_poc)
            first.waiting = False
            waiting.remove(first)
            self.shown.append(first.index)
            if not first.reference:
                self.entries.remove(first)

    def _tidy(self) -> None:
        self.entries = [e for e in self.entries if e.reference or e.waiting]
