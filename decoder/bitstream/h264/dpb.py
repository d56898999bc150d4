"""Marking of reference pictures (ITU-T H.264, 8.2.5), in the order FFmpeg carries it out.

The standard leaves no freedom for conforming streams. For others the decoder decides what is
read, so this model follows it step by step and reports each departure as a problem, a string.
"""

from __future__ import annotations

from decoder.bitstream.h264.poc import BOTTOM, FRAME, TOP
from decoder.bitstream.h264.slice import SliceHeader

UNKNOWN = -1
"""Decode index of what was coded before the first packet."""

OVERFLOW = "more reference pictures than max_num_ref_frames"
NOT_THERE = "a marking command names a picture that is not in the buffer"
DUPLICATE = "two reference pictures with one frame_num"
TWO_TERMS = "a picture marked as short-term and long-term reference at once"


class Entry:
    """A frame (or one field, or two) in the decoded picture buffer.

    ``picture`` is the decode index of what its samples come from: a frame inferred for a gap in
    frame_num has its predecessor's (the decoder copies it), or UNKNOWN.
    """

    __slots__ = (
        "bottom", "decoded", "filler", "frame_num", "invalid", "long_term", "picture", "poc",
        "reference", "top",
    )  # fmt: skip

    def __init__(self, picture: int, frame_num: int, *, filler: bool = False) -> None:
        self.picture = picture
        self.frame_num = frame_num
        self.filler = filler
        self.invalid = False
        self.decoded = 0
        self.reference = 0
        self.long_term = -1
        self.top = 0
        self.bottom = 0
        self.poc = 0

    def set_counts(self, structure: int, top: int, bottom: int) -> None:
        """Takes the counts of a frame or of one field; ``poc`` is the least one known."""
        if structure & TOP:
            self.top = top
        if structure & BOTTOM:
            self.bottom = bottom
        self.decoded |= structure
        if self.decoded == FRAME:
            self.poc = self.top if self.top < self.bottom else self.bottom
        else:
            self.poc = self.top if self.decoded == TOP else self.bottom


