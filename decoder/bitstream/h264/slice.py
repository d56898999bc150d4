"""Slice header (ITU-T H.264, 7.3.3), from the first bytes of a slice's NAL unit."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.bitstream.h264.pps import PictureParameterSet, SliceGroups
from decoder.bitstream.h264.sps import MAX_SIZE_IN_MBS, SequenceParameterSet
from decoder.bitstream.h264.weights import PredWeightTable
from decoder.bitstream.nal import unescape
from decoder.errors import InvalidSyntax, Truncated

PpsLookup = Callable[[int], PictureParameterSet | None]

# Unescaped at first; nearly every header fits, and a longer one is read again with more
_HEAD = 48
# Operations of one dec_ref_pic_marking: 32 fields, 32 indices, and one each of the rest
_MAX_OPERATIONS = 66
_MAX_FIRST_MB = MAX_SIZE_IN_MBS * MAX_SIZE_IN_MBS - 1
_MAX_PIC_NUM = 1 << 17  # of fields: twice the largest MaxFrameNum

# slice_type % 5 (table 7-6)
P, B, I, SP, SI = range(5)  # noqa: E741  (the names of the standard)


class SliceHeader(Struct, frozen=True):
    """slice_header (7.3.3) and the NAL unit header before it, with the parameter sets in force.

    Absent elements hold what 7.4.3 infers (0, if it says nothing). The two
    num_ref_idx_lX_active_minus1 are the effective values: of the slice where it overrides, of the
    PPS otherwise, and -1 for a list the slice type does not have.

    ref_pic_list_modification_lX is None when ref_pic_list_modification_flag_lX is 0 or not
    present, otherwise the pairs (modification_of_pic_nums_idc, value) without the closing 3; value
    is abs_diff_pic_num_minus1 for 0 and 1, long_term_pic_num for 2.

    memory_management_control_operations has one tuple per operation without the closing 0:
    (1, difference_of_pic_nums_minus1), (2, long_term_pic_num),
    (3, difference_of_pic_nums_minus1, long_term_frame_idx), (4, max_long_term_frame_idx_plus1),
    (5,), (6, long_term_frame_idx).
    """

    sps: SequenceParameterSet
    pps: PictureParameterSet
    nal_ref_idc: int
    nal_unit_type: int
    first_mb_in_slice: int
    slice_type: int
    pic_parameter_set_id: int
    colour_plane_id: int
    frame_num: int
    field_pic_flag: int
    bottom_field_flag: int
    idr_pic_id: int
    pic_order_cnt_lsb: int
    delta_pic_order_cnt_bottom: int
    delta_pic_order_cnt: tuple[int, int]
    redundant_pic_cnt: int
    direct_spatial_mv_pred_flag: int
    num_ref_idx_active_override_flag: int
    num_ref_idx_l0_active_minus1: int
    num_ref_idx_l1_active_minus1: int
    ref_pic_list_modification_l0: tuple[tuple[int, int], ...] | None
    ref_pic_list_modification_l1: tuple[tuple[int, int], ...] | None
    pred_weight_table: PredWeightTable | None
    no_output_of_prior_pics_flag: int
    long_term_reference_flag: int
    adaptive_ref_pic_marking_mode_flag: int
    memory_management_control_operations: tuple[tuple[int, ...], ...]
    cabac_init_idc: int
    slice_qp_delta: int
    sp_for_switch_flag: int
    slice_qs_delta: int
    disable_deblocking_filter_idc: int
    slice_alpha_c0_offset_div2: int
    slice_beta_offset_div2: int
    slice_group_change_cycle: int

    @property
    def kind(self) -> int:
        """slice_type % 5: one of P, B, I, SP, SI."""
        return self.slice_type % 5

    @property
    def idr_pic_flag(self) -> bool:
        """IdrPicFlag (7-1)."""
        return self.nal_unit_type == 5

    @classmethod
    def parse(cls, nal: bytes, pps_lookup: PpsLookup) -> SliceHeader:
        """Reads a NAL unit of type 1, 2 or 5, given with its header byte; unescapes its head only.

        Raises InvalidSyntax, naming the element, when the header is truncated, holds a value out of
        range or refers to a parameter set that is not there.
        """
        length = _HEAD
        while length < len(nal):
            try:
                return cls.read(BitReader(unescape(nal[:length])), pps_lookup)
            except Truncated:
                length *= 8
        return cls.read(BitReader(unescape(nal)), pps_lookup)

    @classmethod
    def read(cls, r: BitReader, pps_lookup: PpsLookup) -> SliceHeader:
        """Reads nal_unit_header and slice_header; InvalidSyntax names the element."""
        u, flag, ue = r.u, r.flag, r.ue
        header = u(8, "nal_unit_type")
        nal_ref_idc, nal_unit_type = header >> 5, header & 31
        if header & 128:
            raise out_of_range("forbidden_zero_bit", 1, 0, 0)
        idr = nal_unit_type == 5
        if not idr and nal_unit_type not in (1, 2):
            raise InvalidSyntax(f"nal_unit_type is {nal_unit_type}, a slice has 1, 2 or 5")
        if idr and not nal_ref_idc:
            raise out_of_range("nal_ref_idc", 0, 1, 3)

        first_mb_in_slice = ue("first_mb_in_slice", _MAX_FIRST_MB)
        slice_type = ue("slice_type", 9)
        kind = slice_type % 5
        if idr and kind not in (I, SI):
            raise InvalidSyntax(f"slice_type is {slice_type} in an IDR picture")
        pic_parameter_set_id = ue("pic_parameter_set_id", 255)
        pps = pps_lookup(pic_parameter_set_id)
        if pps is None:
            raise InvalidSyntax(
                f"pic_parameter_set_id: picture parameter set {pic_parameter_set_id} is not there"
            )
        sps = pps.sps
        colour_plane_id = 0
        if sps.separate_colour_plane_flag:
            colour_plane_id = u(2, "colour_plane_id")
            if colour_plane_id > 2:
                raise out_of_range("colour_plane_id", colour_plane_id, 0, 2)
        frame_num = u(sps.log2_max_frame_num_minus4 + 4, "frame_num")
        if idr and frame_num:
            raise out_of_range("frame_num", frame_num, 0, 0)
        field_pic_flag = bottom_field_flag = 0
        if not sps.frame_mbs_only_flag:
            field_pic_flag = flag("field_pic_flag")
            if field_pic_flag:
                bottom_field_flag = flag("bottom_field_flag")
        idr_pic_id = ue("idr_pic_id", 65535) if idr else 0

        pic_order_cnt_lsb = delta_pic_order_cnt_bottom = 0
        delta_pic_order_cnt = (0, 0)
        in_frame = pps.bottom_field_pic_order_in_frame_present_flag and not field_pic_flag
        if sps.pic_order_cnt_type == 0:
            pic_order_cnt_lsb = u(sps.log2_max_pic_order_cnt_lsb_minus4 + 4, "pic_order_cnt_lsb")
            if in_frame:
                delta_pic_order_cnt_bottom = r.se("delta_pic_order_cnt_bottom")
        elif sps.pic_order_cnt_type == 1 and not sps.delta_pic_order_always_zero_flag:
            first = r.se("delta_pic_order_cnt")
            delta_pic_order_cnt = (first, r.se("delta_pic_order_cnt") if in_frame else 0)
        redundant_pic_cnt = 0
        if pps.redundant_pic_cnt_present_flag:
            redundant_pic_cnt = ue("redundant_pic_cnt", 127)

        direct_spatial_mv_pred_flag = override = 0
        num_ref_idx_l0 = num_ref_idx_l1 = -1
        modification_l0 = modification_l1 = None
        pred_weight_table = None
        if kind in (P, B, SP):
            if kind == B:
                direct_spatial_mv_pred_flag = flag("direct_spatial_mv_pred_flag")
                num_ref_idx_l1 = pps.num_ref_idx_l1_default_active_minus1
            num_ref_idx_l0 = pps.num_ref_idx_l0_default_active_minus1
            override = flag("num_ref_idx_active_override_flag")
            high = 31 if field_pic_flag else 15
            max_pic_num = sps.max_frame_num << field_pic_flag
            if override:
                num_ref_idx_l0 = ue("num_ref_idx_l0_active_minus1", high)
                if kind == B:
                    num_ref_idx_l1 = ue("num_ref_idx_l1_active_minus1", high)
            elif num_ref_idx_l0 > high or num_ref_idx_l1 > high:
                raise out_of_range("num_ref_idx_active_override_flag", 0, 1, 1)
            if flag("ref_pic_list_modification_flag_l0"):
                modification_l0 = _read_modification(r, num_ref_idx_l0, max_pic_num)
            if kind == B and flag("ref_pic_list_modification_flag_l1"):
                modification_l1 = _read_modification(r, num_ref_idx_l1, max_pic_num)
            if pps.weighted_bipred_idc == 1 if kind == B else pps.weighted_pred_flag:
                pred_weight_table = PredWeightTable.read(
                    r, sps.chroma_array_type != 0, num_ref_idx_l0 + 1, num_ref_idx_l1 + 1
                )

        no_output_of_prior_pics_flag = long_term_reference_flag = adaptive = 0
        operations: tuple[tuple[int, ...], ...] = ()
        if nal_ref_idc:
            if idr:
                no_output_of_prior_pics_flag = flag("no_output_of_prior_pics_flag")
                long_term_reference_flag = flag("long_term_reference_flag")
            else:
                adaptive = flag("adaptive_ref_pic_marking_mode_flag")
                if adaptive:
                    operations = _read_marking(r, 31 if field_pic_flag else 15)

        cabac_init_idc = 0
        if pps.entropy_coding_mode_flag and kind not in (I, SI):
            cabac_init_idc = ue("cabac_init_idc", 2)
        init_qp = 26 + pps.pic_init_qp_minus26
        slice_qp_delta = r.se(
            "slice_qp_delta", -init_qp - 6 * sps.bit_depth_luma_minus8, 51 - init_qp
        )
        sp_for_switch_flag = slice_qs_delta = 0
        if kind in (SP, SI):
            if kind == SP:
                sp_for_switch_flag = flag("sp_for_switch_flag")
            init_qs = 26 + pps.pic_init_qs_minus26
            slice_qs_delta = r.se("slice_qs_delta", -init_qs, 51 - init_qs)
        disable_deblocking_filter_idc = alpha = beta = 0
        if pps.deblocking_filter_control_present_flag:
            disable_deblocking_filter_idc = ue("disable_deblocking_filter_idc", 2)
            if disable_deblocking_filter_idc != 1:
                alpha = r.se("slice_alpha_c0_offset_div2", -6, 6)
                beta = r.se("slice_beta_offset_div2", -6, 6)
        slice_group_change_cycle = 0
        if pps.slice_groups is not None:
            slice_group_change_cycle = _read_slice_group_change_cycle(r, sps, pps.slice_groups)

        return cls(
            sps,
            pps,
            nal_ref_idc,
            nal_unit_type,
            first_mb_in_slice,
            slice_type,
            pic_parameter_set_id,
            colour_plane_id,
            frame_num,
            field_pic_flag,
            bottom_field_flag,
            idr_pic_id,
            pic_order_cnt_lsb,
            delta_pic_order_cnt_bottom,
            delta_pic_order_cnt,
            redundant_pic_cnt,
            direct_spatial_mv_pred_flag,
            override,
            num_ref_idx_l0,
            num_ref_idx_l1,
            modification_l0,
            modification_l1,
            pred_weight_table,
            no_output_of_prior_pics_flag,
            long_term_reference_flag,
            adaptive,
            operations,
            cabac_init_idc,
            slice_qp_delta,
            sp_for_switch_flag,
            slice_qs_delta,
            disable_deblocking_filter_idc,
            alpha,
            beta,
            slice_group_change_cycle,
        )


def _read_modification(
    r: BitReader, num_ref_idx_active_minus1: int, max_pic_num: int
) -> tuple[tuple[int, int], ...]:
    """The loop of ref_pic_list_modification (7.3.3.1): at most one command per list entry."""
    commands: list[tuple[int, int]] = []
    while True:
        idc = r.ue("modification_of_pic_nums_idc", 3)
        if idc == 3:
            return tuple(commands)
        if len(commands) > num_ref_idx_active_minus1:
            raise InvalidSyntax(
                f"modification_of_pic_nums_idc: more commands than the"
                f" {num_ref_idx_active_minus1 + 1} entries of the list"
            )
        if idc == 2:
            commands.append((2, r.ue("long_term_pic_num", 31)))
        else:
            commands.append((idc, r.ue("abs_diff_pic_num_minus1", max_pic_num - 1)))


def _read_marking(r: BitReader, highest_long: int) -> tuple[tuple[int, ...], ...]:
    """The loop of dec_ref_pic_marking (7.3.3.3)."""
    operations: list[tuple[int, ...]] = []
    while True:
        operation = r.ue("memory_management_control_operation", 6)
        if operation == 0:
            return tuple(operations)
        if len(operations) == _MAX_OPERATIONS:
            raise InvalidSyntax(
                f"memory_management_control_operation: more than {_MAX_OPERATIONS} in one picture"
            )
        if operation == 1:
            difference = r.ue("difference_of_pic_nums_minus1", _MAX_PIC_NUM - 1)
            operations.append((1, difference))
        elif operation == 2:
            operations.append((2, r.ue("long_term_pic_num", highest_long)))
        elif operation == 3:
            difference = r.ue("difference_of_pic_nums_minus1", _MAX_PIC_NUM - 1)
            operations.append((3, difference, r.ue("long_term_frame_idx", 15)))
        elif operation == 4:
            operations.append((4, r.ue("max_long_term_frame_idx_plus1", 16)))
        elif operation == 5:
            operations.append((5,))
        else:
            operations.append((6, r.ue("long_term_frame_idx", 15)))


def _read_slice_group_change_cycle(
    r: BitReader, sps: SequenceParameterSet, groups: SliceGroups
) -> int:
    rate_minus1 = groups.slice_group_change_rate_minus1
    if rate_minus1 is None:
        return 0
    units = sps.pic_width_in_mbs * (sps.pic_height_in_map_units_minus1 + 1)
    # Ceil(Log2(PicSizeInMapUnits / SliceGroupChangeRate + 1)) bits, the division exact (7-35)
    cycles = -(-units // (rate_minus1 + 1))
    return r.u(cycles.bit_length(), "slice_group_change_cycle")
