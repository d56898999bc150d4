from __future__ import annotations

from typing import Any

import pytest

from decoder.bitstream.h264.dpb import DecodedPictureBuffer, Entry
from decoder.bitstream.h264.lists import MISSING, SHORT, Reference, reference_lists
from decoder.bitstream.h264.poc import BOTTOM, FRAME, TOP
from decoder.bitstream.h264.slice import B, P

from .elements import make_header, make_sps

Plain = list[int] | list[tuple[int, int]]

SPS = make_sps(log2_max_frame_num_minus4=0, max_num_ref_frames=8)


def buffer(
    short: list[tuple[int, int]], long: dict[int, tuple[int, int]] | None = None
) -> DecodedPictureBuffer:
    """(frame_num, count) oldest first; decode index = frame_num."""
    made = DecodedPictureBuffer()
    for frame_num, count in short:
        made.short.insert(0, _entry(frame_num, count))
    for index, (frame_num, count) in (long or {}).items():
        made.long[index] = _entry(frame_num, count)
        made.long[index].long_term = index
    return made


def _entry(frame_num: int, count: int) -> Entry:
    entry = Entry(frame_num, frame_num)
    entry.set_counts(FRAME, count, count + 1)
    entry.reference = FRAME
    return entry


def lists(
    dpb: DecodedPictureBuffer, kind: int, frame_num: int, count: int, *,
    structure: int = FRAME, active: tuple[int, int] = (16, 16), **elements: Any,
) -> tuple[Plain, Plain, str | None]:  # fmt: skip
    header = make_header(
        SPS, slice_type=kind, frame_num=frame_num,
        field_pic_flag=int(structure != FRAME), bottom_field_flag=int(structure == BOTTOM),
        num_ref_idx_l0_active_minus1=active[0] - 1,
        num_ref_idx_l1_active_minus1=active[1] - 1 if kind == B else -1, **elements,
    )  # fmt: skip
    list0, list1, problem = reference_lists(header, dpb, structure, count)
    return _plain(list0), _plain(list1), problem


def _plain(entries: list[Reference]) -> Plain:
    if all(fields == FRAME for _, fields in entries):
        return [entry.frame_num for entry, _ in entries]
    return [(entry.frame_num, fields) for entry, fields in entries]


def test_p_frames_newest_first_then_long_term_by_index() -> None:
    dpb = buffer([(14, 0), (15, 8), (0, 4)], {2: (3, 0), 0: (5, 2)})
    assert lists(dpb, P, 1, 12, active=(5, 0)) == ([0, 15, 14, 5, 3], [], None)
    assert lists(dpb, P, 1, 12, active=(2, 0)) == ([0, 15], [], None)


def test_b_frames_by_order_count() -> None:
    dpb = buffer([(0, 0), (1, 16), (2, 8), (3, 12)], {0: (9, 2)})
    past_first = [2, 0, 3, 1, 9]
    future_first = [3, 1, 2, 0, 9]
    assert lists(dpb, B, 4, 10, active=(5, 5)) == (past_first, future_first, None)


def test_equal_lists_swap_the_second() -> None:
    dpb = buffer([(0, 0), (1, 4), (2, 8)])
    assert lists(dpb, B, 3, 20, active=(3, 3)) == ([2, 1, 0], [1, 2, 0], None)
    assert lists(buffer([(0, 0)]), B, 1, 20, active=(1, 1)) == ([0], [0], None)
    # the swap looks at the whole lists, not at the active part
    assert lists(dpb, B, 3, 20, active=(1, 1)) == ([2], [1], None)


def test_p_fields_alternate_beginning_with_the_same_parity() -> None:
    dpb = buffer([(0, 0), (1, 4)])
    expected = [(1, TOP), (1, BOTTOM), (0, TOP), (0, BOTTOM)]
    assert lists(dpb, P, 2, 8, structure=TOP, active=(4, 0)) == (expected, [], None)
    dpb.short[0].reference = TOP  # frame 1
    expected = [(0, BOTTOM), (1, TOP), (0, TOP)]
    assert lists(dpb, P, 2, 9, structure=BOTTOM, active=(3, 0)) == (expected, [], None)


