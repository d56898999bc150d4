"""Picture parameter set (ITU-T H.265, 7.3.2.3)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from decoder.bitstream.bits import BitReader
from decoder.bitstream.hevc.scaling import read_scaling_list_data
from decoder.bitstream.hevc.sps import SequenceParameterSet
from decoder.bitstream.hevc.units import PPS_NUT, read_unit_header
from decoder.bitstream.nal import unescape
from decoder.errors import InvalidSyntax

SpsLookup = Callable[[int], SequenceParameterSet | None]

# Limits of the highest level (table A.8)
_MAX_TILE_COLUMNS = 20
_MAX_TILE_ROWS = 22
_MAX_SIZE = 1 << 14


class PictureParameterSet(Struct, frozen=True):
    """What slice headers need of pic_parameter_set_rbsp, with the SPS it was read under."""

    sps: SequenceParameterSet
    pps_pic_parameter_set_id: int
    pps_seq_parameter_set_id: int
    output_flag_present_flag: int
    num_extra_slice_header_bits: int
    cabac_init_present_flag: int
    num_ref_idx_l0_default_active_minus1: int
    num_ref_idx_l1_default_active_minus1: int
    init_qp_minus26: int
    pps_slice_chroma_qp_offsets_present_flag: int
    weighted_pred_flag: int
    weighted_bipred_flag: int
    has_entry_points: int
    """tiles_enabled_flag or entropy_coding_sync_enabled_flag."""
    pps_loop_filter_across_slices_enabled_flag: int
    deblocking_filter_override_enabled_flag: int
    pps_deblocking_filter_disabled_flag: int
    lists_modification_present_flag: int
    slice_segment_header_extension_present_flag: int
    chroma_qp_offset_list_enabled_flag: int
    pps_scc_extension_flag: int

    @classmethod
    def parse(cls, nal: bytes, sps_lookup: SpsLookup) -> PictureParameterSet:
        """Reads a NAL unit of type 34, given with its header and its emulation prevention."""
        return cls.read(BitReader(unescape(nal)), sps_lookup)

    @classmethod
    def read(cls, r: BitReader, sps_lookup: SpsLookup) -> PictureParameterSet:
        """Reads nal_unit_header and the rbsp; InvalidSyntax names the element."""
        read_unit_header(r, PPS_NUT)
        pps_pic_parameter_set_id = r.ue("pps_pic_parameter_set_id", 63)
        pps_seq_parameter_set_id = r.ue("pps_seq_parameter_set_id", 15)
        sps = sps_lookup(pps_seq_parameter_set_id)
        if sps is None:
            raise InvalidSyntax(
                f"pps_seq_parameter_set_id: sequence parameter set {pps_seq_parameter_set_id} is"
                " not there"
            )
        r.flag("dependent_slice_segments_enabled_flag")
        output_flag_present_flag = r.flag("output_flag_present_flag")
        num_extra_slice_header_bits = r.u(3, "num_extra_slice_header_bits")
        r.flag("sign_data_hiding_enabled_flag")
        cabac_init_present_flag = r.flag("cabac_init_present_flag")
        num_ref_idx_l0 = r.ue("num_ref_idx_l0_default_active_minus1", 14)
        num_ref_idx_l1 = r.ue("num_ref_idx_l1_default_active_minus1", 14)
        init_qp_minus26 = r.se("init_qp_minus26", -26 - 6 * sps.bit_depth_luma_minus8, 25)
        r.flag("constrained_intra_pred_flag")
        transform_skip_enabled_flag = r.flag("transform_skip_enabled_flag")
        if r.flag("cu_qp_delta_enabled_flag"):
            r.ue("diff_cu_qp_delta_depth", 3)
        r.se("pps_cb_qp_offset", -12, 12)
        r.se("pps_cr_qp_offset", -12, 12)
        chroma_qp_offsets = r.flag("pps_slice_chroma_qp_offsets_present_flag")
        weighted_pred_flag = r.flag("weighted_pred_flag")
        weighted_bipred_flag = r.flag("weighted_bipred_flag")
        r.flag("transquant_bypass_enabled_flag")
        tiles_enabled_flag = r.flag("tiles_enabled_flag")
        entropy_coding_sync_enabled_flag = r.flag("entropy_coding_sync_enabled_flag")
        if tiles_enabled_flag:
            _read_tiles(r)
        across_slices = r.flag("pps_loop_filter_across_slices_enabled_flag")
        override = disabled = 0
        if r.flag("deblocking_filter_control_present_flag"):
            override = r.flag("deblocking_filter_override_enabled_flag")
            disabled = r.flag("pps_deblocking_filter_disabled_flag")
            if not disabled:
                r.se("pps_beta_offset_div2", -6, 6)
                r.se("pps_tc_offset_div2", -6, 6)
        if r.flag("pps_scaling_list_data_present_flag"):
            read_scaling_list_data(r)
        lists_modification_present_flag = r.flag("lists_modification_present_flag")
        r.ue("log2_parallel_merge_level_minus2", 4)
        header_extension = r.flag("slice_segment_header_extension_present_flag")
        range_extension = pps_scc_extension_flag = chroma_qp_offset_list_enabled_flag = 0
        if r.flag("pps_extension_present_flag"):
            range_extension = r.flag("pps_range_extension_flag")
            r.flag("pps_multilayer_extension_flag")
            r.flag("pps_3d_extension_flag")
            pps_scc_extension_flag = r.flag("pps_scc_extension_flag")
            r.u(4, "pps_extension_4bits")
        if range_extension:
            if transform_skip_enabled_flag:
                r.ue("log2_max_transform_skip_block_size_minus2", 3)
            r.flag("cross_component_prediction_enabled_flag")
            chroma_qp_offset_list_enabled_flag = _read_offset_list(r)
            r.ue("log2_sao_offset_scale_luma", max(0, sps.bit_depth_luma_minus8 - 2))
            r.ue("log2_sao_offset_scale_chroma", max(0, sps.bit_depth_chroma_minus8 - 2))
        return cls(
            sps=sps,
            pps_pic_parameter_set_id=pps_pic_parameter_set_id,
            pps_seq_parameter_set_id=pps_seq_parameter_set_id,
            output_flag_present_flag=output_flag_present_flag,
            num_extra_slice_header_bits=num_extra_slice_header_bits,
            cabac_init_present_flag=cabac_init_present_flag,
            num_ref_idx_l0_default_active_minus1=num_ref_idx_l0,
            num_ref_idx_l1_default_active_minus1=num_ref_idx_l1,
            init_qp_minus26=init_qp_minus26,
            pps_slice_chroma_qp_offsets_present_flag=chroma_qp_offsets,
            weighted_pred_flag=weighted_pred_flag,
            weighted_bipred_flag=weighted_bipred_flag,
            has_entry_points=tiles_enabled_flag | entropy_coding_sync_enabled_flag,
            pps_loop_filter_across_slices_enabled_flag=across_slices,
            deblocking_filter_override_enabled_flag=override,
            pps_deblocking_filter_disabled_flag=disabled,
            lists_modification_present_flag=lists_modification_present_flag,
            slice_segment_header_extension_present_flag=header_extension,
            chroma_qp_offset_list_enabled_flag=chroma_qp_offset_list_enabled_flag,
            pps_scc_extension_flag=pps_scc_extension_flag,
        )


def _read_offset_list(r: BitReader) -> int:
    """chroma_qp_offset_list_enabled_flag and the list."""
    enabled = r.flag("chroma_qp_offset_list_enabled_flag")
    if enabled:
        r.ue("diff_cu_chroma_qp_offset_depth", 3)
        for _ in range(r.ue("chroma_qp_offset_list_len_minus1", 5) + 1):
            r.se("cb_qp_offset_list", -12, 12)
            r.se("cr_qp_offset_list", -12, 12)
    return enabled


def _read_tiles(r: BitReader) -> None:
    """What follows tiles_enabled_flag and entropy_coding_sync_enabled_flag."""
    columns = r.ue("num_tile_columns_minus1", _MAX_TILE_COLUMNS - 1)
    rows = r.ue("num_tile_rows_minus1", _MAX_TILE_ROWS - 1)
    if not r.flag("uniform_spacing_flag"):
        for _ in range(columns):
            r.ue("column_width_minus1", _MAX_SIZE)
        for _ in range(rows):
            r.ue("row_height_minus1", _MAX_SIZE)
    r.flag("loop_filter_across_tiles_enabled_flag")
