"""Video usability information and HRD parameters (ITU-T H.265, E.2): read to get past them."""

from __future__ import annotations

from decoder.bitstream.bits import BitReader

_EXTENDED_SAR = 255
_MAX_WINDOW_OFFSET = 16384


def read_vui_parameters(r: BitReader, max_sub_layers_minus1: int) -> int:
    """vui_parameters (E.2.1); its frame_field_info_present_flag."""
    if r.flag("aspect_ratio_info_present_flag") and r.u(8, "aspect_ratio_idc") == _EXTENDED_SAR:
        r.u(16, "sar_width")
        r.u(16, "sar_height")
    if r.flag("overscan_info_present_flag"):
        r.flag("overscan_appropriate_flag")
    if r.flag("video_signal_type_present_flag"):
        r.u(3, "video_format")
        r.flag("video_full_range_flag")
        if r.flag("colour_description_present_flag"):
            r.u(8, "colour_primaries")
            r.u(8, "transfer_characteristics")
            r.u(8, "matrix_coefficients")
    if r.flag("chroma_loc_info_present_flag"):
        r.ue("chroma_sample_loc_type_top_field", 5)
        r.ue("chroma_sample_loc_type_bottom_field", 5)
    r.flag("neutral_chroma_indication_flag")
    r.flag("field_seq_flag")
    frame_field_info_present_flag = r.flag("frame_field_info_present_flag")
    if r.flag("default_display_window_flag"):
        for side in ("left", "right", "top", "bottom"):
            r.ue(f"def_disp_win_{side}_offset", _MAX_WINDOW_OFFSET)
    if r.flag("vui_timing_info_present_flag"):
        read_timing_info(r, "vui")
        if r.flag("vui_hrd_parameters_present_flag"):
            read_hrd_parameters(r, True, max_sub_layers_minus1, (0, 0, 0))
    if r.flag("bitstream_restriction_flag"):
        r.flag("tiles_fixed_structure_flag")
        r.flag("motion_vectors_over_pic_boundaries_flag")
        r.flag("restricted_ref_pic_lists_flag")
        r.ue("min_spatial_segmentation_idc", 4095)
        r.ue("max_bytes_per_pic_denom", 16)
        r.ue("max_bits_per_min_cu_denom", 16)
        r.ue("log2_max_mv_length_horizontal", 16)
        r.ue("log2_max_mv_length_vertical", 16)
    return frame_field_info_present_flag


def read_timing_info(r: BitReader, of: str) -> None:
    """What follows ``of``_timing_info_present_flag, up to the HRD parameters."""
    r.u(32, f"{of}_num_units_in_tick")
    r.u(32, f"{of}_time_scale")
    if r.flag(f"{of}_poc_proportional_to_timing_flag"):
        r.ue(f"{of}_num_ticks_poc_diff_one_minus1")


Common = tuple[int, int, int]
"""nal_hrd_parameters_present_flag, vcl_hrd_parameters_present_flag and
sub_pic_hrd_params_present_flag."""


def read_hrd_parameters(
    r: BitReader, common_inf_present_flag: bool, max_sub_layers_minus1: int, common: Common
) -> Common:
    """hrd_parameters (E.2.2); ``common`` is that of the structure before, for one without."""
    if common_inf_present_flag:
        common = _read_common(r)
    nal, vcl, sub_pic = common
    for _ in range(max_sub_layers_minus1 + 1):
        fixed = r.flag("fixed_pic_rate_general_flag") or r.flag("fixed_pic_rate_within_cvs_flag")
        low_delay_hrd_flag = 0
        if fixed:
            r.ue("elemental_duration_in_tc_minus1", 2047)
        else:
            low_delay_hrd_flag = r.flag("low_delay_hrd_flag")
        cpb_cnt_minus1 = 0 if low_delay_hrd_flag else r.ue("cpb_cnt_minus1", 31)
        for _ in range((nal + vcl) * (cpb_cnt_minus1 + 1)):
            r.ue("bit_rate_value_minus1")
            r.ue("cpb_size_value_minus1")
            if sub_pic:
                r.ue("cpb_size_du_value_minus1")
                r.ue("bit_rate_du_value_minus1")
            r.flag("cbr_flag")
    return common


def _read_common(r: BitReader) -> Common:
    nal = r.flag("nal_hrd_parameters_present_flag")
    vcl = r.flag("vcl_hrd_parameters_present_flag")
    sub_pic = 0
    if nal or vcl:
        sub_pic = r.flag("sub_pic_hrd_params_present_flag")
        if sub_pic:
            r.u(8, "tick_divisor_minus2")
            r.u(5, "du_cpb_removal_delay_increment_length_minus1")
            r.flag("sub_pic_cpb_params_in_pic_timing_sei_flag")
            r.u(5, "dpb_output_delay_du_length_minus1")
        r.u(4, "bit_rate_scale")
        r.u(4, "cpb_size_scale")
        if sub_pic:
            r.u(4, "cpb_size_du_scale")
        r.u(5, "initial_cpb_removal_delay_length_minus1")
        r.u(5, "au_cpb_removal_delay_length_minus1")
        r.u(5, "dpb_output_delay_length_minus1")
    return nal, vcl, sub_pic
