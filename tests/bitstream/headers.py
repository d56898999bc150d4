"""Random parameter sets and slice headers, for hypothesis (ITU-T H.264, 7.3)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from decoder.bitstream.h264.pps import PictureParameterSet, SliceGroups
from decoder.bitstream.h264.slice import SI, SP, B, I, P, SliceHeader
from decoder.bitstream.h264.sps import SequenceParameterSet
from decoder.bitstream.h264.vui import BitstreamRestriction, HrdParameters, VuiParameters
from decoder.bitstream.h264.weights import PredWeightTable

from .syntax import HIGH, ScalingLists, change_cycle_bits

Draw = st.DrawFn

flags = st.integers(0, 1)
offsets = st.integers(-(1 << 31) + 1, (1 << 31) - 1)


@st.composite
def scaling_list(draw: Draw, size: int) -> tuple[int, ...]:
    """delta_scale values up to the one that ends the list."""
    deltas: list[int] = []
    last_scale = 8
    for _ in range(size):
        delta = draw(st.integers(-128, 127))
        deltas.append(delta)
        last_scale = (last_scale + delta) & 255
        if last_scale == 0:
            break
    return tuple(deltas)


def _scaling_lists(count: int) -> st.SearchStrategy[ScalingLists]:
    lists = [st.none() | scaling_list(16 if i < 6 else 64) for i in range(count)]
    return st.none() | st.tuples(*lists)


@st.composite
def hrds(draw: Draw) -> HrdParameters:
    count = draw(st.integers(0, 3))
    values = st.tuples(*[st.integers(0, (1 << 32) - 2)] * (count + 1))
    five = st.integers(0, 31)
    return HrdParameters(
        cpb_cnt_minus1=count,
        bit_rate_scale=draw(st.integers(0, 15)),
        cpb_size_scale=draw(st.integers(0, 15)),
        bit_rate_value_minus1=draw(values),
        cpb_size_value_minus1=draw(values),
        cbr_flag=draw(st.tuples(*[flags] * (count + 1))),
        initial_cpb_removal_delay_length_minus1=draw(five),
        cpb_removal_delay_length_minus1=draw(five),
        dpb_output_delay_length_minus1=draw(five),
        time_offset_length=draw(five),
    )


@st.composite
def vuis(draw: Draw) -> VuiParameters:
    byte, word = st.integers(0, 255), st.integers(0, 65535)
    long = st.integers(0, (1 << 32) - 1)
    aspect = draw(st.none() | byte)
    extended = aspect == 255
    signal, description, chroma, timing = (draw(st.booleans()) for _ in range(4))
    description = signal and description
    nal, vcl = draw(st.none() | hrds()), draw(st.none() | hrds())
    sixteen = st.integers(0, 16)
    restriction = st.builds(
        BitstreamRestriction, flags, sixteen, sixteen, sixteen, sixteen, sixteen, sixteen
    )

    def when(present: bool, values: st.SearchStrategy[int]) -> int | None:
        return draw(values) if present else None

    return VuiParameters(
        aspect_ratio_idc=aspect,
        sar_width=when(extended, word),
        sar_height=when(extended, word),
        overscan_appropriate_flag=draw(st.none() | flags),
        video_format=when(signal, st.integers(0, 7)),
        video_full_range_flag=when(signal, flags),
        colour_primaries=when(description, byte),
        transfer_characteristics=when(description, byte),
        matrix_coefficients=when(description, byte),
        chroma_sample_loc_type_top_field=when(chroma, st.integers(0, 5)),
        chroma_sample_loc_type_bottom_field=when(chroma, st.integers(0, 5)),
        num_units_in_tick=when(timing, long),
        time_scale=when(timing, long),
        fixed_frame_rate_flag=when(timing, flags),
        nal_hrd_parameters=nal,
        vcl_hrd_parameters=vcl,
        low_delay_hrd_flag=when(nal is not None or vcl is not None, flags),
        pic_struct_present_flag=draw(flags),
        bitstream_restriction=draw(st.none() | restriction),
    )


@st.composite
def sequence_parameter_sets(draw: Draw) -> SequenceParameterSet:
    profile = draw(st.sampled_from((66, 77, 88, *HIGH)))
    high = profile in HIGH
    chroma = draw(st.integers(0, 3)) if high else 1
    order = draw(st.integers(0, 2))
    frames_only = draw(flags)
    width, height = draw(st.integers(0, 200)), draw(st.integers(0, 200))
    # At most 12 of the 16 samples of each macroblock, so that something of the picture is left.
    crop_x, crop_y = st.integers(0, 3 * (width + 1)), st.integers(0, 3 * (height + 1))
    depth = draw(st.integers(0, 6)) if high else 0
    twelve = st.integers(0, 12)
    return SequenceParameterSet(
        profile_idc=profile,
        constraint_set_flags=draw(st.integers(0, 63)) << 2,
        level_idc=draw(st.integers(0, 255)),
        seq_parameter_set_id=draw(st.integers(0, 31)),
        chroma_format_idc=chroma,
        separate_colour_plane_flag=draw(flags) if chroma == 3 else 0,
        bit_depth_luma_minus8=depth,
        bit_depth_chroma_minus8=depth,
        qpprime_y_zero_transform_bypass_flag=draw(flags) if high else 0,
        scaling_lists=draw(_scaling_lists(12 if chroma == 3 else 8)) if high else None,
        log2_max_frame_num_minus4=draw(twelve),
        pic_order_cnt_type=order,
        log2_max_pic_order_cnt_lsb_minus4=draw(twelve) if order == 0 else 0,
        delta_pic_order_always_zero_flag=draw(flags) if order == 1 else 0,
        offset_for_non_ref_pic=draw(offsets) if order == 1 else 0,
        offset_for_top_to_bottom_field=draw(offsets) if order == 1 else 0,
        offset_for_ref_frame=tuple(draw(st.lists(offsets, max_size=4))) if order == 1 else (),
        max_num_ref_frames=draw(st.integers(0, 16)),
        gaps_in_frame_num_value_allowed_flag=draw(flags),
        pic_width_in_mbs_minus1=width,
        pic_height_in_map_units_minus1=height,
        frame_mbs_only_flag=frames_only,
        mb_adaptive_frame_field_flag=0 if frames_only else draw(flags),
        direct_8x8_inference_flag=draw(flags) if frames_only else 1,
        frame_crop_left_offset=draw(crop_x),
        frame_crop_right_offset=draw(crop_x),
        frame_crop_top_offset=draw(crop_y),
        frame_crop_bottom_offset=draw(crop_y),
        vui=draw(st.none() | vuis()),
    )


@st.composite
def slice_groups(draw: Draw) -> SliceGroups:
    count = draw(st.integers(1, 7))
    kind = draw(st.integers(0, 6))
    number = st.integers(0, 1000)
    changing = kind in (3, 4, 5)
    return SliceGroups(
        num_slice_groups_minus1=count,
        slice_group_map_type=kind,
        run_length_minus1=draw(st.tuples(*[number] * (count + 1))) if kind == 0 else None,
        top_left=draw(st.tuples(*[number] * count)) if kind == 2 else None,
        bottom_right=draw(st.tuples(*[number] * count)) if kind == 2 else None,
        slice_group_change_direction_flag=draw(flags) if changing else None,
        slice_group_change_rate_minus1=draw(number) if changing else None,
        pic_size_in_map_units_minus1=draw(st.integers(0, 50)) if kind == 6 else None,
    )


@st.composite
def picture_parameter_sets(draw: Draw) -> PictureParameterSet:
    sps = draw(sequence_parameter_sets())
    chroma_offset = st.integers(-12, 12)
    first = draw(chroma_offset)
    extended = draw(st.booleans())
    transform = draw(flags) if extended else 0
    count = 6 + (6 if sps.chroma_format_idc == 3 else 2) * transform
    return PictureParameterSet(
        sps=sps,
        pic_parameter_set_id=draw(st.integers(0, 255)),
        seq_parameter_set_id=sps.seq_parameter_set_id,
        entropy_coding_mode_flag=draw(flags),
        bottom_field_pic_order_in_frame_present_flag=draw(flags),
        slice_groups=draw(st.none() | slice_groups()),
        num_ref_idx_l0_default_active_minus1=draw(st.integers(0, 15)),
        num_ref_idx_l1_default_active_minus1=draw(st.integers(0, 15)),
        weighted_pred_flag=draw(flags),
        weighted_bipred_idc=draw(st.integers(0, 2)),
        pic_init_qp_minus26=draw(st.integers(-26 - 6 * sps.bit_depth_luma_minus8, 25)),
        pic_init_qs_minus26=draw(st.integers(-26, 25)),
        chroma_qp_index_offset=first,
        deblocking_filter_control_present_flag=draw(flags),
        constrained_intra_pred_flag=draw(flags),
        redundant_pic_cnt_present_flag=draw(flags),
        transform_8x8_mode_flag=transform,
        scaling_lists=draw(_scaling_lists(count)) if extended else None,
        second_chroma_qp_index_offset=draw(chroma_offset) if extended else first,
    )


def _operations(field: int) -> st.SearchStrategy[tuple[tuple[int, ...], ...]]:
    difference, number = st.integers(0, 60000), st.integers(0, 31 if field else 15)
    index = st.integers(0, 15)
    one = st.one_of(
        st.tuples(st.just(1), difference),
        st.tuples(st.just(2), number),
        st.tuples(st.just(3), difference, index),
        st.tuples(st.just(4), st.integers(0, 16)),
        st.just((5,)),
        st.tuples(st.just(6), index),
    )
    return st.lists(one, max_size=5).map(tuple)


@st.composite
def _weights(draw: Draw, chroma: bool, l0: int, l1: int) -> PredWeightTable:
    value = st.integers(-128, 127)
    luma = st.none() | st.tuples(value, value)
    both: st.SearchStrategy[Any] = st.none()
    if chroma:
        both = both | st.tuples(value, value, value, value)
    denominator = st.integers(0, 7)
    return PredWeightTable(
        luma_log2_weight_denom=draw(denominator),
        chroma_log2_weight_denom=draw(denominator) if chroma else 0,
        luma_l0=draw(st.tuples(*[luma] * l0)),
        chroma_l0=draw(st.tuples(*[both] * l0)),
        luma_l1=draw(st.tuples(*[luma] * l1)),
        chroma_l1=draw(st.tuples(*[both] * l1)),
    )


def _commands(
    entries: int, max_pic_num: int
) -> st.SearchStrategy[tuple[tuple[int, int], ...] | None]:
    short = st.tuples(st.integers(0, 1), st.integers(0, max_pic_num - 1))
    long = st.tuples(st.just(2), st.integers(0, 31))
    return st.none() | st.lists(short | long, max_size=entries).map(tuple)


@st.composite
def slice_headers(draw: Draw) -> SliceHeader:
    pps = draw(picture_parameter_sets())
    sps = pps.sps
    idr = draw(st.booleans())
    kind = draw(st.sampled_from((I, SI) if idr else (P, B, I, SP, SI)))
    inter = kind in (P, B, SP)
    reference = draw(st.integers(1, 3)) if idr else draw(st.integers(0, 3))
    field = 0 if sps.frame_mbs_only_flag else draw(flags)
    in_frame = pps.bottom_field_pic_order_in_frame_present_flag and not field
    deltas = sps.pic_order_cnt_type == 1 and not sps.delta_pic_order_always_zero_flag
    l0 = pps.num_ref_idx_l0_default_active_minus1 if inter else -1
    l1 = pps.num_ref_idx_l1_default_active_minus1 if kind == B else -1
    override = draw(flags) if inter else 0
    if override:
        l0 = draw(st.integers(0, 31 if field else 15))
        l1 = draw(st.integers(0, 31 if field else 15)) if kind == B else -1
    weighted = pps.weighted_bipred_idc == 1 if kind == B else pps.weighted_pred_flag
    table = None
    if inter and weighted:
        table = draw(_weights(sps.chroma_array_type != 0, l0 + 1, l1 + 1))
    adaptive = draw(flags) if reference and not idr else 0
    init_qp = 26 + pps.pic_init_qp_minus26
    init_qs = 26 + pps.pic_init_qs_minus26
    switching = kind in (SP, SI)
    deblocking = draw(st.integers(0, 2)) if pps.deblocking_filter_control_present_flag else 0
    filtered = pps.deblocking_filter_control_present_flag and deblocking != 1
    cycle_bits = change_cycle_bits(sps, pps)
    most = sps.max_frame_num << field  # MaxPicNum
    return SliceHeader(
        sps=sps,
        pps=pps,
        nal_ref_idc=reference,
        nal_unit_type=5 if idr else 1,
        first_mb_in_slice=draw(st.integers(0, 5000)),
        slice_type=kind + draw(st.sampled_from((0, 5))),
        pic_parameter_set_id=pps.pic_parameter_set_id,
        colour_plane_id=draw(st.integers(0, 2)) if sps.separate_colour_plane_flag else 0,
        frame_num=0 if idr else draw(st.integers(0, sps.max_frame_num - 1)),
        field_pic_flag=field,
        bottom_field_flag=draw(flags) if field else 0,
        idr_pic_id=draw(st.integers(0, 65535)) if idr else 0,
        pic_order_cnt_lsb=(
            draw(st.integers(0, sps.max_pic_order_cnt_lsb - 1))
            if sps.pic_order_cnt_type == 0
            else 0
        ),
        delta_pic_order_cnt_bottom=(
            draw(offsets) if sps.pic_order_cnt_type == 0 and in_frame else 0
        ),
        delta_pic_order_cnt=(
            draw(offsets) if deltas else 0,
            draw(offsets) if deltas and in_frame else 0,
        ),
        redundant_pic_cnt=(draw(st.integers(0, 127)) if pps.redundant_pic_cnt_present_flag else 0),
        direct_spatial_mv_pred_flag=draw(flags) if kind == B else 0,
        num_ref_idx_active_override_flag=override,
        num_ref_idx_l0_active_minus1=l0,
        num_ref_idx_l1_active_minus1=l1,
        ref_pic_list_modification_l0=draw(_commands(l0 + 1, most)) if inter else None,
        ref_pic_list_modification_l1=draw(_commands(l1 + 1, most)) if kind == B else None,
        pred_weight_table=table,
        no_output_of_prior_pics_flag=draw(flags) if idr else 0,
        long_term_reference_flag=draw(flags) if idr else 0,
        adaptive_ref_pic_marking_mode_flag=adaptive,
        memory_management_control_operations=draw(_operations(field)) if adaptive else (),
        cabac_init_idc=(draw(st.integers(0, 2)) if pps.entropy_coding_mode_flag and inter else 0),
        slice_qp_delta=draw(st.integers(-init_qp - 6 * sps.bit_depth_luma_minus8, 51 - init_qp)),
        sp_for_switch_flag=draw(flags) if kind == SP else 0,
        slice_qs_delta=draw(st.integers(-init_qs, 51 - init_qs)) if switching else 0,
        disable_deblocking_filter_idc=deblocking,
        slice_alpha_c0_offset_div2=draw(st.integers(-6, 6)) if filtered else 0,
        slice_beta_offset_div2=draw(st.integers(-6, 6)) if filtered else 0,
        slice_group_change_cycle=draw(st.integers(0, (1 << cycle_bits) - 1)),
    )
