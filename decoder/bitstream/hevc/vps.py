"""Video parameter set (ITU-T H.265, 7.3.2.1)."""

from __future__ import annotations

from msgspec import Struct

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.bitstream.hevc.sub_layers import (
    read_max_sub_layers_minus1,
    read_profile_tier_level,
    read_sub_layer_ordering_info,
)
from decoder.bitstream.hevc.units import VPS_NUT, read_unit_header
from decoder.bitstream.hevc.vui import read_hrd_parameters, read_timing_info
from decoder.bitstream.nal import unescape


class VideoParameterSet(Struct, frozen=True):
    """What decoding the base layer needs of video_parameter_set_rbsp."""

    vps_video_parameter_set_id: int
    vps_max_sub_layers_minus1: int

    @classmethod
    def parse(cls, nal: bytes) -> VideoParameterSet:
        """Reads a NAL unit of type 32, given with its header and its emulation prevention."""
        return cls.read(BitReader(unescape(nal)))

    @classmethod
    def read(cls, r: BitReader) -> VideoParameterSet:
        """Reads nal_unit_header and the rbsp without extension; InvalidSyntax names the element."""
        read_unit_header(r, VPS_NUT)
        vps_video_parameter_set_id = r.u(4, "vps_video_parameter_set_id")
        internal = r.flag("vps_base_layer_internal_flag")
        r.flag("vps_base_layer_available_flag")
        r.u(6, "vps_max_layers_minus1")
        max_sub_layers_minus1 = read_max_sub_layers_minus1(r, "vps")
        r.flag("vps_temporal_id_nesting_flag")
        reserved = r.u(16, "vps_reserved_0xffff_16bits")
        if reserved != 0xFFFF:
            raise out_of_range("vps_reserved_0xffff_16bits", reserved, 0xFFFF, 0xFFFF)
        read_profile_tier_level(r, max_sub_layers_minus1)
        read_sub_layer_ordering_info(r, "vps", max_sub_layers_minus1)
        vps_max_layer_id = r.u(6, "vps_max_layer_id")
        vps_num_layer_sets_minus1 = r.ue("vps_num_layer_sets_minus1", 1023)
        for _ in range(vps_num_layer_sets_minus1 * (vps_max_layer_id + 1)):
            r.flag("layer_id_included_flag")
        if r.flag("vps_timing_info_present_flag"):
            read_timing_info(r, "vps")
            common = (0, 0, 0)
            for i in range(r.ue("vps_num_hrd_parameters", vps_num_layer_sets_minus1 + 1)):
                layer_set = r.ue("hrd_layer_set_idx", vps_num_layer_sets_minus1)
                if not (layer_set or internal):
                    raise out_of_range("hrd_layer_set_idx", 0, 1, vps_num_layer_sets_minus1)
                present = i == 0 or r.flag("cprms_present_flag") == 1
                common = read_hrd_parameters(r, present, max_sub_layers_minus1, common)
        r.flag("vps_extension_flag")
        return cls(vps_video_parameter_set_id, max_sub_layers_minus1)
