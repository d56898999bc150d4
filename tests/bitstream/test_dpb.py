from __future__ import annotations

from typing import Any

from decoder.bitstream.h264.dpb import (
    DUPLICATE,
    NOT_THERE,
    OVERFLOW,
    UNKNOWN,
    DecodedPictureBuffer,
    Entry,
)
from decoder.bitstream.h264.poc import BOTTOM, FRAME, TOP

from .elements import make_header, make_sps


class Marking:
    """A buffer to which frames and fields are added one by one."""

    def __init__(self, max_num_ref_frames: int = 4, **elements: Any) -> None:
        self.sps = make_sps(
            max_num_ref_frames=max_num_ref_frames, log2_max_frame_num_minus4=0, **elements
        )
        self.buffer = DecodedPictureBuffer()
        self.count = 0

    def frame(self, frame_num: int, *operations: tuple[int, ...], **elements: Any) -> str | None:
        entry = Entry(self.count, frame_num)
        self.count += 1
        return self.mark(entry, FRAME, False, operations, **elements)

    def mark(
        self,
        entry: Entry,
        structure: int,
        second: bool,
        operations: tuple[tuple[int, ...], ...] = (),
        **elements: Any,
    ) -> str | None:
        if operations:
            elements["memory_management_control_operations"] = operations
        header = make_header(
            self.sps, frame_num=entry.frame_num, field_pic_flag=int(structure != FRAME),
            bottom_field_flag=int(structure == BOTTOM), **elements,
        )  # fmt: skip
        entry.set_counts(structure, 2 * self.count, 2 * self.count + 1)
        if header.nal_unit_type == 5:
            self.buffer.clear()
        return self.buffer.mark(entry, header, structure, second)

    @property
    def short(self) -> list[int]:
        return [entry.frame_num for entry in self.buffer.short]

    @property
    def long(self) -> dict[int, int]:
        return {index: entry.frame_num for index, entry in self.buffer.long.items()}


def test_sliding_window_drops_the_oldest() -> None:
    m = Marking(3)
    for number in range(5):
        assert m.frame(number) is None
    assert m.short == [4, 3, 2]


def test_no_room_for_references_still_holds_one() -> None:
    m = Marking(0)
    for number in range(3):
        m.frame(number)
    assert m.short == [2]


def test_operation_1_removes_by_difference_across_the_wrap() -> None:
    m = Marking(4)
    for number in (14, 15, 0):
        m.frame(number)
    assert m.frame(1, (1, 2)) is None  # 1 - 3 = -2, frame_num 14
    assert m.short == [1, 0, 15]
    assert m.frame(2, (1, 7)) == NOT_THERE


def test_operations_2_3_4_and_6() -> None:
    m = Marking(4)
    for number in range(3):
        m.frame(number)
    m.frame(3, (4, 3), (3, 2, 0), (3, 1, 2))
    assert m.long == {0: 0, 2: 1}
    assert m.short == [3, 2]
    m.frame(4, (1, 1), (6, 1))
    assert m.long == {0: 0, 2: 1, 1: 4}
    assert m.short == [3]
    m.frame(5, (2, 2))
    assert m.long == {0: 0, 1: 4}
    m.frame(6, (4, 1), (1, 0))
    assert m.long == {0: 0}
    assert m.short == [6, 3]


def test_operation_3_replaces_what_had_the_index() -> None:
    m = Marking(4)
    for number in range(3):
        m.frame(number)
    m.frame(3, (4, 1), (3, 2, 0))
    m.frame(4, (3, 2, 0))
    assert m.long == {0: 1}
    assert m.short == [4, 3, 2]


def test_operation_5_empties_the_buffer_and_restarts_frame_num() -> None:
    m = Marking(4)
    for number in range(3):
        m.frame(number)
    m.frame(3, (4, 1), (3, 2, 0))
    m.frame(4, (5,))
    assert m.short == [0]
    assert m.long == {}


def test_idr_as_long_term_reference() -> None:
    m = Marking(4)
    m.frame(7)
    m.frame(0, nal_unit_type=5, long_term_reference_flag=1)
    assert m.short == []
    assert m.long == {0: 0}


def test_both_fields_make_one_entry_and_slide_once() -> None:
    m = Marking(2)
    m.frame(0)
    m.frame(1)
    pair = Entry(2, 2)
    assert m.mark(pair, TOP, False) is None
    assert m.short == [2, 1]
    assert pair.reference == TOP
    assert m.mark(pair, BOTTOM, True) is None
    assert m.short == [2, 1]
    assert pair.reference == FRAME


def test_a_field_can_unmark_one_field() -> None:
    m = Marking(3)
    m.frame(0)
    m.frame(1)
    first = m.buffer.short[1]
    pair = Entry(2, 2)
    # CurrPicNum 5; the top field of frame 0 has PicNum 1 (same parity), the bottom one 0
    m.mark(pair, TOP, False, ((1, 3),))
    assert first.reference == BOTTOM
    m.mark(pair, BOTTOM, True, ((1, 3),))
    assert first.reference == 0
    assert m.short == [2, 1]


def test_fields_of_a_frame_become_long_term_together() -> None:
    m = Marking(3)
    m.frame(0)
    pair = Entry(1, 1)
    assert m.mark(pair, TOP, False, ((4, 1), (3, 1, 0), (3, 2, 0))) is None
    assert m.long == {0: 0}
    assert m.buffer.long[0].reference == FRAME


def test_ffmpeg_loses_the_first_of_two_fields_made_long_term_by_operation_6() -> None:
    m = Marking(3)
    m.frame(0)
    pair = Entry(1, 1)
    m.mark(pair, TOP, False, ((4, 1), (6, 0)))
    assert m.mark(pair, BOTTOM, True, ((6, 0),)) is None
    assert m.buffer.long[0].reference == BOTTOM


def test_problems_are_reported() -> None:
    m = Marking(2)
    m.frame(0)
    assert m.frame(0) == DUPLICATE
    m.frame(1)
    m.buffer.short.append(Entry(9, 9))
    m.buffer.short[-1].reference = FRAME
    assert m.frame(2, (4, 0)) == OVERFLOW


def test_fillers_repeat_the_newest_reference_and_slide() -> None:
    m = Marking(3)
    m.frame(0)
    m.frame(1)
    source = m.buffer.short[0]
    for number in (2, 3):
        filler = m.buffer.add_filler(number, 3, 16, invalid=False)
    assert m.short == [3, 2, 1]
    assert filler.picture == source.picture
    assert filler.poc == source.poc + 4


def test_fillers_out_of_nothing_are_unknown() -> None:
    m = Marking(3)
    assert m.buffer.add_filler(5, 3, 16, invalid=True).picture == UNKNOWN
