"""A frame while its slices and fields arrive."""

from __future__ import annotations

from decoder.bitstream.h264.dpb import Entry
from decoder.bitstream.h264.poc import BOTTOM, FRAME, TOP
from decoder.bitstream.h264.slice import SliceHeader


class CodedFrame:
    """One frame, or one or two fields of one, being put together."""

    __slots__ = (
        "counts", "droppable", "entry", "first_kind", "header", "headers", "idr", "index",
        "is_reference", "last_mb", "lists_seen", "mixed", "open_field", "packets", "picture_type",
        "read", "second", "sequence", "state", "structure", "unsafe", "whole_only",
    )  # fmt: skip

    def __init__(self, index: int, sequence: int, header: SliceHeader) -> None:
        self.index = index
        self.sequence = sequence
        self.entry = Entry(index, header.frame_num)
        self.header = header
        self.headers: list[SliceHeader] = []
        """First slice of each field, or of the frame."""
        self.packets: list[int] = []
        self.structure = 0
        self.counts = (0, 0)
        """TopFieldOrderCnt and BottomFieldOrderCnt for presentation."""
        self.first_kind = header.slice_type % 5
        self.picture_type = "I"
        self.is_reference = header.nal_ref_idc != 0
        self.idr = header.nal_unit_type == 5
        self.droppable = not self.is_reference
        self.whole_only = False
        """There can be no state-only form."""
        self.open_field = False
        """A first field that may still find its partner."""
        self.second = False
        self.mixed = False
        self.last_mb = 0
        self.lists_seen: list[tuple[object, ...]] = []
        self.read: set[int] = set()
        self.state: list[tuple[int, int, int]] | None = None
        self.unsafe: str | None = None

    def begin(
        self, header: SliceHeader, ordinal: int, structure: int, top: int, bottom: int
    ) -> None:
        """A frame, or one field, starts with ``header``."""
        self.second = bool(self.headers)
        self.mixed = self.second and self.is_reference != (header.nal_ref_idc != 0)
        self.open_field = False
        self.header = header
        self.headers.append(header)
        if not self.packets or self.packets[-1] != ordinal:
            self.packets.append(ordinal)
        if self.second:
            top = top if structure == TOP else self.counts[0]
            bottom = bottom if structure == BOTTOM else self.counts[1]
        self.counts = (top, bottom)
        self.structure = structure
        self.last_mb = header.first_mb_in_slice
        self.lists_seen.clear()

    def continues(self, header: SliceHeader) -> bool:
        """Whether a slice belongs to the same frame or field (7.4.1.2.4)."""
        own = self.header
        return (
            header.frame_num == own.frame_num
            and header.first_mb_in_slice != 0
            and header.pic_order_cnt_lsb == own.pic_order_cnt_lsb
            and header.field_pic_flag == own.field_pic_flag
            and header.bottom_field_flag == own.bottom_field_flag
            and (header.nal_ref_idc == 0) == (own.nal_ref_idc == 0)
            and header.nal_unit_type == own.nal_unit_type
            and header.idr_pic_id == own.idr_pic_id
            and header.delta_pic_order_cnt_bottom == own.delta_pic_order_cnt_bottom
            and header.delta_pic_order_cnt == own.delta_pic_order_cnt
        )

    def close_field(self) -> None:
        """The last slice of the frame or field is there."""
        self.open_field = self.structure != FRAME and not self.second

    def pairs_with(self, header: SliceHeader) -> bool:
        """Whether a slice starts the second field of this frame."""
        return (
            header.field_pic_flag != 0
            and header.bottom_field_flag != self.header.bottom_field_flag
            and header.frame_num == self.entry.frame_num
        )

    @property
    def order(self) -> int:
        """PicOrderCnt (8-1) for presentation."""
        return min(self.counts)

    def rebase(self, sequence: int) -> None:
        """memory_management_control_operation 5: tempPicOrderCnt is subtracted (8.2.1)."""
        least = min(self.counts)
        self.counts = (self.counts[0] - least, self.counts[1] - least)
        self.sequence = sequence