def test_b_fields_take_the_first_field_of_their_own_frame() -> None:
    dpb = buffer([(0, 0), (1, 16)])
    own = Entry(2, 2)
    own.set_counts(TOP, 8, 0)
    own.set_counts(BOTTOM, 0, 9)
    own.reference = TOP
    dpb.short.insert(0, own)
    list0, list1, _ = lists(dpb, B, 2, 9, structure=BOTTOM, active=(5, 5))
    assert list0 == [(0, BOTTOM), (2, TOP), (1, BOTTOM), (0, TOP), (1, TOP)]
    assert list1 == [(1, BOTTOM), (1, TOP), (0, BOTTOM), (2, TOP), (0, TOP)]


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (((0, 1),), [2, 3, 1, 0]),
        (((0, 3),), [0, 3, 2, 1]),
        (((0, 1), (1, 0)), [2, 3, 1, 0]),
        (((0, 1), (0, 1)), [2, 0, 3, 1]),
        (((1, 13),), [2, 3, 1, 0]),  # up by 14 of 16 is down by 2
        (((0, 0),), [3, 2, 1, 0]),
    ],
)
def test_modification_of_short_term(
    commands: tuple[tuple[int, int], ...], expected: list[int]
) -> None:
    dpb = buffer([(0, 0), (1, 4), (2, 8), (3, 12)])
    got = lists(dpb, P, 4, 20, active=(4, 0), ref_pic_list_modification_l0=commands)
    assert got == (expected, [], None)


def test_modification_repeats_and_drops_off_the_end() -> None:
    dpb = buffer([(0, 0), (1, 4), (2, 8)])
    got = lists(dpb, P, 3, 20, active=(2, 0), ref_pic_list_modification_l0=((0, 2),))
    assert got == ([0, 2], [], None)
    got = lists(dpb, P, 3, 20, active=(4, 0), ref_pic_list_modification_l0=((0, 2), (0, 15)))
    assert got[0][:2] == [0, 0]


def test_modification_with_long_term() -> None:
    dpb = buffer([(0, 0), (1, 4)], {3: (9, 2)})
    got = lists(dpb, P, 2, 20, active=(3, 0), ref_pic_list_modification_l0=((2, 3), (0, 1)))
    assert got == ([9, 0, 1], [], None)


def test_modification_of_fields() -> None:
    dpb = buffer([(0, 0), (1, 4)], {1: (9, 2)})
    # CurrPicNum is 5 in a field of frame 2; frame 0: 1 for the same parity, 0 for the other
    got = lists(
        dpb, P, 2, 20, structure=BOTTOM, active=(3, 0),
        ref_pic_list_modification_l0=((0, 4), (2, 3)),
    )  # fmt: skip
    assert got == ([(0, TOP), (9, BOTTOM), (1, BOTTOM)], [], None)


def test_second_list_is_modified_on_its_own() -> None:
    dpb = buffer([(0, 0), (1, 16), (2, 8)])
    got = lists(dpb, B, 3, 10, active=(2, 2), ref_pic_list_modification_l1=((0, 2),))
    assert got == ([2, 0], [0, 1], None)


def test_what_is_missing_is_said_and_replaced_by_the_first() -> None:
    dpb = buffer([(0, 0), (1, 4)])
    assert lists(dpb, P, 2, 8, active=(3, 0)) == ([1, 0, 1], [], SHORT)
    got = lists(dpb, P, 2, 8, active=(2, 0), ref_pic_list_modification_l0=((0, 8),))
    assert got[0][0] == 1
    assert got[2] is not None
    assert lists(buffer([]), P, 0, 8, active=(1, 0)) == ([], [], MISSING)
    dpb.short[0].reference = TOP  # a frame cannot read half of one
    assert lists(dpb, P, 2, 8, active=(2, 0))[2] == MISSING
