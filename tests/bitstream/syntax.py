"""A writer for parameter sets and slice headers (ITU-T H.264, 7.3), the counterpart of parsing."""

from __future__ import annotations

import math

from msgspec.structs import fields

from decoder.bitstream.bits import BitWriter
from decoder.bitstream.h264.pps import PictureParameterSet, SliceGroups
from decoder.bitstream.h264.slice import SI, SP, B, I, P, SliceHeader
from decoder.bitstream.h264.sps import SequenceParameterSet
from decoder.bitstream.h264.vui import HrdParameters, VuiParameters
from decoder.bitstream.h264.weights import PredWeightTable
from decoder.bitstream.nal import escape

ScalingLists = tuple[tuple[int, ...] | None, ...] | None
HIGH = (100, 110, 122, 244, 44, 83, 86, 118, 128)


def _header(w: BitWriter, nal_ref_idc: int, nal_unit_type: int) -> None:
    w.u(1, 0)
    w.u(2, nal_ref_idc)
    w.u(5, nal_unit_type)


def _optional(w: BitWriter, length: int, *values: int | None) -> bool:
    """A present flag, then the values."""
    w.flag(values[0] is not None)
    for value in values:
        if value is not None:
            w.u(length, value)
    return values[0] is not None


def _write_scaling_lists(w: BitWriter, lists: ScalingLists) -> None:
    for scaling_list in lists or ():
        w.flag(scaling_list is not None)
        for delta_scale in scaling_list or ():
            w.se(delta_scale)


def write_sps(sps: SequenceParameterSet) -> bytes:
    w = BitWriter()
    _header(w, 3, 7)
    w.u(8, sps.profile_idc)
    w.u(8, sps.constraint_set_flags)
    w.u(8, sps.level_idc)
    w.ue(sps.seq_parameter_set_id)
    if sps.profile_idc in HIGH:
        w.ue(sps.chroma_format_idc)
        if sps.chroma_format_idc == 3:
            w.flag(sps.separate_colour_plane_flag)
        w.ue(sps.bit_depth_luma_minus8)
        w.ue(sps.bit_depth_chroma_minus8)
        w.flag(sps.qpprime_y_zero_transform_bypass_flag)
        w.flag(sps.scaling_lists is not None)
        _write_scaling_lists(w, sps.scaling_lists)
    w.ue(sps.log2_max_frame_num_minus4)
    w.ue(sps.pic_order_cnt_type)
    if sps.pic_order_cnt_type == 0:
        w.ue(sps.log2_max_pic_order_cnt_lsb_minus4)
    elif sps.pic_order_cnt_type == 1:
        w.flag(sps.delta_pic_order_always_zero_flag)
        w.se(sps.offset_for_non_ref_pic)
        w.se(sps.offset_for_top_to_bottom_field)
        w.ue(len(sps.offset_for_ref_frame))
        for offset in sps.offset_for_ref_frame:
            w.se(offset)
    w.ue(sps.max_num_ref_frames)
    w.flag(sps.gaps_in_frame_num_value_allowed_flag)
    w.ue(sps.pic_width_in_mbs_minus1)
    w.ue(sps.pic_height_in_map_units_minus1)
    w.flag(sps.frame_mbs_only_flag)
    if not sps.frame_mbs_only_flag:
        w.flag(sps.mb_adaptive_frame_field_flag)
    w.flag(sps.direct_8x8_inference_flag)
    crop = (
        sps.frame_crop_left_offset,
        sps.frame_crop_right_offset,
        sps.frame_crop_top_offset,
        sps.frame_crop_bottom_offset,
    )
    w.flag(any(crop))
    if any(crop):
        for offset in crop:
            w.ue(offset)
    w.flag(sps.vui is not None)
    if sps.vui is not None:
        _write_vui(w, sps.vui)
    w.trailing_bits()
    return escape(w.to_bytes())


