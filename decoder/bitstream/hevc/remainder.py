"""What stands behind the reference picture set in a slice segment header (ITU-T H.265, 7.3.6.1).

Nothing of it is needed. It is read because a decoder that finds it wrong leaves the picture out,
and then the frames that follow have other numbers than headers tell.
"""

from __future__ import annotations

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.bitstream.hevc.pps import PictureParameterSet
from decoder.errors import InvalidSyntax

_B, _P = 0, 1


def read_remainder(
    r: BitReader, pps: PictureParameterSet, slice_type: int, idr: bool, total: int
) -> None:
    """From slice_temporal_mvp_enabled_flag to byte_alignment, of a first slice segment.

    Args:
        r: behind the reference picture set.
        pps: the picture parameter set of the slice.
        slice_type: B, P or I (table 7-7).
        idr: it is of an IDR picture.
        total: NumPicTotalCurr (7-55).
    """
    sps = pps.sps
    flag, ue = r.flag, r.ue
    mvp = flag("slice_temporal_mvp_enabled_flag") if sps.temporal_mvp and not idr else 0
    sao = 0
    if sps.sample_adaptive_offset_enabled_flag:
        sao = flag("slice_sao_luma_flag")
        if sps.chroma_format_idc:
            sao |= flag("slice_sao_chroma_flag")
    if slice_type in (_B, _P):
        _read_prediction(r, pps, slice_type, mvp, total)
    highest = 51 - 26 - pps.init_qp_minus26
    r.se("slice_qp_delta", highest - 51 - 6 * sps.bit_depth_luma_minus8, highest)
    if pps.pps_slice_chroma_qp_offsets_present_flag:
        r.se("slice_cb_qp_offset", -12, 12)
        r.se("slice_cr_qp_offset", -12, 12)
    if pps.chroma_qp_offset_list_enabled_flag:
        flag("cu_chroma_qp_offset_enabled_flag")
    disabled = pps.pps_deblocking_filter_disabled_flag
    override = pps.deblocking_filter_override_enabled_flag
    if override and flag("deblocking_filter_override_flag"):
        disabled = flag("slice_deblocking_filter_disabled_flag")
        if not disabled:
            r.se("slice_beta_offset_div2", -6, 6)
            r.se("slice_tc_offset_div2", -6, 6)
    if pps.pps_loop_filter_across_slices_enabled_flag and (sao or not disabled):
        flag("slice_loop_filter_across_slices_enabled_flag")
    if pps.has_entry_points:
        _read_entry_points(r, sps.pic_size_in_ctbs_y)
    if pps.slice_segment_header_extension_present_flag:
        for _ in range(ue("slice_segment_header_extension_length", 256)):
            r.u(8, "slice_segment_header_extension_data_byte")
    if not flag("alignment_bit_equal_to_one"):
        raise out_of_range("alignment_bit_equal_to_one", 0, 1, 1)


def _read_prediction(
    r: BitReader, pps: PictureParameterSet, slice_type: int, mvp: int, total: int
) -> None:
    """Of a P or B slice: from num_ref_idx_active_override_flag to five_minus_max_num_merge_cand."""
    flag, ue = r.flag, r.ue
    if not total:
        raise InvalidSyntax(f"slice_type is {slice_type} in a picture without references")
    counts = [pps.num_ref_idx_l0_default_active_minus1 + 1]
    if slice_type == _B:
        counts.append(pps.num_ref_idx_l1_default_active_minus1 + 1)
    if flag("num_ref_idx_active_override_flag"):
        counts[0] = ue("num_ref_idx_l0_active_minus1", 14) + 1
        if slice_type == _B:
            counts[1] = ue("num_ref_idx_l1_active_minus1", 14) + 1
    if pps.lists_modification_present_flag and total > 1:
        for x, count in enumerate(counts):
            if flag(f"ref_pic_list_modification_flag_l{x}"):
                for _ in range(count):
                    entry = r.u((total - 1).bit_length(), f"list_entry_l{x}")
                    if entry >= total:
                        raise out_of_range(f"list_entry_l{x}", entry, 0, total - 1)
    if slice_type == _B:
        flag("mvd_l1_zero_flag")
    if pps.cabac_init_present_flag:
        flag("cabac_init_flag")
    if mvp:
        from_l1 = slice_type == _B and not flag("collocated_from_l0_flag")
        if counts[from_l1] > 1:
            ue("collocated_ref_idx", counts[from_l1] - 1)
    if pps.weighted_bipred_flag if slice_type == _B else pps.weighted_pred_flag:
        _read_weights(r, pps, counts)
    ue("five_minus_max_num_merge_cand", 4)


def _read_weights(r: BitReader, pps: PictureParameterSet, counts: list[int]) -> None:
    """pred_weight_table (7.3.6.3)."""
    sps = pps.sps
    chroma = sps.chroma_format_idc
    denominator = r.ue("luma_log2_weight_denom", 7)
    if chroma:
        r.se("delta_chroma_log2_weight_denom", -denominator, 7 - denominator)
    luma_half = 128 << sps.bit_depth_luma_minus8
    chroma_half = 512 << sps.bit_depth_chroma_minus8
    for x, count in enumerate(counts):
        luma_flags = [r.flag(f"luma_weight_l{x}_flag") for _ in range(count)]
        chroma_flags = [r.flag(f"chroma_weight_l{x}_flag") if chroma else 0 for _ in range(count)]
        for luma_flag, chroma_flag in zip(luma_flags, chroma_flags, strict=True):
            if luma_flag:
                r.se(f"delta_luma_weight_l{x}", -128, 127)
                r.se(f"luma_offset_l{x}", -luma_half, luma_half - 1)
            for _ in range(2 * chroma_flag):
                r.se(f"delta_chroma_weight_l{x}", -128, 127)
                r.se(f"chroma_offset_l{x}", -chroma_half, chroma_half - 1)


def _read_entry_points(r: BitReader, most: int) -> None:
    """Where tiles or rows of coding tree blocks begin; there are less than blocks."""
    count = r.ue("num_entry_point_offsets", most)
    if count:
        length = r.ue("offset_len_minus1", 31) + 1
        r.u(count * length, "entry_point_offset_minus1")
