"""Order counts, reference picture sets and what is shown, by cases (H.265, 8.1.3, 8.3, C.5.2)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from decoder.bitstream.hevc import process as reasons
from decoder.bitstream.hevc.buffer import DISCARDED, NOT_FOR_OUTPUT
from decoder.bitstream.hevc.coded import CodedPicture
from decoder.bitstream.hevc.parameter_sets import ParameterSets
from decoder.bitstream.hevc.pps import PictureParameterSet
from decoder.bitstream.hevc.process import DecodingProcess
from decoder.bitstream.hevc.rps import ShortTermRefPicSet
from decoder.bitstream.hevc.slice import SliceSegmentHeader

from .syntax import Layout, parameter_sets

TRAIL_N, TRAIL_R, TSA_N, RADL_N, RADL_R, RASL_N, RASL_R = 0, 1, 2, 6, 7, 8, 9
BLA_W_LP, BLA_W_RADL, BLA_N_LP, IDR_W_RADL, IDR_N_LP, CRA = 16, 17, 18, 19, 20, 21


def pps_of(layout: Layout) -> PictureParameterSet:
    sets = ParameterSets()
    for unit in parameter_sets(layout):
        sets.update(unit)
    return sets.pps[0]


class Pictures:
    """Feeds pictures of few words to the decoding process."""

    def __init__(self, layout: Layout | None = None) -> None:
        self.process = DecodingProcess()
        self.pps = pps_of(layout or Layout(log2_max_lsb=4, max_num_reorder_pics=0))
        self.count = 0
        self.ended = True

    def __call__(
        self, kind: int, lsb: int = 0, refs: tuple[int, ...] = (), **more: Any
    ) -> CodedPicture:
        """A picture; ``refs`` are differences of order counts."""
        short = None
        if kind not in (IDR_W_RADL, IDR_N_LP):
            short = ShortTermRefPicSet(
                tuple((d, 1) for d in sorted(refs, reverse=True) if d < 0),
                tuple((d, 1) for d in sorted(refs) if d > 0),
            )
        fields = {"temporal_id": 0, "no_output_of_prior_pics_flag": 0} | more
        header = SliceSegmentHeader(
            pps=self.pps, nal_unit_type=kind, first_slice_segment_in_pic_flag=1, slice_type=2,
            slice_pic_order_cnt_lsb=lsb, short_term=short, **fields,
        )  # fmt: skip
        ended, self.ended = self.ended, False
        self.count += 1
        return self.process.picture(header, self.count - 1, after_end=ended)

    def end(self) -> None:
        """An end of sequence."""
        self.ended = True

    @property
    def shown(self) -> list[int]:
        self.process.buffer.drain()
        return self.process.buffer.shown


# -- order counts (8.3.1), MaxPicOrderCntLsb 16


def test_the_count_goes_up_and_down_by_less_than_half_a_turn() -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    lsbs = [7, 14, 5, 12, 4, 13, 3]
    assert [picture(TRAIL_R, lsb).poc for lsb in lsbs] == [7, 14, 21, 28, 36, 29, 35]


@pytest.mark.parametrize(("lsb", "poc"), [(1, 17), (7, 23), (8, 24), (9, 9), (15, 15)])
def test_exactly_half_a_turn(lsb: int, poc: int) -> None:
    """From 16: 8 ahead is ahead, 9 ahead is 7 back."""
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 8)
    picture(TRAIL_R, 0)
    assert picture(TRAIL_R, lsb).poc == poc


@pytest.mark.parametrize("kind", [TRAIL_N, TSA_N, RADL_N, RADL_R, RASL_N, RASL_R])
def test_pictures_that_the_count_is_not_told_from(kind: int) -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(CRA, 4)
    aside = picture(kind, 11 if kind < 6 else 1)
    assert not aside.anchor
    assert picture(TRAIL_R, 12).poc == 12
    assert picture(TRAIL_R, 3).poc == 19


def test_pictures_of_higher_sub_layers_are_not_either() -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    assert not picture(TRAIL_R, 7, temporal_id=1).anchor
    assert picture(TRAIL_R, 12).poc == -4
    assert picture(TRAIL_R, 3).poc == 3


@pytest.mark.parametrize("kind", [IDR_W_RADL, IDR_N_LP])
def test_idr_pictures_reset(kind: int) -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 7)
    again = picture(kind)
    assert (again.sequence, again.poc) == (1, 0)
    assert picture(TRAIL_R, 5).poc == 5


@pytest.mark.parametrize("kind", [BLA_W_LP, BLA_W_RADL, BLA_N_LP])
def test_bla_pictures_drop_the_high_bits(kind: int) -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    for lsb in (7, 14, 5):
        picture(TRAIL_R, lsb)
    broken = picture(kind, 12)
    assert (broken.sequence, broken.poc) == (1, 12)
    assert picture(TRAIL_R, 3).poc == 19


def test_cra_pictures_go_on_in_a_sequence() -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    for lsb in (7, 14):
        picture(TRAIL_R, lsb)
    cra = picture(CRA, 5)
    assert (cra.sequence, cra.poc) == (0, 21)


@pytest.mark.parametrize("first", [True, False])
def test_cra_pictures_at_the_start_and_behind_an_end_start_a_sequence(first: bool) -> None:
    picture = Pictures()
    if not first:
        picture(IDR_W_RADL)
        picture.end()
    cra = picture(CRA, 5)
    assert cra.sequence == (0 if first else 1)
    assert cra.rap
    leading = picture(RASL_N, 4, (1,))
    assert not leading.visible
    assert picture.process.buffer.hidden[leading.index] == reasons.SKIPPED
    assert cra.rap
    following = picture(TRAIL_R, 7, (-2,))
    assert following.poc - cra.poc == 2
    assert following.references == {cra.index}
    assert picture.process.fault is None


def test_counts_that_do_not_fit() -> None:
    picture = Pictures(Layout(log2_max_lsb=16))
    picture(IDR_W_RADL)
    for n in range(1, 1 << 17):
        picture(TRAIL_R, (n << 15) & 0xFFFF)
        if picture.process.fault:
            break
    assert picture.process.fault == reasons.TOO_FAR


# -- reference picture sets (8.3.2)


def test_what_is_named_is_kept_and_nothing_else() -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 2, (-2,))
    assert picture(TRAIL_R, 4, (-2, -4)).references == {0, 1}
    assert picture(TRAIL_R, 6, (-2,)).references == {2}
    assert picture.process.fault is None
    picture(TRAIL_R, 8, (-8,))
    assert picture.process.fault == reasons.MISSING


def test_pictures_kept_for_later_ones_are_references_too() -> None:
    """A decoder marks a picture as damaged when one of those is missing."""
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 2, (-2,))
    header = picture(TRAIL_R, 4, (-4,))
    assert header.references == {0}
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 2, (-2,))
    kept = ShortTermRefPicSet(((-2, 0), (-4, 1)), ())
    slice_header = SliceSegmentHeader(picture.pps, TRAIL_R, 0, 1, 0, 1, 1, 4, kept)
    found = picture.process.picture(slice_header, 2, after_end=False)
    assert found.references == {0, 1}


def test_random_access_points_read_nothing_and_keep() -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 2, (-2,))
    cra = picture(CRA, 6, (-4, -6))
    assert cra.references == set()
    assert picture(RASL_R, 4, (-2, -4, 2)).references == {0, 1, 2}
    assert not cra.rap
    assert cra.start


def long(lsb: int, cycle: int | None = None) -> dict[str, Any]:
    return {"long_term": ((lsb, 1, cycle),)}


def test_long_term_references_by_all_bits() -> None:
    """A picture up to 40 before, where the last four bits are not unique."""
    picture = Pictures(Layout(log2_max_lsb=4, long_term=True))
    picture(IDR_W_RADL)
    picture(TRAIL_R, 3, (-3,))
    picture(TRAIL_R, 11, (-8,))
    for poc in (19, 27, 35, 43):
        found = picture(TRAIL_R, poc & 15, (-8,), **long(3, poc // 16))
        assert found.references == {1, found.index - 1}
    assert picture.process.fault is None


def test_long_term_references_by_their_last_bits() -> None:
    picture = Pictures(Layout(log2_max_lsb=4, long_term=True))
    picture(IDR_W_RADL)
    picture(TRAIL_R, 5, (-5,))
    assert picture(TRAIL_R, 10, (-5,), **long(0)).references == {0, 1}
    assert picture.process.fault is None


def test_last_bits_that_two_pictures_share() -> None:
    """The other one need not be in the buffer: a decoder that is fed less may hold it."""
    picture = Pictures(Layout(log2_max_lsb=4, long_term=True))
    picture(IDR_W_RADL)
    picture(TRAIL_R, 8, (-8,))
    picture(TRAIL_R, 0, (-8,), **long(0, 1))
    picture(TRAIL_R, 4, (-4,), **long(0, 1))
    assert picture.process.fault is None
    picture(TRAIL_R, 6, (-2,), **long(0))
    assert picture.process.fault == reasons.AMBIGUOUS


def test_random_access_points_that_keep_by_last_bits() -> None:
    picture = Pictures(Layout(log2_max_lsb=4, long_term=True))
    picture(IDR_W_RADL)
    picture(TRAIL_R, 5, (-5,))
    picture(CRA, 8, (-3,), **long(0, 0))
    assert picture.process.fault is None
    picture(CRA, 10, (-2,), **long(0))
    assert picture.process.fault == reasons.KEPT


def test_two_pictures_of_one_count() -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 4, (-4,))
    picture(TRAIL_N, 4, (-4,))
    assert picture.process.fault == reasons.DOUBLE


@pytest.mark.parametrize("kind", [TRAIL_R, RADL_R])
def test_reading_across_a_random_access_point(kind: int) -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 2, (-2,))
    cra = picture(CRA, 6, (-4, -6))
    picture(kind, 7 if kind == TRAIL_R else 5, (-5,) if kind == TRAIL_R else (-3,))
    assert not cra.rap
    assert picture.process.fault == (reasons.ACROSS if kind == TRAIL_R else None)


def test_a_start_in_the_middle() -> None:
    picture = Pictures()
    picture(TRAIL_R, 3)
    assert picture.process.fault == reasons.BEFORE_START
    picture = Pictures()
    picture(IDR_W_RADL)
    picture.end()
    picture(TRAIL_R, 3)
    assert picture.process.fault == reasons.BEFORE_START


def test_another_sequence_parameter_set() -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    picture.pps = replace(picture.pps, sps=replace(picture.pps.sps))
    picture(IDR_W_RADL)
    assert picture.process.fault is None
    picture.pps = replace(picture.pps, sps=replace(picture.pps.sps))
    picture(CRA, 3)
    assert picture.process.fault == reasons.OTHER_SPS


# -- decoding that starts in the middle


def test_leading_pictures_that_need_nothing_from_before_take_something_all_the_same() -> None:
    """Or their random access point would be the first that a decoder is given."""
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 2, (-2,))
    picture(CRA, 6, (-4,))
    assert picture(RASL_N, 5, (1,)).references == {0, 2}
    picture(TRAIL_R, 8, (-2,))
    picture(CRA, 12)
    assert picture(RASL_R, 10, (2,)).references == {2, 5}
    assert picture(RASL_N, 11, (-1, 1)).references == {5, 6}


def test_leading_pictures_take_their_random_access_point() -> None:
    """A decoder knows by the last one it was given whether to pass over them."""
    picture = Pictures()
    picture(IDR_W_RADL)
    picture(TRAIL_R, 2, (-2,))
    picture(CRA, 6, (-4,))
    assert picture(RASL_N, 4, (-2,)).references == {1, 2}


def test_pictures_without_references_are_starts() -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    assert picture(TRAIL_R, 2).start
    assert not picture(TRAIL_R, 4, (-2,)).start
    assert not picture(TRAIL_N, 5).start
    assert not picture(TRAIL_R, 6, temporal_id=1).start


# -- what is shown (C.5.2)


@pytest.mark.parametrize(
    ("reorder", "order"), [(0, [0, 1, 2, 3, 4]), (1, [0, 2, 3, 1, 4]), (2, [0, 2, 3, 1, 4])]
)
def test_so_many_wait_as_the_sequence_allows(reorder: int, order: list[int]) -> None:
    picture = Pictures(Layout(log2_max_lsb=4, max_num_reorder_pics=reorder))
    for kind, lsb in (
        (IDR_W_RADL, 0), (TRAIL_R, 4), (TRAIL_N, 2), (TRAIL_N, 3), (TRAIL_R, 5)
    ):  # fmt: skip
        picture(kind, lsb)
    assert picture.shown == order


def test_a_full_buffer_shows_too() -> None:
    picture = Pictures(Layout(log2_max_lsb=4, max_num_reorder_pics=2, max_dec_pic_buffering=3))
    picture(IDR_W_RADL)
    picture(TRAIL_R, 6, (-6,))
    picture(TRAIL_R, 4, (-4, 2))
    assert picture.process.buffer.shown == [0]
    picture(TRAIL_R, 2, (-2, 2, 4))
    assert picture.process.buffer.shown == [0, 3, 2, 1]


def test_pictures_not_for_output() -> None:
    picture = Pictures()
    picture(IDR_W_RADL)
    assert not picture(TRAIL_R, 2, pic_output_flag=0).visible
    picture(TRAIL_R, 4, (-2,))
    assert picture.shown == [0, 2]
    assert picture.process.buffer.hidden == {1: NOT_FOR_OUTPUT}


@pytest.mark.parametrize("inferred", [False, True])
def test_prior_pictures_are_given_up(inferred: bool) -> None:
    picture = Pictures(Layout(log2_max_lsb=4, max_num_reorder_pics=2))
    picture(IDR_W_RADL)
    picture(TRAIL_R, 4, (-4,))
    picture(TRAIL_R, 6, (-6,))
    picture(TRAIL_N, 5, (1,))
    if inferred:
        picture.end()
        picture(CRA, 3)
    else:
        picture(IDR_W_RADL, no_output_of_prior_pics_flag=1)
    assert picture.shown == [0, 1, 4]
    assert picture.process.buffer.hidden == {2: DISCARDED, 3: DISCARDED}
