"""Sequence parameter set (ITU-T H.264, 7.3.2.1.1)."""

from __future__ import annotations

from msgspec import Struct

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.bitstream.h264.vui import VuiParameters
from decoder.bitstream.nal import unescape
from decoder.errors import InvalidSyntax

NAL_SPS = 7
# Bounds that no level comes near; they keep products of declared sizes small
MAX_SIZE_IN_MBS = 1 << 12
# The profiles whose SPS has chroma_format_idc and what follows it (7.3.2.1.1)
_HIGH_PROFILES = frozenset((100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135))


class SequenceParameterSet(Struct, frozen=True):
    """seq_parameter_set_data (7.3.2.1.1); elements that are absent hold what 7.4.2.1.1 infers.

    ``scaling_lists`` holds the delta_scale values of each list, or None for a list not present.
    """

    profile_idc: int
    constraint_set_flags: int
    level_idc: int
    seq_parameter_set_id: int
    chroma_format_idc: int
    separate_colour_plane_flag: int
    bit_depth_luma_minus8: int
    bit_depth_chroma_minus8: int
    qpprime_y_zero_transform_bypass_flag: int
    scaling_lists: tuple[tuple[int, ...] | None, ...] | None
    log2_max_frame_num_minus4: int
    pic_order_cnt_type: int
    log2_max_pic_order_cnt_lsb_minus4: int
    delta_pic_order_always_zero_flag: int
    offset_for_non_ref_pic: int
    offset_for_top_to_bottom_field: int
    offset_for_ref_frame: tuple[int, ...]
    max_num_ref_frames: int
    gaps_in_frame_num_value_allowed_flag: int
    pic_width_in_mbs_minus1: int
    pic_height_in_map_units_minus1: int
    frame_mbs_only_flag: int
    mb_adaptive_frame_field_flag: int
    direct_8x8_inference_flag: int
    frame_crop_left_offset: int
    frame_crop_right_offset: int
    frame_crop_top_offset: int
    frame_crop_bottom_offset: int
    vui: VuiParameters | None

    @property
    def max_frame_num(self) -> int:
        """MaxFrameNum (7-10)."""
        return 1 << (self.log2_max_frame_num_minus4 + 4)

    @property
    def max_pic_order_cnt_lsb(self) -> int:
        """MaxPicOrderCntLsb (7-11)."""
        return 1 << (self.log2_max_pic_order_cnt_lsb_minus4 + 4)

    @property
    def pic_width_in_mbs(self) -> int:
        """PicWidthInMbs (7-13)."""
        return self.pic_width_in_mbs_minus1 + 1

    @property
    def frame_height_in_mbs(self) -> int:
        """FrameHeightInMbs (7-18)."""
        return (2 - self.frame_mbs_only_flag) * (self.pic_height_in_map_units_minus1 + 1)

    @property
    def frame_size_in_mbs(self) -> int:
        """PicSizeInMbs of a frame; a field has half of it (7-29)."""
        return self.pic_width_in_mbs * self.frame_height_in_mbs

    @property
    def chroma_array_type(self) -> int:
        """ChromaArrayType (7.4.2.1.1)."""
        return 0 if self.separate_colour_plane_flag else self.chroma_format_idc

    @classmethod
    def parse(cls, nal: bytes) -> SequenceParameterSet:
        """Reads a NAL unit of type 7, given with its header byte and its emulation prevention."""
        return cls.read(BitReader(unescape(nal)))

    @classmethod
    def read(cls, r: BitReader) -> SequenceParameterSet:
        """Reads nal_unit_header and seq_parameter_set_data; InvalidSyntax names the element."""
        read_nal_unit_header(r, NAL_SPS)
        profile_idc = r.u(8, "profile_idc")
        constraint_set_flags = 0
        for i in range(6):
            constraint_set_flags |= r.flag(f"constraint_set{i}_flag") << (7 - i)
        r.u(2, "reserved_zero_2bits")
        level_idc = r.u(8, "level_idc")
        seq_parameter_set_id = r.ue("seq_parameter_set_id", 31)

        chroma_format_idc = 1
        separate_colour_plane_flag = bit_depth_luma_minus8 = bit_depth_chroma_minus8 = 0
        qpprime_y_zero_transform_bypass_flag = 0
        scaling_lists = None
        if profile_idc in _HIGH_PROFILES:
            chroma_format_idc = r.ue("chroma_format_idc", 3)
            if chroma_format_idc == 3:
                separate_colour_plane_flag = r.flag("separate_colour_plane_flag")
            bit_depth_luma_minus8 = r.ue("bit_depth_luma_minus8", 6)
            bit_depth_chroma_minus8 = r.ue("bit_depth_chroma_minus8", 6)
            qpprime_y_zero_transform_bypass_flag = r.flag("qpprime_y_zero_transform_bypass_flag")
            if r.flag("seq_scaling_matrix_present_flag"):
                count = 12 if chroma_format_idc == 3 else 8
                scaling_lists = read_scaling_lists(r, count, "seq_scaling_list_present_flag")

        log2_max_frame_num_minus4 = r.ue("log2_max_frame_num_minus4", 12)
        pic_order_cnt_type = r.ue("pic_order_cnt_type", 2)
        log2_max_pic_order_cnt_lsb_minus4 = delta_pic_order_always_zero_flag = 0
        offset_for_non_ref_pic = offset_for_top_to_bottom_field = 0
        offset_for_ref_frame: tuple[int, ...] = ()
        if pic_order_cnt_type == 0:
            log2_max_pic_order_cnt_lsb_minus4 = r.ue("log2_max_pic_order_cnt_lsb_minus4", 12)
        elif pic_order_cnt_type == 1:
            delta_pic_order_always_zero_flag = r.flag("delta_pic_order_always_zero_flag")
            offset_for_non_ref_pic = r.se("offset_for_non_ref_pic")
            offset_for_top_to_bottom_field = r.se("offset_for_top_to_bottom_field")
            count = r.ue("num_ref_frames_in_pic_order_cnt_cycle", 255)
            offset_for_ref_frame = tuple([r.se("offset_for_ref_frame") for _ in range(count)])

        max_num_ref_frames = r.ue("max_num_ref_frames", 16)
        gaps_in_frame_num_value_allowed_flag = r.flag("gaps_in_frame_num_value_allowed_flag")
        pic_width_in_mbs_minus1 = r.ue("pic_width_in_mbs_minus1", MAX_SIZE_IN_MBS - 1)
        pic_height_in_map_units_minus1 = r.ue("pic_height_in_map_units_minus1", MAX_SIZE_IN_MBS - 1)
        frame_mbs_only_flag = r.flag("frame_mbs_only_flag")
        mb_adaptive_frame_field_flag = 0
        if not frame_mbs_only_flag:
            mb_adaptive_frame_field_flag = r.flag("mb_adaptive_frame_field_flag")
        direct_8x8_inference_flag = r.flag("direct_8x8_inference_flag")
        if not frame_mbs_only_flag and not direct_8x8_inference_flag:
            raise out_of_range("direct_8x8_inference_flag", 0, 1, 1)  # as decoders do
        if bit_depth_luma_minus8 != bit_depth_chroma_minus8:
            raise InvalidSyntax("bit_depth_chroma_minus8: not that of luma; decoders refuse it")
        left = right = top = bottom = 0
        if r.flag("frame_cropping_flag"):
            left = r.ue("frame_crop_left_offset", 16 * MAX_SIZE_IN_MBS)
            right = r.ue("frame_crop_right_offset", 16 * MAX_SIZE_IN_MBS)
            top = r.ue("frame_crop_top_offset", 16 * MAX_SIZE_IN_MBS)
            bottom = r.ue("frame_crop_bottom_offset", 16 * MAX_SIZE_IN_MBS)
        unit_x = 2 if chroma_format_idc in (1, 2) else 1
        unit_y = (2 if chroma_format_idc == 1 else 1) * (2 - frame_mbs_only_flag)
        height = 16 * (pic_height_in_map_units_minus1 + 1) * (2 - frame_mbs_only_flag)
        if (left + right) * unit_x >= 16 * (pic_width_in_mbs_minus1 + 1) or (
            top + bottom
        ) * unit_y >= height:
            raise InvalidSyntax("frame_crop_bottom_offset: nothing of the picture is left")
        vui = VuiParameters.read(r) if r.flag("vui_parameters_present_flag") else None
        return cls(
            profile_idc=profile_idc,
            constraint_set_flags=constraint_set_flags,
            level_idc=level_idc,
            seq_parameter_set_id=seq_parameter_set_id,
            chroma_format_idc=chroma_format_idc,
            separate_colour_plane_flag=separate_colour_plane_flag,
            bit_depth_luma_minus8=bit_depth_luma_minus8,
            bit_depth_chroma_minus8=bit_depth_chroma_minus8,
            qpprime_y_zero_transform_bypass_flag=qpprime_y_zero_transform_bypass_flag,
            scaling_lists=scaling_lists,
            log2_max_frame_num_minus4=log2_max_frame_num_minus4,
            pic_order_cnt_type=pic_order_cnt_type,
            log2_max_pic_order_cnt_lsb_minus4=log2_max_pic_order_cnt_lsb_minus4,
            delta_pic_order_always_zero_flag=delta_pic_order_always_zero_flag,
            offset_for_non_ref_pic=offset_for_non_ref_pic,
            offset_for_top_to_bottom_field=offset_for_top_to_bottom_field,
            offset_for_ref_frame=offset_for_ref_frame,
            max_num_ref_frames=max_num_ref_frames,
            gaps_in_frame_num_value_allowed_flag=gaps_in_frame_num_value_allowed_flag,
            pic_width_in_mbs_minus1=pic_width_in_mbs_minus1,
            pic_height_in_map_units_minus1=pic_height_in_map_units_minus1,
            frame_mbs_only_flag=frame_mbs_only_flag,
            mb_adaptive_frame_field_flag=mb_adaptive_frame_field_flag,
            direct_8x8_inference_flag=direct_8x8_inference_flag,
            frame_crop_left_offset=left,
            frame_crop_right_offset=right,
            frame_crop_top_offset=top,
            frame_crop_bottom_offset=bottom,
            vui=vui,
        )