def _write_vui(w: BitWriter, vui: VuiParameters) -> None:
    _optional(w, 8, vui.aspect_ratio_idc)
    if vui.aspect_ratio_idc == 255:
        w.u(16, vui.sar_width or 0)
        w.u(16, vui.sar_height or 0)
    _optional(w, 1, vui.overscan_appropriate_flag)
    if _optional(w, 3, vui.video_format):
        w.flag(vui.video_full_range_flag or 0)
        _optional(w, 8, vui.colour_primaries, vui.transfer_characteristics, vui.matrix_coefficients)
    w.flag(vui.chroma_sample_loc_type_top_field is not None)
    if vui.chroma_sample_loc_type_top_field is not None:
        w.ue(vui.chroma_sample_loc_type_top_field)
        w.ue(vui.chroma_sample_loc_type_bottom_field or 0)
    if _optional(w, 32, vui.num_units_in_tick, vui.time_scale):
        w.flag(vui.fixed_frame_rate_flag or 0)
    for hrd in (vui.nal_hrd_parameters, vui.vcl_hrd_parameters):
        w.flag(hrd is not None)
        if hrd is not None:
            _write_hrd(w, hrd)
    if vui.low_delay_hrd_flag is not None:
        w.flag(vui.low_delay_hrd_flag)
    w.flag(vui.pic_struct_present_flag)
    restriction = vui.bitstream_restriction
    w.flag(restriction is not None)
    if restriction is not None:
        w.flag(restriction.motion_vectors_over_pic_boundaries_flag)
        for element in fields(restriction)[1:]:
            w.ue(getattr(restriction, element.name))


def _write_hrd(w: BitWriter, hrd: HrdParameters) -> None:
    w.ue(hrd.cpb_cnt_minus1)
    w.u(4, hrd.bit_rate_scale)
    w.u(4, hrd.cpb_size_scale)
    for rate, size, flag in zip(
        hrd.bit_rate_value_minus1, hrd.cpb_size_value_minus1, hrd.cbr_flag, strict=True
    ):
        w.ue(rate)
        w.ue(size)
        w.flag(flag)
    for element in fields(hrd)[6:]:
        w.u(5, getattr(hrd, element.name))


def write_pps(pps: PictureParameterSet) -> bytes:
    w = BitWriter()
    _header(w, 3, 8)
    w.ue(pps.pic_parameter_set_id)
    w.ue(pps.seq_parameter_set_id)
    w.flag(pps.entropy_coding_mode_flag)
    w.flag(pps.bottom_field_pic_order_in_frame_present_flag)
    groups = pps.slice_groups
    w.ue(groups.num_slice_groups_minus1 if groups else 0)
    if groups is not None:
        _write_slice_groups(w, groups)
    w.ue(pps.num_ref_idx_l0_default_active_minus1)
    w.ue(pps.num_ref_idx_l1_default_active_minus1)
    w.flag(pps.weighted_pred_flag)
    w.u(2, pps.weighted_bipred_idc)
    w.se(pps.pic_init_qp_minus26)
    w.se(pps.pic_init_qs_minus26)
    w.se(pps.chroma_qp_index_offset)
    w.flag(pps.deblocking_filter_control_present_flag)
    w.flag(pps.constrained_intra_pred_flag)
    w.flag(pps.redundant_pic_cnt_present_flag)
    if (
        pps.transform_8x8_mode_flag
        or pps.scaling_lists is not None
        or pps.second_chroma_qp_index_offset != pps.chroma_qp_index_offset
    ):
        w.flag(pps.transform_8x8_mode_flag)
        w.flag(pps.scaling_lists is not None)
        _write_scaling_lists(w, pps.scaling_lists)
        w.se(pps.second_chroma_qp_index_offset)
    w.trailing_bits()
    return escape(w.to_bytes())


def _write_slice_groups(w: BitWriter, groups: SliceGroups) -> None:
    w.ue(groups.slice_group_map_type)
    for run in groups.run_length_minus1 or ():
        w.ue(run)
    for top_left, bottom_right in zip(
        groups.top_left or (), groups.bottom_right or (), strict=True
    ):
        w.ue(top_left)
        w.ue(bottom_right)
    if groups.slice_group_change_direction_flag is not None:
        w.flag(groups.slice_group_change_direction_flag)
        w.ue(groups.slice_group_change_rate_minus1 or 0)
    if groups.pic_size_in_map_units_minus1 is not None:
        w.ue(groups.pic_size_in_map_units_minus1)
        for unit in range(groups.pic_size_in_map_units_minus1 + 1):
            length = math.ceil(math.log2(groups.num_slice_groups_minus1 + 1))
            w.u(length, unit % (groups.num_slice_groups_minus1 + 1))


