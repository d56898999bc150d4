"""Reference slots by cases: what a frame reads and leaves behind."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from decoder.bitstream.av1.frame import (
    INTER_FRAME,
    INTRA_ONLY_FRAME,
    KEY_FRAME,
    SWITCH_FRAME,
    FrameHeader,
    FrameSize,
    ShownAgain,
)
from decoder.bitstream.av1.sequence import SequenceHeader
from decoder.bitstream.av1.slots import ReferenceSlots
from decoder.bitstream.av1.tiles import TileInfo
from decoder.errors import InvalidSyntax

from .headers import make_sequence

SIZE = FrameSize(128, 128, 96, 128, 96)
SEQUENCE = make_sequence(1, {"frame_id_numbers_present_flag": 0})[1]


def frame(
    frame_type: int, refresh: int, reads: tuple[int, ...] = (), frame_id: int = 0
) -> FrameHeader:
    return FrameHeader(
        frame_type=frame_type,
        show_frame=1,
        showable_frame=int(frame_type != KEY_FRAME),
        current_frame_id=frame_id,
        refresh_frame_flags=refresh,
        frame_refs_short_signaling=0,
        ref_frame_idx=reads,
        delta_frame_id_minus_1=(),
        size=SIZE,
        tile_info=TileInfo(0, 1),
    )


def after(*headers: FrameHeader) -> ReferenceSlots:
    slots = ReferenceSlots()
    for number, header in enumerate(headers):
        slots.refresh(header, number)
    return slots


def inter(*reads: int, refresh: int = 0) -> FrameHeader:
    return frame(INTER_FRAME, refresh, (reads * 7)[:7])


KEY = frame(KEY_FRAME, 255)


def test_frames_take_the_slots_they_refresh() -> None:
    slots = after(KEY, inter(0, refresh=0b10), inter(0, 1, refresh=0b1000_0100))
    assert slots.read_by(inter(0), SEQUENCE) == (0,)
    assert slots.read_by(inter(1, 2), SEQUENCE) == (1, 2)
    assert slots.read_by(inter(7, 3, 1), SEQUENCE) == (0, 1, 2)


def test_what_refers_to_nothing() -> None:
    slots = after(KEY, inter(0, refresh=1))
    assert slots.read_by(frame(INTRA_ONLY_FRAME, 2), SEQUENCE) == ()
    assert slots.read_by(KEY, SEQUENCE) == ()


def test_an_intra_only_frame_takes_its_slots_only() -> None:
    slots = after(KEY, frame(INTRA_ONLY_FRAME, 0b1111))
    assert slots.read_by(inter(3), SEQUENCE) == (1,)
    assert slots.read_by(inter(4), SEQUENCE) == (0,)


def test_a_switch_frame_takes_all_slots() -> None:
    slots = after(KEY, inter(0, refresh=1), frame(SWITCH_FRAME, 255, (0, 1) * 3 + (0,)))
    assert slots.read_by(inter(0, 1, 2, 3, 4, 5, 6), SEQUENCE) == (2,)


def test_a_key_frame_shown_again_is_in_all_slots() -> None:
    hidden = replace(frame(KEY_FRAME, 0b100), show_frame=0, showable_frame=1)
    slots = after(KEY, hidden, inter(0, refresh=1))
    header, producer = slots.shown(ShownAgain(2, 0))
    assert (header, producer) == (hidden, 1)
    slots.load(header, 3)
    assert slots.read_by(inter(0, 1, 2, 3, 4, 5, 6), SEQUENCE) == (3,)
    with pytest.raises(InvalidSyntax, match=r"frame_to_show_map_idx: .* not showable"):
        slots.shown(ShownAgain(5, 0))


def test_frames_that_cannot_be_shown_again() -> None:
    slots = ReferenceSlots()
    with pytest.raises(InvalidSyntax, match="frame_to_show_map_idx: slot 4 is empty"):
        slots.shown(ShownAgain(4, 0))
    slots.refresh(KEY, 0)
    with pytest.raises(InvalidSyntax, match=r"frame_to_show_map_idx: .* not showable"):
        slots.shown(ShownAgain(4, 0))
    slots.refresh(replace(inter(0), refresh_frame_flags=16, current_frame_id=7), 1)
    with pytest.raises(InvalidSyntax, match="display_frame_id"):
        slots.shown(ShownAgain(4, 6))
    assert slots.shown(ShownAgain(4, 7))[1] == 1


def test_another_sequence_empties_the_slots() -> None:
    slots = after(KEY)
    slots.empty()
    with pytest.raises(InvalidSyntax, match="ref_frame_idx: slot 0 is empty"):
        slots.read_by(inter(0), SEQUENCE)


@pytest.mark.parametrize(
    ("width", "height", "fits"),
    [(256, 192, True), (257, 96, False), (128, 193, False), (8, 6, True), (7, 96, False),
     (128, 5, False)],
)  # fmt: skip
def test_references_of_other_sizes(width: int, height: int, fits: bool) -> None:
    slots = after(replace(KEY, size=FrameSize(width, width, height, width, height)))
    if fits:
        assert slots.read_by(inter(0), SEQUENCE) == (0,)
    else:
        with pytest.raises(InvalidSyntax, match=r"ref_frame_idx: .* size"):
            slots.read_by(inter(0), SEQUENCE)


def test_frame_ids() -> None:
    sequence: SequenceHeader = replace(
        SEQUENCE,
        frame_id_numbers_present_flag=1,
        delta_frame_id_length_minus_2=6,
        additional_frame_id_length_minus_1=0,
    )
    slots = after(frame(KEY_FRAME, 255, frame_id=500))
    reading = replace(inter(0), current_frame_id=3, delta_frame_id_minus_1=(14,) * 7)
    assert sequence.frame_id_length == 9
    assert slots.read_by(reading, sequence) == (0,)
    with pytest.raises(InvalidSyntax, match="delta_frame_id_minus_1"):
        slots.read_by(replace(reading, delta_frame_id_minus_1=(13,) * 7), sequence)
