"""Picture order count (ITU-T H.264, 8.2.1): types 0, 1 and 2, frames and fields."""

from __future__ import annotations

from decoder.bitstream.h264.slice import SliceHeader

TOP = 1
BOTTOM = 2
FRAME = TOP | BOTTOM


def structure_of(header: SliceHeader) -> int:
    """TOP, BOTTOM or FRAME: the fields a slice's picture consists of."""
    if not header.field_pic_flag:
        return FRAME
    return BOTTOM if header.bottom_field_flag else TOP


class PicOrderCount:
    """The state that 8.2.1 carries from picture to picture.

    ``rebase=False`` leaves out what 8.2.1 does after memory_management_control_operation 5
    (counting starts over). FFmpeg leaves it out and sorts its reference lists by such counts, so
    lists are modelled with a second instance of that kind; presentation follows the standard.
    """

    __slots__ = ("_frame_num_offset", "_prev_frame_num", "_prev_lsb", "_prev_msb", "rebase")

    def __init__(self, *, rebase: bool = True) -> None:
        self.rebase = rebase
        # A stream without IDR picture at its start: the first count is as near as can be to a
        # number above those of all frames inferred before it (as FFmpeg has it).
        self._prev_msb = 1 << 16
        self._prev_lsb = -1
        self._prev_frame_num = 0
        self._frame_num_offset = 0

    def copy(self, *, rebase: bool) -> PicOrderCount:
        """The same state under the other rule."""
        twin = PicOrderCount(rebase=rebase)
        twin._prev_msb = self._prev_msb
        twin._prev_lsb = self._prev_lsb
        twin._prev_frame_num = self._prev_frame_num
        twin._frame_num_offset = self._frame_num_offset
        return twin

    def skip_to(self, frame_num: int, max_frame_num: int) -> None:
        """Takes note of inferred frames up to ``frame_num`` (a gap, 8.2.5.2)."""
        if frame_num < self._prev_frame_num:
            self._frame_num_offset += max_frame_num
        self._prev_frame_num = frame_num

    def derive(self, header: SliceHeader) -> tuple[int, int]:
        """TopFieldOrderCnt and BottomFieldOrderCnt; for a field both hold that field's count."""
        if header.nal_unit_type == 5:
            self._prev_msb = self._prev_lsb = 0
            self._prev_frame_num = self._frame_num_offset = 0
        kind = header.sps.pic_order_cnt_type
        if kind == 0:
            return self._type0(header)
        frame_num = header.frame_num
        if frame_num < self._prev_frame_num:  # (8-6), (8-11)
            self._frame_num_offset += header.sps.max_frame_num
        self._prev_frame_num = frame_num
        return self._type1(header) if kind == 1 else self._type2(header)

    def _type0(self, header: SliceHeader) -> tuple[int, int]:
        """8.2.1.1."""
        lsb = header.pic_order_cnt_lsb
        size = header.sps.max_pic_order_cnt_lsb
        msb = self._prev_msb
        step = 0 if self._prev_lsb < 0 else lsb - self._prev_lsb
        if step <= -(size >> 1):
            msb += size
        elif step > size >> 1:
            msb -= size
        if header.nal_ref_idc:
            self._prev_msb = msb
            self._prev_lsb = lsb
        count = msb + lsb
        return count, count + header.delta_pic_order_cnt_bottom

    def _type1(self, header: SliceHeader) -> tuple[int, int]:
        """8.2.1.2."""
        sps = header.sps
        cycle = sps.offset_for_ref_frame
        number = self._frame_num_offset + header.frame_num if cycle else 0
        if not header.nal_ref_idc and number > 0:
            number -= 1
        expected = 0
        if number > 0:
            rounds, position = divmod(number - 1, len(cycle))
            expected = rounds * sum(cycle) + sum(cycle[: position + 1])
        if not header.nal_ref_idc:
            expected += sps.offset_for_non_ref_pic
        delta0, delta1 = header.delta_pic_order_cnt
        if header.field_pic_flag:
            if header.bottom_field_flag:
                expected += sps.offset_for_top_to_bottom_field
            return expected + delta0, expected + delta0
        top = expected + delta0
        return top, top + sps.offset_for_top_to_bottom_field + delta1

    def _type2(self, header: SliceHeader) -> tuple[int, int]:
        """8.2.1.3."""
        count = 2 * (self._frame_num_offset + header.frame_num)
        if not header.nal_ref_idc:
            count -= 1
        return count, count

    def reset(self, structure: int, top: int, bottom: int) -> None:
        """After a picture with memory_management_control_operation 5 (8.2.1, last paragraphs).

        ``top`` and ``bottom`` are its counts as derived. frame_num counts as 0 from here.
        """
        self._prev_frame_num = 0
        if not self.rebase:
            return
        self._frame_num_offset = 0
        self._prev_msb = 0
        if structure == BOTTOM:
            self._prev_lsb = 0
        elif structure == TOP:
            self._prev_lsb = 0  # tempPicOrderCnt is the field's own count
        else:
            self._prev_lsb = top - min(top, bottom)
