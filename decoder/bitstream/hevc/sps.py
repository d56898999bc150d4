"""Sequence parameter set (ITU-T H.265, 7.3.2.2)."""

from __future__ import annotations

from msgspec import Struct

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.bitstream.hevc.rps import ShortTermRefPicSet
from decoder.bitstream.hevc.scaling import read_scaling_list_data
from decoder.bitstream.hevc.sub_layers import (
    read_max_sub_layers_minus1,
    read_profile_tier_level,
    read_sub_layer_ordering_info,
)
from decoder.bitstream.hevc.units import SPS_NUT, read_unit_header
from decoder.bitstream.hevc.vui import read_vui_parameters
from decoder.bitstream.nal import unescape
from decoder.errors import InvalidSyntax

_MAX_SIZE = 1 << 14  # luma samples; no level allows more than 16,888 (A.4.1)

_RANGE_EXTENSION = (
    "transform_skip_rotation_enabled_flag",
    "transform_skip_context_enabled_flag",
    "implicit_rdpcm_enabled_flag",
    "explicit_rdpcm_enabled_flag",
    "extended_precision_processing_flag",
    "intra_smoothing_disabled_flag",
    "high_precision_offsets_enabled_flag",
    "persistent_rice_adaptation_enabled_flag",
    "cabac_bypass_alignment_enabled_flag",
)


class SequenceParameterSet(Struct, frozen=True):
    """What slice headers, references and output need of seq_parameter_set_rbsp.

    Elements that are absent hold what 7.4.3.2 infers; those of the picture buffer are of the
    highest sub-layer.
    """

    sps_video_parameter_set_id: int
    sps_max_sub_layers_minus1: int
    sps_seq_parameter_set_id: int
    chroma_format_idc: int
    separate_colour_plane_flag: int
    bit_depth_luma_minus8: int
    bit_depth_chroma_minus8: int
    pic_size_in_ctbs_y: int
    """PicSizeInCtbsY (7-18)."""
    log2_max_pic_order_cnt_lsb: int
    sps_max_dec_pic_buffering_minus1: int
    sps_max_num_reorder_pics: int
    sample_adaptive_offset_enabled_flag: int
    st_ref_pic_sets: tuple[ShortTermRefPicSet, ...]
    long_term_ref_pics_present_flag: int
    lt_ref_pics: tuple[tuple[int, int], ...]
    """(lt_ref_pic_poc_lsb_sps, used_by_curr_pic_lt_sps_flag) of each."""
    temporal_mvp: int
    """sps_temporal_mvp_enabled_flag."""
    frame_field_info_present_flag: int
    sps_scc_extension_flag: int

    @classmethod
    def parse(cls, nal: bytes) -> SequenceParameterSet:
        """Reads a NAL unit of type 33, given with its header and its emulation prevention."""
        return cls.read(BitReader(unescape(nal)))

    @classmethod
    def read(cls, r: BitReader) -> SequenceParameterSet:
        """Reads nal_unit_header and the rbsp; InvalidSyntax names the element.

        Extensions for several layers, for depth and for screen content are not read: nothing
        behind them is needed.
        """
        read_unit_header(r, SPS_NUT)
        sps_video_parameter_set_id = r.u(4, "sps_video_parameter_set_id")
        max_sub_layers_minus1 = read_max_sub_layers_minus1(r, "sps")
        r.flag("sps_temporal_id_nesting_flag")
        read_profile_tier_level(r, max_sub_layers_minus1)
        sps_seq_parameter_set_id = r.ue("sps_seq_parameter_set_id", 15)
        chroma_format_idc = r.ue("chroma_format_idc", 3)
        separate = r.flag("separate_colour_plane_flag") if chroma_format_idc == 3 else 0
        width, height = _read_size(r, chroma_format_idc)
        bit_depth_luma_minus8 = r.ue("bit_depth_luma_minus8", 8)
        bit_depth_chroma_minus8 = r.ue("bit_depth_chroma_minus8", 8)
        log2_max_lsb = r.ue("log2_max_pic_order_cnt_lsb_minus4", 12) + 4
        buffering_minus1, reorder = read_sub_layer_ordering_info(r, "sps", max_sub_layers_minus1)
        log2_ctb_size = _read_block_sizes(r, width, height)
        if r.flag("scaling_list_enabled_flag") and r.flag("sps_scaling_list_data_present_flag"):
            read_scaling_list_data(r)
        r.flag("amp_enabled_flag")
        sample_adaptive_offset_enabled_flag = r.flag("sample_adaptive_offset_enabled_flag")
        if r.flag("pcm_enabled_flag"):
            _read_pcm(r, bit_depth_luma_minus8, bit_depth_chroma_minus8, log2_ctb_size)
        sets: list[ShortTermRefPicSet] = []
        for _ in range(r.ue("num_short_term_ref_pic_sets", 64)):
            sets.append(ShortTermRefPicSet.read(r, sets, in_slice=False))
        lt_ref_pics: list[tuple[int, int]] = []
        long_term_ref_pics_present_flag = r.flag("long_term_ref_pics_present_flag")
        if long_term_ref_pics_present_flag:
            for _ in range(r.ue("num_long_term_ref_pics_sps", 32)):
                lsb = r.u(log2_max_lsb, "lt_ref_pic_poc_lsb_sps")
                lt_ref_pics.append((lsb, r.flag("used_by_curr_pic_lt_sps_flag")))
        temporal_mvp = r.flag("sps_temporal_mvp_enabled_flag")
        r.flag("strong_intra_smoothing_enabled_flag")
        frame_field_info_present_flag = 0
        if r.flag("vui_parameters_present_flag"):
            frame_field_info_present_flag = read_vui_parameters(r, max_sub_layers_minus1)
        return cls(
            sps_video_parameter_set_id=sps_video_parameter_set_id,
            sps_max_sub_layers_minus1=max_sub_layers_minus1,
            sps_seq_parameter_set_id=sps_seq_parameter_set_id,
            chroma_format_idc=chroma_format_idc,
            separate_colour_plane_flag=separate,
            bit_depth_luma_minus8=bit_depth_luma_minus8,
            bit_depth_chroma_minus8=bit_depth_chroma_minus8,
            pic_size_in_ctbs_y=-(-width >> log2_ctb_size) * -(-height >> log2_ctb_size),
            log2_max_pic_order_cnt_lsb=log2_max_lsb,
            sps_max_dec_pic_buffering_minus1=buffering_minus1,
            sps_max_num_reorder_pics=reorder,
            sample_adaptive_offset_enabled_flag=sample_adaptive_offset_enabled_flag,
            st_ref_pic_sets=tuple(sets),
            long_term_ref_pics_present_flag=long_term_ref_pics_present_flag,
            lt_ref_pics=tuple(lt_ref_pics),
            temporal_mvp=temporal_mvp,
            frame_field_info_present_flag=frame_field_info_present_flag,
            sps_scc_extension_flag=_read_extensions(r),
        )


