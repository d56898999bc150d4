"""The decoding process for reference pictures (ITU-T H.264, 8.2), one frame or field at a time."""

from __future__ import annotations

from decoder.bitstream.h264.coded import CodedFrame
from decoder.bitstream.h264.dpb import UNKNOWN, DecodedPictureBuffer
from decoder.bitstream.h264.lists import MISSING, SHORT, reference_lists
from decoder.bitstream.h264.output import DefaultOutput
from decoder.bitstream.h264.poc import FRAME, PicOrderCount
from decoder.bitstream.h264.slice import SP, B, I, SliceHeader
from decoder.bitstream.h264.sps import SequenceParameterSet

LOSS = "frame_num jumps where the sequence allows no gaps: pictures are lost"
BEFORE_START = "it may read pictures from before the start of the stream"
MADE_UP = "it may read a frame the decoder makes up, with nothing to make it from"
GAP_ORDER = "a gap in frame_num where picture order is counted from frame_num"
GAP_FIELD = "a gap in frame_num before a field"
SWITCHING = "SP or SI slices"


class DecodingProcess:
    """Counts, lists and marking of a stream; problems are left in the frames as ``unsafe``."""

    __slots__ = (
        "_damage", "_incomplete", "_list_count", "_prev_frame_num", "_prev_ref_frame_num",
        "active", "buffer", "order_count", "output", "sequence",
    )  # fmt: skip

    def __init__(self, output: DefaultOutput) -> None:
        self.output = output
        self.buffer = DecodedPictureBuffer()
        self.order_count = PicOrderCount()
        self.active: SequenceParameterSet | None = None
        self.sequence = -1
        """Number of the coded video sequence."""
        self._list_count: PicOrderCount | None = None
        self._prev_frame_num = -1
        self._prev_ref_frame_num = -1
        self._incomplete = True
        self._damage: str | None = None

    def start_sequence(self, sps: SequenceParameterSet) -> None:
        """An IDR picture (8.2.1): nothing before it matters any more."""
        self.buffer.clear()
        self.active = sps
        self._incomplete = False
        self._damage = None
        self.sequence += 1
        self._list_count = None
        self._prev_frame_num = self._prev_ref_frame_num = 0

    def start_without_idr(self, sps: SequenceParameterSet) -> bool:
        """A picture that is no IDR picture; False when its SPS is another one than before."""
        active = self.active
        if sps is active or sps == active:
            return True
        self.active = sps
        self.sequence = max(self.sequence, 0)
        return active is None

    def start_frame(self, index: int, header: SliceHeader) -> CodedFrame:
        """A frame, or the first field of one."""
        coded = CodedFrame(index, self.sequence, header)
        coded.unsafe = self._damage
        return coded

    def count(self, coded: CodedFrame, header: SliceHeader, ordinal: int, structure: int) -> None:
        """Picture order counts (8.2.1) of a frame or field that starts with ``header``."""
        top, bottom = self.order_count.derive(header)
        coded.begin(header, ordinal, structure, top, bottom)
        if self._list_count is not None:
            top, bottom = self._list_count.derive(header)
        coded.entry.set_counts(structure, top, bottom)

    def state(self) -> list[tuple[int, int, int]] | None:
        """(frame_num, top, bottom count) of the buffer, oldest first, where it can be rebuilt."""
        if self.buffer.long or self._list_count is not None or self._damage is not None:
            return None
        state = []
        for entry in reversed(self.buffer.short):
            if entry.filler or entry.reference != FRAME or entry.decoded != FRAME:
                return None
            state.append((entry.frame_num, entry.top, entry.bottom))
        return state

    def gap(self, header: SliceHeader, held: CodedFrame | None) -> int:
        """How many frames the decoder infers before this one (8.2.5.2), at most a bufferful."""
        modulus = header.sps.max_frame_num
        frame_num = header.frame_num
        most = header.sps.max_num_ref_frames
        gap = _distance(frame_num, self._prev_frame_num, modulus, most)
        # The standard counts from the last reference picture, FFmpeg from the last picture: where
        # this makes a difference, that picture is part of the state.
        due = _distance(frame_num, self._prev_ref_frame_num, modulus, modulus)
        if held is not None and not held.is_reference and min(due, most) != gap:
            held.droppable = False
        allowed = header.sps.gaps_in_frame_num_value_allowed_flag
        if (due or gap) and held is not None and not allowed:
            self._damage = self._damage or LOSS
        return gap

    def fill(self, header: SliceHeader, gap: int) -> None:
        """Puts the inferred frames into the buffer."""
        sps = header.sps
        modulus = sps.max_frame_num
        allowed = bool(sps.gaps_in_frame_num_value_allowed_flag)
        for number in range(header.frame_num - gap, header.frame_num):
            self.buffer.add_filler(
                number % modulus, sps.max_num_ref_frames, modulus, invalid=not allowed
            )
        self.order_count.skip_to((header.frame_num - 1) % modulus, modulus)
        if self._list_count is not None:
            self._list_count.skip_to((header.frame_num - 1) % modulus, modulus)
        if not allowed:
            self.output.forget()
        elif header.field_pic_flag:
            self._damage = self._damage or GAP_FIELD
        elif sps.pic_order_cnt_type:
            self._damage = self._damage or GAP_ORDER

    def references(self, coded: CodedFrame, header: SliceHeader) -> None:
        """Adds what a slice may read."""
        kind = header.slice_type % 5
        if kind == I:
            return
        if kind >= SP:
            coded.unsafe = coded.unsafe or SWITCHING
            if kind != SP:
                return
        key = (
            kind, header.num_ref_idx_l0_active_minus1, header.num_ref_idx_l1_active_minus1,
            header.ref_pic_list_modification_l0, header.ref_pic_list_modification_l1,
        )  # fmt: skip
        if key in coded.lists_seen:
            return
        coded.lists_seen.append(key)
        if coded.picture_type != "B":
            coded.picture_type = "B" if kind == B else "P"
        entry = coded.entry
        poc = entry.poc
        if coded.structure != FRAME:
            poc = entry.bottom if header.bottom_field_flag else entry.top
        list0, list1, problem = reference_lists(header, self.buffer, coded.structure, poc)
        read = coded.read
        for reference, _ in list0:
            read.add(reference.picture)
        for reference, _ in list1:
            read.add(reference.picture)
        if problem is not None:
            self.output.forget()
            if problem is MISSING or self._incomplete:
                coded.unsafe = coded.unsafe or (BEFORE_START if problem is SHORT else MISSING)

    def mark(self, coded: CodedFrame, active_refs: tuple[int, int]) -> None:
        """Reference marking (8.2.5) after the last slice of a frame or field.

        ``active_refs``: the greatest default numbers of active references of any PPS.
        """
        header = coded.header
        structure = coded.structure
        if UNKNOWN in coded.read:
            coded.unsafe = coded.unsafe or (BEFORE_START if self._incomplete else MADE_UP)
        if not header.nal_ref_idc:
            self._prev_frame_num = header.frame_num
            return
        buffer = self.buffer
        problem = buffer.mark(coded.entry, header, structure, coded.second)
        if problem is not None:
            coded.unsafe = coded.unsafe or problem
        reset = any(op[0] == 5 for op in header.memory_management_control_operations)
        if reset:
            self._reset(coded, structure)
        self._prev_frame_num = self._prev_ref_frame_num = 0 if reset else header.frame_num
        if self._incomplete and len(buffer.short) >= header.sps.max_num_ref_frames:
            self._incomplete = any(held.picture == UNKNOWN for held in buffer.short)
        self.output.marked(
            reset=reset,
            sound=problem is None,
            intra=coded.first_kind == I,
            field=structure != FRAME,
            short=len(buffer.short),
            long=len(buffer.long),
            active=active_refs,
        )

    def _reset(self, coded: CodedFrame, structure: int) -> None:
        """memory_management_control_operation 5: order counts anew (8.2.1)."""
        if self._list_count is None:
            self._list_count = self.order_count.copy(rebase=False)
        entry = coded.entry
        self.order_count.reset(structure, *coded.counts)
        self._list_count.reset(structure, entry.top, entry.bottom)
        self.sequence += 1
        coded.rebase(self.sequence)
        self._incomplete = False


def _distance(frame_num: int, previous: int, modulus: int, most: int) -> int:
    """Frames that FFmpeg infers between two frame_num values."""
    if frame_num == previous:
        return 0
    return min((frame_num - previous - 1) % modulus, most)