def read_nal_unit_header(r: BitReader, nal_unit_type: int) -> int:
    """nal_unit_header (7.3.1): the nal_ref_idc; InvalidSyntax unless it is of ``nal_unit_type``."""
    if r.flag("forbidden_zero_bit"):
        raise out_of_range("forbidden_zero_bit", 1, 0, 0)
    nal_ref_idc = r.u(2, "nal_ref_idc")
    found = r.u(5, "nal_unit_type")
    if found != nal_unit_type:
        raise out_of_range("nal_unit_type", found, nal_unit_type, nal_unit_type)
    return nal_ref_idc


def read_scaling_lists(r: BitReader, count: int, flag: str) -> tuple[tuple[int, ...] | None, ...]:
    """The scaling lists of an SPS or PPS: six of 16 entries, then 8x8 ones (7.3.2.1.1.1)."""
    return tuple(
        [_read_scaling_list(r, 16 if i < 6 else 64) if r.flag(flag) else None for i in range(count)]
    )


def _read_scaling_list(r: BitReader, size: int) -> tuple[int, ...]:
    deltas = []
    last_scale = 8
    for _ in range(size):
        delta_scale = r.se("delta_scale", -128, 127)
        deltas.append(delta_scale)
        last_scale = (last_scale + delta_scale) & 255
        if (
            last_scale == 0
        ):  # the rest repeats the last entry (the default list, if it is the first)
            break
    return tuple(deltas)
