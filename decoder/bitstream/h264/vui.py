"""Video usability information of a sequence parameter set (ITU-T H.264, E.1)."""

from __future__ import annotations

from msgspec import Struct

from decoder.bitstream.bits import BitReader

_EXTENDED_SAR = 255


class HrdParameters(Struct, frozen=True):
    """hrd_parameters (E.1.2); the tuples have cpb_cnt_minus1 + 1 entries."""

    cpb_cnt_minus1: int
    bit_rate_scale: int
    cpb_size_scale: int
    bit_rate_value_minus1: tuple[int, ...]
    cpb_size_value_minus1: tuple[int, ...]
    cbr_flag: tuple[int, ...]
    initial_cpb_removal_delay_length_minus1: int
    cpb_removal_delay_length_minus1: int
    dpb_output_delay_length_minus1: int
    time_offset_length: int

    @classmethod
    def read(cls, r: BitReader) -> HrdParameters:
        """Reads hrd_parameters."""
        cpb_cnt_minus1 = r.ue("cpb_cnt_minus1", 31)
        bit_rate_scale = r.u(4, "bit_rate_scale")
        cpb_size_scale = r.u(4, "cpb_size_scale")
        bit_rates, cpb_sizes, cbr_flags = [], [], []
        for _ in range(cpb_cnt_minus1 + 1):
            bit_rates.append(r.ue("bit_rate_value_minus1"))
            cpb_sizes.append(r.ue("cpb_size_value_minus1"))
            cbr_flags.append(r.flag("cbr_flag"))
        return cls(
            cpb_cnt_minus1=cpb_cnt_minus1,
            bit_rate_scale=bit_rate_scale,
            cpb_size_scale=cpb_size_scale,
            bit_rate_value_minus1=tuple(bit_rates),
            cpb_size_value_minus1=tuple(cpb_sizes),
            cbr_flag=tuple(cbr_flags),
            initial_cpb_removal_delay_length_minus1=r.u(
                5, "initial_cpb_removal_delay_length_minus1"
            ),
            cpb_removal_delay_length_minus1=r.u(5, "cpb_removal_delay_length_minus1"),
            dpb_output_delay_length_minus1=r.u(5, "dpb_output_delay_length_minus1"),
            time_offset_length=r.u(5, "time_offset_length"),
        )


class BitstreamRestriction(Struct, frozen=True):
    """The part of vui_parameters behind bitstream_restriction_flag (E.1.1)."""

    motion_vectors_over_pic_boundaries_flag: int
    max_bytes_per_pic_denom: int
    max_bits_per_mb_denom: int
    log2_max_mv_length_horizontal: int
    log2_max_mv_length_vertical: int
    max_num_reorder_frames: int
    max_dec_frame_buffering: int

    @classmethod
    def read(cls, r: BitReader) -> BitstreamRestriction:
        """Reads the elements behind bitstream_restriction_flag."""
        return cls(
            motion_vectors_over_pic_boundaries_flag=r.flag(
                "motion_vectors_over_pic_boundaries_flag"
            ),
            max_bytes_per_pic_denom=r.ue("max_bytes_per_pic_denom", 16),
            max_bits_per_mb_denom=r.ue("max_bits_per_mb_denom", 16),
            log2_max_mv_length_horizontal=r.ue("log2_max_mv_length_horizontal", 16),
            log2_max_mv_length_vertical=r.ue("log2_max_mv_length_vertical", 16),
            max_num_reorder_frames=r.ue("max_num_reorder_frames", 16),
            max_dec_frame_buffering=r.ue("max_dec_frame_buffering", 16),
        )