def write_slice(header: SliceHeader) -> tuple[bytes, int]:
    """The NAL unit (header and eight bytes of data) and the bits of its header, unescaped."""
    sps, pps, kind = header.sps, header.pps, header.slice_type % 5
    w = BitWriter()
    _header(w, header.nal_ref_idc, header.nal_unit_type)
    w.ue(header.first_mb_in_slice)
    w.ue(header.slice_type)
    w.ue(header.pic_parameter_set_id)
    if sps.separate_colour_plane_flag:
        w.u(2, header.colour_plane_id)
    w.u(sps.log2_max_frame_num_minus4 + 4, header.frame_num)
    if not sps.frame_mbs_only_flag:
        w.flag(header.field_pic_flag)
        if header.field_pic_flag:
            w.flag(header.bottom_field_flag)
    if header.nal_unit_type == 5:
        w.ue(header.idr_pic_id)
    in_frame = pps.bottom_field_pic_order_in_frame_present_flag and not header.field_pic_flag
    if sps.pic_order_cnt_type == 0:
        w.u(sps.log2_max_pic_order_cnt_lsb_minus4 + 4, header.pic_order_cnt_lsb)
        if in_frame:
            w.se(header.delta_pic_order_cnt_bottom)
    if sps.pic_order_cnt_type == 1 and not sps.delta_pic_order_always_zero_flag:
        w.se(header.delta_pic_order_cnt[0])
        if in_frame:
            w.se(header.delta_pic_order_cnt[1])
    if pps.redundant_pic_cnt_present_flag:
        w.ue(header.redundant_pic_cnt)
    if kind == B:
        w.flag(header.direct_spatial_mv_pred_flag)
    if kind in (P, SP, B):
        w.flag(header.num_ref_idx_active_override_flag)
        if header.num_ref_idx_active_override_flag:
            w.ue(header.num_ref_idx_l0_active_minus1)
            if kind == B:
                w.ue(header.num_ref_idx_l1_active_minus1)
    lists = (header.ref_pic_list_modification_l0, header.ref_pic_list_modification_l1)
    for commands in lists[: {P: 1, SP: 1, B: 2}.get(kind, 0)]:
        w.flag(commands is not None)
        if commands is not None:
            for idc, value in commands:
                w.ue(idc)
                w.ue(value)
            w.ue(3)
    if header.pred_weight_table is not None:
        _write_weights(w, header.pred_weight_table, sps.chroma_array_type != 0)
    if header.nal_ref_idc:
        if header.nal_unit_type == 5:
            w.flag(header.no_output_of_prior_pics_flag)
            w.flag(header.long_term_reference_flag)
        else:
            w.flag(header.adaptive_ref_pic_marking_mode_flag)
            if header.adaptive_ref_pic_marking_mode_flag:
                for operation in header.memory_management_control_operations:
                    for number in operation:
                        w.ue(number)
                w.ue(0)
    if pps.entropy_coding_mode_flag and kind not in (I, SI):
        w.ue(header.cabac_init_idc)
    w.se(header.slice_qp_delta)
    if kind in (SP, SI):
        if kind == SP:
            w.flag(header.sp_for_switch_flag)
        w.se(header.slice_qs_delta)
    if pps.deblocking_filter_control_present_flag:
        w.ue(header.disable_deblocking_filter_idc)
        if header.disable_deblocking_filter_idc != 1:
            w.se(header.slice_alpha_c0_offset_div2)
            w.se(header.slice_beta_offset_div2)
    w.u(change_cycle_bits(sps, pps), header.slice_group_change_cycle)
    size = w.size
    w.u(-w.size % 8, 0)
    w.u(64, 0x0102030405060780)
    return escape(w.to_bytes()), size


def change_cycle_bits(sps: SequenceParameterSet, pps: PictureParameterSet) -> int:
    """Ceil(Log2(PicSizeInMapUnits / SliceGroupChangeRate + 1)), or 0 where it is not present."""
    if pps.slice_groups is None or pps.slice_groups.slice_group_map_type not in (3, 4, 5):
        return 0
    assert pps.slice_groups.slice_group_change_rate_minus1 is not None
    units = sps.pic_width_in_mbs * (sps.pic_height_in_map_units_minus1 + 1)
    return math.ceil(
        math.log2(units / (pps.slice_groups.slice_group_change_rate_minus1 + 1) + 1) - 1e-12
    )


def _write_weights(w: BitWriter, table: PredWeightTable, chroma: bool) -> None:
    w.ue(table.luma_log2_weight_denom)
    if chroma:
        w.ue(table.chroma_log2_weight_denom)
    for lumas, chromas in (
        (table.luma_l0, table.chroma_l0),
        (table.luma_l1, table.chroma_l1),
    ):
        for luma, cbcr in zip(lumas, chromas, strict=True):
            w.flag(luma is not None)
            for value in luma or ():
                w.se(value)
            if chroma:
                w.flag(cbcr is not None)
                for value in cbcr or ():
                    w.se(value)
