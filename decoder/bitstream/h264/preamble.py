"""Starting at a picture that is no IDR picture, with the picture buffer it would find there.

A flushed decoder is given state-only frames that have the frame_num and picture order counts of the
short-term reference frames in the buffer before that picture (ITU-T H.264, 8.2.4.1, 8.2.5). Their
samples are worthless: the picture itself and the ones that are wanted must not read them. But lists
are initialised, and marking operations work, as in the full stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from decoder.bitstream.h264.slice import SliceHeader
from decoder.bitstream.h264.sps import SequenceParameterSet
from decoder.bitstream.h264.stub import StateOnlySlice, packet


def preamble(
    header: SliceHeader, state: Sequence[tuple[int, int, int]], pps_id: int, length_size: int
) -> tuple[bytes, ...] | None:
    """Packets to feed to a flushed decoder before the picture with this slice header.

    ``state`` is (frame_num, TopFieldOrderCnt, BottomFieldOrderCnt) of every short-term reference
    frame in the buffer, oldest first; there must be no long-term one, no single field and no
    inferred frame. None when a buffer of that kind cannot be rebuilt: it is empty, its last frame
    is not the reference before the picture, frame_num is not unique, picture order counts are too
    far apart for pic_order_cnt_lsb, or they depend on the frames since the IDR picture (type 1).

    A decoder that starts at frame_num n > 0 puts min(n, max_num_ref_frames) frames in front of the
    first picture to fill the gap (8.2.5.2). The first frame refers to them and removes them. Frames
    that only stand for a frame_num no longer in the buffer are removed by the next one. So the
    marking of every frame is explicit.
    """
    sps = header.sps
    modulus = sps.max_frame_num
    if not state or sps.separate_colour_plane_flag or sps.pic_order_cnt_type == 1:
        return None
    first = state[0][0]
    if first == 0:  # a frame before it, as nothing would fill a gap before number 0
        first = modulus - 1
    counts = {(frame_num - first) % modulus: (top, bottom) for frame_num, top, bottom in state}
    steps = list(counts)
    if (
        steps != sorted(steps)
        or len(steps) != len(state)
        or steps[-1] != (header.frame_num - 1 - first) % modulus
        or not _within_reach(sps, state)
    ):
        return None

    packets = []
    top, bottom = state[0][1:]
    remove = min(first, sps.max_num_ref_frames)
    for step in range(steps[-1] + 1):
        top, bottom = counts.get(step, (top, bottom))
        frame = _frame(sps, (first + step) % modulus, top, bottom, remove)
        packets.append(packet([frame], pps_id, length_size))
        remove = 0 if step in counts else 1
    return tuple(packets)


def _within_reach(sps: SequenceParameterSet, state: Sequence[tuple[int, int, int]]) -> bool:
    """Whether each frame's count follows from the one before and pic_order_cnt_lsb (8.2.1.1)."""
    half = sps.max_pic_order_cnt_lsb >> 1
    return sps.pic_order_cnt_type != 0 or all(
        abs(following[1] - previous[1]) < half for previous, following in pairwise(state)
    )


def _frame(
    sps: SequenceParameterSet, frame_num: int, top: int, bottom: int, remove: int
) -> StateOnlySlice:
    """A frame that removes the ``remove`` reference frames before it."""
    counted = sps.pic_order_cnt_type == 0
    return StateOnlySlice(
        sps=sps,
        bottom_field_pic_order_in_frame_present_flag=int(counted and top != bottom),
        nal_ref_idc=1,
        frame_num=frame_num,
        field_pic_flag=0,
        bottom_field_flag=0,
        pic_order_cnt_lsb=top % sps.max_pic_order_cnt_lsb if counted else 0,
        delta_pic_order_cnt_bottom=bottom - top if counted else 0,
        delta_pic_order_cnt=(0, 0),
        memory_management_control_operations=tuple([(1, i) for i in range(remove)]),
    )
