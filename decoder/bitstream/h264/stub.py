"""State-only pictures: they keep a decoder's picture buffer in step and cost next to nothing.

A state-only picture is one P slice whose macroblocks are all skipped (ITU-T H.264, 7.3.4). It has
the frame_num, picture order count and reference marking of the picture it stands for, so that the
decoder stores, numbers and removes reference pictures exactly as with the original; its samples
are worthless. It uses a picture parameter set of its own, added to the stream under an unused id:
CAVLC, one active reference, no weighting.

An IDR picture cannot be replaced, nor the first picture after the buffer was emptied: a P slice
needs a reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from decoder.bitstream.bits import BitWriter
from decoder.bitstream.h264.pps import NAL_PPS
from decoder.bitstream.h264.slice import SliceHeader
from decoder.bitstream.h264.sps import SequenceParameterSet
from decoder.bitstream.nal import escape, join
from decoder.errors import UnsupportedStream

_NAL_SLICE = 1
_HIGHEST_NAL_REF_IDC = 3


def unused_pps_id(used: Iterable[int]) -> int | None:
    """The smallest pic_parameter_set_id not in ``used``; None when all 256 are."""
    return min(set(range(256)).difference(used), default=None)


@lru_cache  # each state-only picture brings it
def write_pps(
    seq_parameter_set_id: int,
    pic_parameter_set_id: int,
    bottom_field_pic_order_in_frame_present_flag: int,
) -> bytes:
    """The NAL unit of the picture parameter set that state-only slices use (7.3.2.2)."""
    w = BitWriter()
    w.u(1, 0)  # forbidden_zero_bit
    w.u(2, _HIGHEST_NAL_REF_IDC)
    w.u(5, NAL_PPS)
    w.ue(pic_parameter_set_id)
    w.ue(seq_parameter_set_id)
    w.flag(0)  # entropy_coding_mode_flag
    w.flag(bottom_field_pic_order_in_frame_present_flag)
    w.ue(0)  # num_slice_groups_minus1
    w.ue(0)  # num_ref_idx_l0_default_active_minus1
    w.ue(0)  # num_ref_idx_l1_default_active_minus1
    w.flag(0)  # weighted_pred_flag
    w.u(2, 0)  # weighted_bipred_idc
    w.se(0)  # pic_init_qp_minus26
    w.se(0)  # pic_init_qs_minus26
    w.se(0)  # chroma_qp_index_offset
    w.flag(1)  # deblocking_filter_control_present_flag
    w.flag(0)  # constrained_intra_pred_flag
    w.flag(0)  # redundant_pic_cnt_present_flag
    w.trailing_bits()
    return escape(w.to_bytes())


class StateOnlySlice(Struct, frozen=True):
    """What a state-only frame or field repeats of the picture it stands for.

    ``memory_management_control_operations`` is None for the sliding window, otherwise as in
    SliceHeader; it is not written when ``nal_ref_idc`` is 0. The slice must be sent with a PPS of
    the same ``bottom_field_pic_order_in_frame_present_flag``.
    """

    sps: SequenceParameterSet
    bottom_field_pic_order_in_frame_present_flag: int
    nal_ref_idc: int
    frame_num: int
    field_pic_flag: int
    bottom_field_flag: int
    pic_order_cnt_lsb: int
    delta_pic_order_cnt_bottom: int
    delta_pic_order_cnt: tuple[int, int]
    memory_management_control_operations: tuple[tuple[int, ...], ...] | None

    @classmethod
    def of(cls, header: SliceHeader) -> StateOnlySlice:
        """What stands for the frame or field with this slice header.

        UnsupportedStream for a picture that cannot be replaced: IDR, or separate colour planes.
        """
        if header.nal_unit_type != _NAL_SLICE:
            raise UnsupportedStream("no state-only picture for IDR pictures and data partitions")
        if header.sps.separate_colour_plane_flag:
            raise UnsupportedStream("no state-only picture for separate colour planes")
        adaptive = header.adaptive_ref_pic_marking_mode_flag
        return cls(
            sps=header.sps,
            bottom_field_pic_order_in_frame_present_flag=(
                header.pps.bottom_field_pic_order_in_frame_present_flag
            ),
            nal_ref_idc=header.nal_ref_idc,
            frame_num=header.frame_num,
            field_pic_flag=header.field_pic_flag,
            bottom_field_flag=header.bottom_field_flag,
            pic_order_cnt_lsb=header.pic_order_cnt_lsb,
            delta_pic_order_cnt_bottom=header.delta_pic_order_cnt_bottom,
            delta_pic_order_cnt=header.delta_pic_order_cnt,
            memory_management_control_operations=(
                header.memory_management_control_operations if adaptive else None
            ),
        )

    def write(self, pic_parameter_set_id: int) -> bytes:
        """The NAL unit of this slice; ``pic_parameter_set_id`` is that given to write_pps."""
        sps = self.sps
        w = BitWriter()
        w.u(1, 0)  # forbidden_zero_bit
        w.u(2, self.nal_ref_idc)
        w.u(5, _NAL_SLICE)
        w.ue(0)  # first_mb_in_slice
        w.ue(0)  # slice_type: P
        w.ue(pic_parameter_set_id)
        w.u(sps.log2_max_frame_num_minus4 + 4, self.frame_num)
        if not sps.frame_mbs_only_flag:
            w.flag(self.field_pic_flag)
            if self.field_pic_flag:
                w.flag(self.bottom_field_flag)
        in_frame = self.bottom_field_pic_order_in_frame_present_flag and not self.field_pic_flag
        if sps.pic_order_cnt_type == 0:
            w.u(sps.log2_max_pic_order_cnt_lsb_minus4 + 4, self.pic_order_cnt_lsb)
            if in_frame:
                w.se(self.delta_pic_order_cnt_bottom)
        elif sps.pic_order_cnt_type == 1 and not sps.delta_pic_order_always_zero_flag:
            w.se(self.delta_pic_order_cnt[0])
            if in_frame:
                w.se(self.delta_pic_order_cnt[1])
        w.flag(0)  # num_ref_idx_active_override_flag
        w.flag(0)  # ref_pic_list_modification_flag_l0
        if self.nal_ref_idc:
            _write_marking(w, self.memory_management_control_operations)
        w.se(0)  # slice_qp_delta
        w.ue(1)  # disable_deblocking_filter_idc: not filtered
        w.ue(sps.frame_size_in_mbs >> self.field_pic_flag)  # mb_skip_run (7.3.4): all
        w.trailing_bits()
        return escape(w.to_bytes())


def _write_marking(w: BitWriter, operations: tuple[tuple[int, ...], ...] | None) -> None:
    """dec_ref_pic_marking (7.3.3.3) of a picture that is not IDR."""
    w.flag(operations is not None)
    if operations is not None:
        for operation in operations:
            for number in operation:
                w.ue(number)
        w.ue(0)


def state_only(
    headers: Sequence[SliceHeader], packets: Sequence[int], pps_id: int, length_size: int
) -> tuple[bytes, ...] | None:
    """What to feed in place of a picture, one packet for each of ``packets``; None: nothing can.

    ``headers`` is the slice header of the frame, or of each of its two fields, which are in one
    packet or in two. ``pps_id`` is unused in the whole stream, ``length_size`` as in nal.split.
    """
    try:
        slices = [StateOnlySlice.of(header) for header in headers]
    except UnsupportedStream:
        return None
    if len(packets) == 1:
        return (packet(slices, pps_id, length_size),)
    if len(packets) != len(slices):
        return None
    return tuple([packet([field], pps_id, length_size) for field in slices])


def packet(slices: Sequence[StateOnlySlice], pps_id: int, length_size: int) -> bytes:
    """A packet of these slices with their PPS.

    Every packet brings it, as a decoder drops the PPSs of an SPS that is replaced.
    """
    units: list[bytes] = []
    for picture in slices:
        pps = write_pps(
            picture.sps.seq_parameter_set_id,
            pps_id,
            picture.bottom_field_pic_order_in_frame_present_flag,
        )
        if pps not in units:
            units.append(pps)
        units.append(picture.write(pps_id))
    return join(units, length_size)
