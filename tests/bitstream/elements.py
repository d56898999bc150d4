"""Parameter sets and slice headers with given elements, everything else as usual."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from decoder.bitstream.h264.pps import PictureParameterSet
from decoder.bitstream.h264.slice import I, SliceHeader
from decoder.bitstream.h264.sps import SequenceParameterSet

from .writer import Features, StreamWriter


def _template() -> SliceHeader:
    writer = StreamWriter(0, Features(), frames=1)
    held = writer.stream._held
    assert held is not None
    return held.header


_HEADER = _template()


def make_sps(**elements: Any) -> SequenceParameterSet:
    return replace(_HEADER.sps, **elements)


def make_pps(sps: SequenceParameterSet) -> PictureParameterSet:
    return replace(_HEADER.pps, sps=sps)


def make_header(sps: SequenceParameterSet | None = None, **elements: Any) -> SliceHeader:
    """A slice of a reference frame that is no IDR picture, unless ``elements`` say otherwise."""
    sps = sps or make_sps()
    usual: dict[str, Any] = {
        "nal_unit_type": 1, "nal_ref_idc": 1, "slice_type": I, "frame_num": 0,
        "field_pic_flag": 0, "bottom_field_flag": 0, "pic_order_cnt_lsb": 0,
        "delta_pic_order_cnt_bottom": 0, "delta_pic_order_cnt": (0, 0),
        "num_ref_idx_l0_active_minus1": -1, "num_ref_idx_l1_active_minus1": -1,
        "ref_pic_list_modification_l0": None, "ref_pic_list_modification_l1": None,
        "adaptive_ref_pic_marking_mode_flag": 0, "memory_management_control_operations": (),
        "long_term_reference_flag": 0,
    }  # fmt: skip
    if "memory_management_control_operations" in elements:
        usual["adaptive_ref_pic_marking_mode_flag"] = 1
    return replace(_HEADER, sps=sps, pps=make_pps(sps), **(usual | elements))
