from __future__ import annotations

from decoder.bitstream.h264.poc import BOTTOM, FRAME, PicOrderCount

from .elements import make_header, make_sps


def test_type_0_wraps_up_and_down() -> None:
    sps = make_sps(pic_order_cnt_type=0, log2_max_pic_order_cnt_lsb_minus4=0)
    order = PicOrderCount()
    counts = []
    for kind, reference, lsb in (
        (5, 3, 0), (1, 1, 6), (1, 0, 3), (1, 1, 12), (1, 1, 2), (1, 0, 15), (1, 0, 4), (1, 1, 10),
    ):  # fmt: skip
        header = make_header(sps, nal_unit_type=kind, nal_ref_idc=reference, pic_order_cnt_lsb=lsb)
        counts.append(order.derive(header)[0])
    assert counts == [0, 6, 3, 12, 18, 15, 20, 26]


def test_type_0_pictures_that_are_no_references_do_not_move_the_base() -> None:
    sps = make_sps(pic_order_cnt_type=0, log2_max_pic_order_cnt_lsb_minus4=0)
    order = PicOrderCount()
    order.derive(make_header(sps, nal_unit_type=5))
    assert order.derive(make_header(sps, nal_ref_idc=0, pic_order_cnt_lsb=7))[0] == 7
    assert order.derive(make_header(sps, nal_ref_idc=0, pic_order_cnt_lsb=14))[0] == -2


def test_type_0_bottom_of_a_frame_is_a_difference() -> None:
    sps = make_sps(pic_order_cnt_type=0)
    order = PicOrderCount()
    header = make_header(sps, nal_unit_type=5, delta_pic_order_cnt_bottom=-1)
    assert order.derive(header) == (0, -1)


def test_type_0_a_stream_may_start_anywhere() -> None:
    sps = make_sps(pic_order_cnt_type=0, log2_max_pic_order_cnt_lsb_minus4=0)
    order = PicOrderCount()
    first = order.derive(make_header(sps, pic_order_cnt_lsb=14))[0]
    assert order.derive(make_header(sps, pic_order_cnt_lsb=2))[0] == first + 4


def test_type_1_cycle_and_deltas() -> None:
    sps = make_sps(
        pic_order_cnt_type=1,
        offset_for_ref_frame=(2, 4, 8),
        offset_for_non_ref_pic=-3,
        offset_for_top_to_bottom_field=1,
        log2_max_frame_num_minus4=0,
    )
    order = PicOrderCount()
    assert order.derive(make_header(sps, nal_unit_type=5)) == (0, 1)
    assert order.derive(make_header(sps, frame_num=1)) == (2, 3)
    # not a reference: one step back in the cycle, then the offset
    assert order.derive(make_header(sps, frame_num=2, nal_ref_idc=0)) == (-1, 0)
    assert order.derive(make_header(sps, frame_num=2, delta_pic_order_cnt=(5, 7))) == (11, 19)
    field = {"field_pic_flag": 1, "delta_pic_order_cnt": (5, 0)}
    assert order.derive(make_header(sps, frame_num=3, **field))[0] == 19
    assert order.derive(make_header(sps, frame_num=3, bottom_field_flag=1, **field))[1] == 20


def test_type_1_and_2_count_wraps_of_frame_num() -> None:
    for kind, expected in ((1, 17 * 2), (2, 34)):
        sps = make_sps(
            pic_order_cnt_type=kind, offset_for_ref_frame=(2,), log2_max_frame_num_minus4=0,
            offset_for_top_to_bottom_field=0, offset_for_non_ref_pic=0,
        )  # fmt: skip
        order = PicOrderCount()
        order.derive(make_header(sps, nal_unit_type=5))
        for number in range(1, 18):
            top, bottom = order.derive(make_header(sps, frame_num=number % 16))
        assert (top, bottom) == (expected, expected)


def test_type_2_pictures_that_are_no_references_come_one_earlier() -> None:
    sps = make_sps(pic_order_cnt_type=2)
    order = PicOrderCount()
    order.derive(make_header(sps, nal_unit_type=5))
    assert order.derive(make_header(sps, frame_num=1, nal_ref_idc=0)) == (1, 1)
    assert order.derive(make_header(sps, frame_num=1)) == (2, 2)


def test_operation_5_starts_counting_over() -> None:
    sps = make_sps(pic_order_cnt_type=0, log2_max_pic_order_cnt_lsb_minus4=4)
    order = PicOrderCount()
    order.derive(make_header(sps, nal_unit_type=5))
    header = make_header(sps, pic_order_cnt_lsb=40, delta_pic_order_cnt_bottom=-1)
    counts = order.derive(header)
    plain = order.copy(rebase=False)
    order.reset(FRAME, *counts)
    plain.reset(FRAME, *counts)
    following = make_header(sps, pic_order_cnt_lsb=3)
    assert order.derive(following)[0] == 3
    assert plain.derive(following)[0] == 3  # FFmpeg only compares with the lsb before
    order.derive(make_header(sps, nal_unit_type=5))
    counts = order.derive(make_header(sps, pic_order_cnt_lsb=100))
    plain = order.copy(rebase=False)
    order.reset(BOTTOM, *counts)
    plain.reset(BOTTOM, *counts)
    following = make_header(sps, pic_order_cnt_lsb=250)
    assert order.derive(following)[0] == -6
    assert plain.derive(following)[0] == -6


def test_operation_5_leaves_frame_num_behind() -> None:
    sps = make_sps(pic_order_cnt_type=2)
    order = PicOrderCount()
    order.derive(make_header(sps, nal_unit_type=5))
    counts = order.derive(make_header(sps, frame_num=5))
    plain = order.copy(rebase=False)
    order.reset(FRAME, *counts)
    plain.reset(FRAME, *counts)
    following = make_header(sps, frame_num=1)
    assert order.derive(following) == (2, 2)
    assert plain.derive(following) == (2, 2)
