"""Picture parameter set (ITU-T H.264, 7.3.2.2)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.bitstream.h264.sps import (
    MAX_SIZE_IN_MBS,
    SequenceParameterSet,
    read_nal_unit_header,
    read_scaling_lists,
)
from decoder.bitstream.nal import unescape
from decoder.errors import InvalidSyntax

NAL_PPS = 8
# No profile allows a larger map; a declared number of identifiers beyond it is damage
_MAX_MAP_UNITS = MAX_SIZE_IN_MBS * MAX_SIZE_IN_MBS

SpsLookup = Callable[[int], SequenceParameterSet | None]


class SliceGroups(Struct, frozen=True):
    """The slice group map of pic_parameter_set_rbsp; an element that is not present is None."""

    num_slice_groups_minus1: int
    slice_group_map_type: int
    run_length_minus1: tuple[int, ...] | None
    top_left: tuple[int, ...] | None
    bottom_right: tuple[int, ...] | None
    slice_group_change_direction_flag: int | None
    slice_group_change_rate_minus1: int | None
    pic_size_in_map_units_minus1: int | None

    @classmethod
    def read(cls, r: BitReader, num_slice_groups_minus1: int) -> SliceGroups:
        """Reads what follows num_slice_groups_minus1; slice_group_id is read and not kept."""
        slice_group_map_type = r.ue("slice_group_map_type", 6)
        groups = range(num_slice_groups_minus1 + 1)
        runs: list[int] = []
        top_left: list[int] = []
        bottom_right: list[int] = []
        direction_flag = change_rate_minus1 = pic_size_in_map_units_minus1 = None
        if slice_group_map_type == 0:
            runs = [r.ue("run_length_minus1", _MAX_MAP_UNITS - 1) for _ in groups]
        elif slice_group_map_type == 2:
            for _ in groups[1:]:
                top_left.append(r.ue("top_left", _MAX_MAP_UNITS - 1))
                bottom_right.append(r.ue("bottom_right", _MAX_MAP_UNITS - 1))
        elif slice_group_map_type in (3, 4, 5):
            direction_flag = r.flag("slice_group_change_direction_flag")
            change_rate_minus1 = r.ue("slice_group_change_rate_minus1", _MAX_MAP_UNITS - 1)
        elif slice_group_map_type == 6:
            pic_size_in_map_units_minus1 = r.ue("pic_size_in_map_units_minus1", _MAX_MAP_UNITS - 1)
            length = num_slice_groups_minus1.bit_length()
            for _ in range(pic_size_in_map_units_minus1 + 1):
                r.u(length, "slice_group_id")
        return cls(
            num_slice_groups_minus1=num_slice_groups_minus1,
            slice_group_map_type=slice_group_map_type,
            run_length_minus1=tuple(runs) if slice_group_map_type == 0 else None,
            top_left=tuple(top_left) if slice_group_map_type == 2 else None,
            bottom_right=tuple(bottom_right) if slice_group_map_type == 2 else None,
            slice_group_change_direction_flag=direction_flag,
            slice_group_change_rate_minus1=change_rate_minus1,
            pic_size_in_map_units_minus1=pic_size_in_map_units_minus1,
        )


class PictureParameterSet(Struct, frozen=True):
    """pic_parameter_set_rbsp (7.3.2.2) together with the SPS it was read under.

    ``slice_groups`` is None for the usual single slice group. ``scaling_lists`` holds delta_scale
    values as in the SPS, None when pic_scaling_matrix_present_flag is 0.
    """

    sps: SequenceParameterSet
    pic_parameter_set_id: int
    seq_parameter_set_id: int
    entropy_coding_mode_flag: int
    bottom_field_pic_order_in_frame_present_flag: int
    slice_groups: SliceGroups | None
    num_ref_idx_l0_default_active_minus1: int
    num_ref_idx_l1_default_active_minus1: int
    weighted_pred_flag: int
    weighted_bipred_idc: int
    pic_init_qp_minus26: int
    pic_init_qs_minus26: int
    chroma_qp_index_offset: int
    deblocking_filter_control_present_flag: int
    constrained_intra_pred_flag: int
    redundant_pic_cnt_present_flag: int
    transform_8x8_mode_flag: int
    scaling_lists: tuple[tuple[int, ...] | None, ...] | None
    second_chroma_qp_index_offset: int

    @classmethod
    def parse(cls, nal: bytes, sps_lookup: SpsLookup) -> PictureParameterSet:
        """Reads a NAL unit of type 8, given with its header byte and its emulation prevention."""
        return cls.read(BitReader(unescape(nal)), sps_lookup)

    @classmethod
    def read(cls, r: BitReader, sps_lookup: SpsLookup) -> PictureParameterSet:
        """Reads nal_unit_header and pic_parameter_set_rbsp; InvalidSyntax names the element."""
        read_nal_unit_header(r, NAL_PPS)
        pic_parameter_set_id = r.ue("pic_parameter_set_id", 255)
        seq_parameter_set_id = r.ue("seq_parameter_set_id", 31)
        sps = sps_lookup(seq_parameter_set_id)
        if sps is None:
            raise InvalidSyntax(
                f"seq_parameter_set_id: picture parameter set {pic_parameter_set_id} refers to"
                f" sequence parameter set {seq_parameter_set_id}, which is not there"
            )
        entropy_coding_mode_flag = r.flag("entropy_coding_mode_flag")
        bottom_field_pic_order = r.flag("bottom_field_pic_order_in_frame_present_flag")
        num_slice_groups_minus1 = r.ue("num_slice_groups_minus1", 7)
        slice_groups = None
        if num_slice_groups_minus1 > 0:
            slice_groups = SliceGroups.read(r, num_slice_groups_minus1)
        num_ref_idx_l0 = r.ue("num_ref_idx_l0_default_active_minus1", 31)
        num_ref_idx_l1 = r.ue("num_ref_idx_l1_default_active_minus1", 31)
        weighted_pred_flag = r.flag("weighted_pred_flag")
        weighted_bipred_idc = r.u(2, "weighted_bipred_idc")
        if weighted_bipred_idc > 2:
            raise out_of_range("weighted_bipred_idc", weighted_bipred_idc, 0, 2)
        low_qp = -(26 + 6 * sps.bit_depth_luma_minus8)
        pic_init_qp_minus26 = r.se("pic_init_qp_minus26", low_qp, 25)
        pic_init_qs_minus26 = r.se("pic_init_qs_minus26", -26, 25)
        chroma_qp_index_offset = r.se("chroma_qp_index_offset", -12, 12)
        deblocking_filter_control_present_flag = r.flag("deblocking_filter_control_present_flag")
        constrained_intra_pred_flag = r.flag("constrained_intra_pred_flag")
        redundant_pic_cnt_present_flag = r.flag("redundant_pic_cnt_present_flag")
        transform_8x8_mode_flag = 0
        scaling_lists = None
        second_chroma_qp_index_offset = chroma_qp_index_offset
        if r.more_rbsp_data():
            transform_8x8_mode_flag = r.flag("transform_8x8_mode_flag")
            if r.flag("pic_scaling_matrix_present_flag"):
                count_8x8 = 6 if sps.chroma_format_idc == 3 else 2
                count = 6 + count_8x8 * transform_8x8_mode_flag
                scaling_lists = read_scaling_lists(r, count, "pic_scaling_list_present_flag")
            second_chroma_qp_index_offset = r.se("second_chroma_qp_index_offset", -12, 12)
        return cls(
            sps=sps,
            pic_parameter_set_id=pic_parameter_set_id,
            seq_parameter_set_id=seq_parameter_set_id,
            entropy_coding_mode_flag=entropy_coding_mode_flag,
            bottom_field_pic_order_in_frame_present_flag=bottom_field_pic_order,
            slice_groups=slice_groups,
            num_ref_idx_l0_default_active_minus1=num_ref_idx_l0,
            num_ref_idx_l1_default_active_minus1=num_ref_idx_l1,
            weighted_pred_flag=weighted_pred_flag,
            weighted_bipred_idc=weighted_bipred_idc,
            pic_init_qp_minus26=pic_init_qp_minus26,
            pic_init_qs_minus26=pic_init_qs_minus26,
            chroma_qp_index_offset=chroma_qp_index_offset,
            deblocking_filter_control_present_flag=deblocking_filter_control_present_flag,
            constrained_intra_pred_flag=constrained_intra_pred_flag,
            redundant_pic_cnt_present_flag=redundant_pic_cnt_present_flag,
            transform_8x8_mode_flag=transform_8x8_mode_flag,
            scaling_lists=scaling_lists,
            second_chroma_qp_index_offset=second_chroma_qp_index_offset,
        )
