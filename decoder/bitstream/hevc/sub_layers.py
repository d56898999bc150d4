"""Sub-layers in VPS and SPS: their profile, tier and level (ITU-T H.265, 7.3.3), and buffers."""

from __future__ import annotations

from decoder.bitstream.bits import BitReader, out_of_range

_GENERAL_FLAGS = ("progressive_source", "interlaced_source", "non_packed", "frame_only")
_RANGE_FLAGS = (
    "max_12bit", "max_10bit", "max_8bit", "max_422chroma", "max_420chroma", "max_monochrome",
    "intra", "one_picture_only", "lower_bit_rate",
)  # fmt: skip


def read_profile_tier_level(r: BitReader, max_num_sub_layers_minus1: int) -> None:
    """profile_tier_level with profilePresentFlag 1."""
    _read_profile(r, "general")
    r.u(8, "general_level_idc")
    present = [
        (r.flag("sub_layer_profile_present_flag"), r.flag("sub_layer_level_present_flag"))
        for _ in range(max_num_sub_layers_minus1)
    ]
    if max_num_sub_layers_minus1 > 0:
        for _ in range(max_num_sub_layers_minus1, 8):
            r.u(2, "reserved_zero_2bits")
    for profile_present, level_present in present:
        if profile_present:
            _read_profile(r, "sub_layer")
        if level_present:
            r.u(8, "sub_layer_level_idc")


def _read_profile(r: BitReader, of: str) -> None:
    """The 88 bits from profile_space to inbld_flag; reserved bits may have any value."""
    r.u(2, f"{of}_profile_space")
    r.flag(f"{of}_tier_flag")
    profiles = {r.u(5, f"{of}_profile_idc")}
    profiles |= {i for i in range(32) if r.flag(f"{of}_profile_compatibility_flag")}
    for name in _GENERAL_FLAGS[:2]:
        r.flag(f"{of}_{name}_flag")
    for name in _GENERAL_FLAGS[2:]:
        r.flag(f"{of}_{name}_constraint_flag")
    if profiles & {4, 5, 6, 7, 8, 9, 10, 11}:
        for name in _RANGE_FLAGS:
            r.flag(f"{of}_{name}_constraint_flag")
        if profiles & {5, 9, 10, 11}:
            r.flag(f"{of}_max_14bit_constraint_flag")
            _read_reserved(r, of, 33)
        else:
            _read_reserved(r, of, 34)
    elif 2 in profiles:
        r.u(7, f"{of}_reserved_zero_7bits")
        r.flag(f"{of}_one_picture_only_constraint_flag")
        _read_reserved(r, of, 35)
    else:
        _read_reserved(r, of, 43)
    if profiles & {1, 2, 3, 4, 5, 9, 11}:
        r.flag(f"{of}_inbld_flag")
    else:
        r.flag(f"{of}_reserved_zero_bit")


def _read_reserved(r: BitReader, of: str, count: int) -> None:
    name = f"{of}_reserved_zero_{count}bits"
    r.u(24, name)
    r.u(count - 24, name)


def read_sub_layer_ordering_info(
    r: BitReader, of: str, max_sub_layers_minus1: int
) -> tuple[int, int]:
    """What VPS and SPS say of the picture buffer (7.3.2.1, 7.3.2.2.1), of the highest sub-layer.

    Returns:
        max_dec_pic_buffering_minus1 and max_num_reorder_pics. The first is not less than the
        second: where it is coded so, decoders take the second for it.
    """
    present = r.flag(f"{of}_sub_layer_ordering_info_present_flag")
    buffering = reorder = 0
    for _ in range(0 if present else max_sub_layers_minus1, max_sub_layers_minus1 + 1):
        buffering = r.ue(f"{of}_max_dec_pic_buffering_minus1", 15)
        reorder = r.ue(f"{of}_max_num_reorder_pics", 15)
        r.ue(f"{of}_max_latency_increase_plus1")
    return max(buffering, reorder), reorder


def read_max_sub_layers_minus1(r: BitReader, of: str) -> int:
    """``of``_max_sub_layers_minus1, at most 6."""
    value = r.u(3, f"{of}_max_sub_layers_minus1")
    if value > 6:
        raise out_of_range(f"{of}_max_sub_layers_minus1", value, 0, 6)
    return value
