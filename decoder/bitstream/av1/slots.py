"""The eight reference slots: which frame is in which, and what a frame may read (AV1, 7.20)."""

from __future__ import annotations

from msgspec.structs import replace

from decoder.bitstream.av1.frame import (
    ALL_FRAMES,
    NUM_REF_FRAMES,
    FrameHeader,
    FrameSize,
    ShownAgain,
)
from decoder.bitstream.av1.sequence import SequenceHeader
from decoder.errors import InvalidSyntax


class ReferenceSlots:
    """Headers and numbers (decode indexes) of the frames in the slots."""

    __slots__ = ("_producers", "headers")

    def __init__(self) -> None:
        self.headers: list[FrameHeader | None] = []
        """By slot; None where it is empty."""
        self._producers: list[int] = []
        self.empty()

    def empty(self) -> None:
        """Nothing can be read any more: another coded video sequence begins."""
        self.headers = [None] * NUM_REF_FRAMES
        self._producers = [-1] * NUM_REF_FRAMES

    def read_by(self, header: FrameHeader, sequence: SequenceHeader) -> tuple[int, ...]:
        """Numbers of the frames that the one with ``header`` may read, ascending.

        Samples, motion vectors, CDFs, segmentation, loop filter deltas, global motion and film
        grain: all come from the frames that ref_frame_idx names.

        InvalidSyntax where decoders refuse the frame: a slot is empty, or holds a frame of another
        frame id or of a size that cannot be scaled.
        """
        for i, slot in enumerate(header.ref_frame_idx):
            there = self.headers[slot]
            if there is None:
                raise InvalidSyntax(f"ref_frame_idx: slot {slot} is empty")
            if there.size is not header.size and not _scalable(there.size, header.size):
                raise InvalidSyntax(f"ref_frame_idx: the frame in slot {slot} has no fitting size")
            if header.delta_frame_id_minus_1 and not header.frame_refs_short_signaling:
                delta = header.delta_frame_id_minus_1[i] + 1
                expected = (header.current_frame_id - delta) % (1 << sequence.frame_id_length)
                if there.current_frame_id != expected:
                    raise InvalidSyntax(f"delta_frame_id_minus_1: not the frame in slot {slot}")
        return tuple(sorted({self._producers[slot] for slot in header.ref_frame_idx}))

    def shown(self, again: ShownAgain) -> tuple[FrameHeader, int]:
        """The header and the number of the frame that is shown; InvalidSyntax if it cannot be."""
        slot = again.frame_to_show_map_idx
        header = self.headers[slot]
        if header is None:
            raise InvalidSyntax(f"frame_to_show_map_idx: slot {slot} is empty")
        if not header.showable_frame:
            raise InvalidSyntax(f"frame_to_show_map_idx: the frame in slot {slot} is not showable")
        if header.current_frame_id != again.display_frame_id:
            raise InvalidSyntax(f"display_frame_id: not the frame in slot {slot}")
        return header, self._producers[slot]

    def refresh(self, header: FrameHeader, number: int) -> None:
        """The reference frame update process (7.20) at the end of a frame."""
        flags = header.refresh_frame_flags
        for slot in range(NUM_REF_FRAMES):
            if flags >> slot & 1:
                self.headers[slot] = header
                self._producers[slot] = number

    def load(self, header: FrameHeader, number: int) -> None:
        """A key frame is shown again, as frame ``number``: it is in all slots then (7.21)."""
        loaded = replace(header, refresh_frame_flags=ALL_FRAMES, showable_frame=0)
        self.refresh(loaded, number)


def _scalable(reference: FrameSize, size: FrameSize) -> bool:
    """Whether a frame of that size may be predicted from a reference (7.9.2)."""
    return (
        2 * size.frame_width >= reference.upscaled_width
        and 2 * size.frame_height >= reference.frame_height
        and size.frame_width <= 16 * reference.upscaled_width
        and size.frame_height <= 16 * reference.frame_height
    )