class DecodedPictureBuffer:
    """The frames marked as used for reference: ``short`` newest first, ``long`` by index."""

    __slots__ = ("long", "short")

    def __init__(self) -> None:
        self.short: list[Entry] = []
        self.long: dict[int, Entry] = {}

    def clear(self) -> None:
        """Marks everything as unused for reference (an IDR picture)."""
        self.short = []
        self.long = {}

    def state(self) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int, int], ...]]:
        """(frame_num, POC) of the short-term and (index, frame_num, POC) of the long-term ones."""
        return (
            tuple((entry.frame_num, entry.poc) for entry in self.short),
            tuple((i, self.long[i].frame_num, self.long[i].poc) for i in sorted(self.long)),
        )

    # -- finding and removing

    def _find_short(self, frame_num: int) -> int:
        for i, entry in enumerate(self.short):
            if entry.frame_num == frame_num:
                return i
        return -1

    def _remove_short(self, frame_num: int, keep: int) -> bool:
        """Unmarks the fields not in ``keep``; whether there was such a picture."""
        i = self._find_short(frame_num)
        if i < 0:
            return False
        entry = self.short[i]
        entry.reference &= keep
        if not entry.reference:
            del self.short[i]
        return True

    def _remove_long(self, index: int, keep: int) -> None:
        entry = self.long.get(index)
        if entry is None:
            return
        entry.reference &= keep
        if not entry.reference:
            entry.long_term = -1
            del self.long[index]

    # -- marking

    def mark(self, current: Entry, header: SliceHeader, structure: int, second: bool) -> str | None:
        """decoded reference picture marking (8.2.5.1) after a reference picture or field.

        ``second``: it is the second field of ``current``. Returns a problem or None. After
        operation 5 ``current.frame_num`` is 0.
        """
        problem = None
        assigned = False
        if header.nal_unit_type == 5:
            if header.long_term_reference_flag:
                problem = self._current_to_long(current, 0, structure)
                assigned = True
        elif header.adaptive_ref_pic_marking_mode_flag:
            for operation in header.memory_management_control_operations:
                trouble = self._operate(operation, current, header, structure)
                assigned = assigned or operation[0] == 6
                problem = problem or trouble
        else:
            self.slide(header.sps.max_num_ref_frames, second and current.reference != 0)
        if not assigned:
            problem = self._current_to_short(current, structure) or problem
        sps = header.sps
        trouble = self._limit(current.frame_num, sps.max_num_ref_frames, sps.max_frame_num)
        return trouble or problem

    def slide(self, max_num_ref_frames: int, second_of_reference: bool = False) -> None:
        """Sliding window (8.2.5.3): makes room for one frame."""
        if (
            self.short
            and not second_of_reference
            and len(self.short) + len(self.long) >= max_num_ref_frames
        ):
            # by frame_num, as the decoder does it: the newest of that number
            self._remove_short(self.short[-1].frame_num, 0)

    def add_filler(
        self, frame_num: int, max_num_ref_frames: int, max_frame_num: int, *, invalid: bool
    ) -> Entry:
        """A frame inferred for a gap in frame_num (8.2.5.2), as FFmpeg makes it.

        It repeats the newest short-term reference, two counts later. ``invalid``: the sequence
        does not allow gaps, so this is a loss.
        """
        previous = self.short[0] if self.short else None
        filler = Entry(UNKNOWN if previous is None else previous.picture, frame_num, filler=True)
        filler.invalid = invalid
        count = 0 if previous is None else previous.poc + 2
        filler.set_counts(FRAME, count, count)
        self.slide(max_num_ref_frames)
        filler.reference = FRAME
        self._remove_short(frame_num, 0)
        self.short.insert(0, filler)
        self._limit(frame_num, max_num_ref_frames, max_frame_num)
        return filler

    def _current_to_short(self, current: Entry, structure: int) -> str | None:
        if self.short and self.short[0] is current:
            current.reference |= structure
            return None
        if current.long_term >= 0:
            return TWO_TERMS
        problem = DUPLICATE if self._remove_short(current.frame_num, 0) else None
        self.short.insert(0, current)
        current.reference |= structure
        return problem

    def _current_to_long(self, current: Entry, index: int, structure: int) -> str | None:
        """Operation 6 (8.2.5.4.6).

        In the second field of a frame whose first field has become long-term, FFmpeg unmarks the
        first field (it takes the frame out and puts it back); so does this.
        """
        problem = None
        if self.short and self.short[0] is current:
            del self.short[0]
            problem = TWO_TERMS
        if current.long_term >= 0:
            if current.long_term != index:
                problem = TWO_TERMS
            self._remove_long(current.long_term, 0)
        self._remove_long(index, 0)
        self.long[index] = current
        current.long_term = index
        current.reference |= structure
        return problem

    def _operate(
        self, operation: tuple[int, ...], current: Entry, header: SliceHeader, structure: int
    ) -> str | None:
        """One memory_management_control_operation (8.2.5.4)."""
        code = operation[0]
        if code in (1, 3):
            frame_num, fields = self._short_number(operation[1], header, structure)
            i = self._find_short(frame_num)
            if i < 0:
                held = self.long.get(operation[2]) if code == 3 else None
                return NOT_THERE if held is None or held.frame_num != frame_num else None
            if code == 1:
                self._remove_short(frame_num, FRAME ^ fields)
                return None
            entry = self.short[i]
            self._remove_long(operation[2], 0)
            del self.short[i]
            self.long[operation[2]] = entry
            entry.long_term = operation[2]
        elif code == 2:
            index, fields = operation[1], structure
            if structure != FRAME:
                index, fields = _field_number(index, structure)
            if index not in self.long:
                return NOT_THERE
            self._remove_long(index, FRAME ^ fields)
        elif code == 4:
            for index in [i for i in self.long if i >= operation[1]]:
                self._remove_long(index, 0)
        elif code == 5:
            for entry in self.short:
                entry.reference = 0
            for index in list(self.long):
                self._remove_long(index, 0)
            self.short = []
            current.frame_num = 0
        elif code == 6:
            return self._current_to_long(current, operation[1], structure)
        return None

    @staticmethod
    def _short_number(difference: int, header: SliceHeader, structure: int) -> tuple[int, int]:
        """picNumX (8-39) as frame_num and fields."""
        modulus = header.sps.max_frame_num
        if structure == FRAME:
            return (header.frame_num - difference - 1) % modulus, FRAME
        number = (2 * header.frame_num + 1 - difference - 1) % (2 * modulus)
        return _field_number(number, structure)

    def _limit(self, frame_num: int, max_num_ref_frames: int, max_frame_num: int) -> str | None:
        """Removes what does not fit, and old frames inferred for a loss."""
        problem = None
        if len(self.short) + len(self.long) > max(max_num_ref_frames, 1):
            problem = OVERFLOW
            if self.short:
                self._remove_short(self.short[-1].frame_num, 0)
            else:
                self._remove_long(min(self.long), 0)
        for entry in self.short:
            if entry.invalid:
                break
        else:
            return problem
        for entry in list(self.short):
            age = (frame_num - entry.frame_num) % max_frame_num
            if entry.invalid and age > max_num_ref_frames:
                self._remove_short(entry.frame_num, 0)
        return problem


def _field_number(number: int, structure: int) -> tuple[int, int]:
    """A picture number of fields: number of the frame, and which field (8.2.4.1)."""
    return number >> 1, structure if number & 1 else FRAME ^ structure