class VuiParameters(Struct, frozen=True):
    """vui_parameters (E.1.1); an element that is not in the stream is None."""

    aspect_ratio_idc: int | None
    sar_width: int | None
    sar_height: int | None
    overscan_appropriate_flag: int | None
    video_format: int | None
    video_full_range_flag: int | None
    colour_primaries: int | None
    transfer_characteristics: int | None
    matrix_coefficients: int | None
    chroma_sample_loc_type_top_field: int | None
    chroma_sample_loc_type_bottom_field: int | None
    num_units_in_tick: int | None
    time_scale: int | None
    fixed_frame_rate_flag: int | None
    nal_hrd_parameters: HrdParameters | None
    vcl_hrd_parameters: HrdParameters | None
    low_delay_hrd_flag: int | None
    pic_struct_present_flag: int
    bitstream_restriction: BitstreamRestriction | None

    @classmethod
    def read(cls, r: BitReader) -> VuiParameters:
        """Reads vui_parameters."""
        aspect_ratio_idc = sar_width = sar_height = None
        if r.flag("aspect_ratio_info_present_flag"):
            aspect_ratio_idc = r.u(8, "aspect_ratio_idc")
            if aspect_ratio_idc == _EXTENDED_SAR:
                sar_width = r.u(16, "sar_width")
                sar_height = r.u(16, "sar_height")
        overscan_appropriate_flag = None
        if r.flag("overscan_info_present_flag"):
            overscan_appropriate_flag = r.flag("overscan_appropriate_flag")
        video_format = video_full_range_flag = None
        colour_primaries = transfer_characteristics = matrix_coefficients = None
        if r.flag("video_signal_type_present_flag"):
            video_format = r.u(3, "video_format")
            video_full_range_flag = r.flag("video_full_range_flag")
            if r.flag("colour_description_present_flag"):
                colour_primaries = r.u(8, "colour_primaries")
                transfer_characteristics = r.u(8, "transfer_characteristics")
                matrix_coefficients = r.u(8, "matrix_coefficients")
        chroma_top = chroma_bottom = None
        if r.flag("chroma_loc_info_present_flag"):
            chroma_top = r.ue("chroma_sample_loc_type_top_field", 5)
            chroma_bottom = r.ue("chroma_sample_loc_type_bottom_field", 5)
        num_units_in_tick = time_scale = fixed_frame_rate_flag = None
        if r.flag("timing_info_present_flag"):
            num_units_in_tick = r.u(32, "num_units_in_tick")
            time_scale = r.u(32, "time_scale")
            fixed_frame_rate_flag = r.flag("fixed_frame_rate_flag")
        nal_hrd = HrdParameters.read(r) if r.flag("nal_hrd_parameters_present_flag") else None
        vcl_hrd = HrdParameters.read(r) if r.flag("vcl_hrd_parameters_present_flag") else None
        low_delay_hrd_flag = None
        if nal_hrd is not None or vcl_hrd is not None:
            low_delay_hrd_flag = r.flag("low_delay_hrd_flag")
        pic_struct_present_flag = r.flag("pic_struct_present_flag")
        restriction = None
        if r.flag("bitstream_restriction_flag"):
            restriction = BitstreamRestriction.read(r)
        return cls(
            aspect_ratio_idc=aspect_ratio_idc,
            sar_width=sar_width,
            sar_height=sar_height,
            overscan_appropriate_flag=overscan_appropriate_flag,
            video_format=video_format,
            video_full_range_flag=video_full_range_flag,
            colour_primaries=colour_primaries,
            transfer_characteristics=transfer_characteristics,
            matrix_coefficients=matrix_coefficients,
            chroma_sample_loc_type_top_field=chroma_top,
            chroma_sample_loc_type_bottom_field=chroma_bottom,
            num_units_in_tick=num_units_in_tick,
            time_scale=time_scale,
            fixed_frame_rate_flag=fixed_frame_rate_flag,
            nal_hrd_parameters=nal_hrd,
            vcl_hrd_parameters=vcl_hrd,
            low_delay_hrd_flag=low_delay_hrd_flag,
            pic_struct_present_flag=pic_struct_present_flag,
            bitstream_restriction=restriction,
        )