def _read_size(r: BitReader, chroma_format_idc: int) -> tuple[int, int]:
    """pic_width_in_luma_samples and pic_height_in_luma_samples, and the conformance window."""
    width = r.ue("pic_width_in_luma_samples", _MAX_SIZE)
    height = r.ue("pic_height_in_luma_samples", _MAX_SIZE)
    if not width or not height:
        raise InvalidSyntax(f"pic_width_in_luma_samples: a picture of {width}x{height}")
    if r.flag("conformance_window_flag"):
        unit_x = 2 if chroma_format_idc in (1, 2) else 1  # SubWidthC, SubHeightC (table 6-1)
        unit_y = 2 if chroma_format_idc == 1 else 1
        columns = r.ue("conf_win_left_offset", width) + r.ue("conf_win_right_offset", width)
        rows = r.ue("conf_win_top_offset", height) + r.ue("conf_win_bottom_offset", height)
        if unit_x * columns >= width or unit_y * rows >= height:
            raise InvalidSyntax("conf_win_bottom_offset: nothing of the picture is left")
    return width, height


def _read_block_sizes(r: BitReader, width: int, height: int) -> int:
    """From log2_min_luma_coding_block_size_minus3 to the transform hierarchy; CtbLog2SizeY."""
    log2_min_cb_size = r.ue("log2_min_luma_coding_block_size_minus3", 3) + 3
    log2_ctb_size = log2_min_cb_size + r.ue("log2_diff_max_min_luma_coding_block_size", 3)
    if not 4 <= log2_ctb_size <= 6:
        raise out_of_range("log2_diff_max_min_luma_coding_block_size", log2_ctb_size, 4, 6)
    if width % (1 << log2_min_cb_size) or height % (1 << log2_min_cb_size):
        raise InvalidSyntax(
            f"log2_min_luma_coding_block_size_minus3: blocks of {1 << log2_min_cb_size} do not"
            f" divide {width}x{height}"
        )
    log2_min_tb_size = r.ue("log2_min_luma_transform_block_size_minus2", log2_min_cb_size - 3) + 2
    r.ue("log2_diff_max_min_luma_transform_block_size", min(log2_ctb_size, 5) - log2_min_tb_size)
    r.ue("max_transform_hierarchy_depth_inter", log2_ctb_size - log2_min_tb_size)
    r.ue("max_transform_hierarchy_depth_intra", log2_ctb_size - log2_min_tb_size)
    return log2_ctb_size


def _read_pcm(
    r: BitReader, bit_depth_luma_minus8: int, bit_depth_chroma_minus8: int, log2_ctb_size: int
) -> None:
    """What follows pcm_enabled_flag."""
    for name, depth in (
        ("luma", bit_depth_luma_minus8 + 8),
        ("chroma", bit_depth_chroma_minus8 + 8),
    ):
        value = r.u(4, f"pcm_sample_bit_depth_{name}_minus1")
        if value >= depth:
            raise out_of_range(f"pcm_sample_bit_depth_{name}_minus1", value, 0, depth - 1)
    highest = min(log2_ctb_size, 5)
    log2_min = r.ue("log2_min_pcm_luma_coding_block_size_minus3", highest - 3) + 3
    r.ue("log2_diff_max_min_pcm_luma_coding_block_size", highest - log2_min)
    r.flag("pcm_loop_filter_disabled_flag")


def _read_extensions(r: BitReader) -> int:
    """The extension flags and the range extension; sps_scc_extension_flag."""
    if not r.flag("sps_extension_present_flag"):
        return 0
    range_extension = r.flag("sps_range_extension_flag")
    r.flag("sps_multilayer_extension_flag")
    r.flag("sps_3d_extension_flag")
    sps_scc_extension_flag = r.flag("sps_scc_extension_flag")
    r.u(4, "sps_extension_4bits")
    if range_extension:
        for name in _RANGE_EXTENSION:
            r.flag(name)
    return sps_scc_extension_flag
