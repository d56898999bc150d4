"""VP8 (RFC 6386): frame headers.

Probabilities, segments and filter deltas carry over from frame to frame, so that all since the key
frame is needed; but for frames that change none of these and whose samples are not kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.bitstream.bits import truncated
from decoder.bitstream.structure import StructureParser
from decoder.errors import InvalidSyntax

FRAME_TAG_SIZE = 3
KEY_FRAME_HEADER_SIZE = 10
START_CODE = b"\x9d\x01\x2a"
MB_FEATURE_TREE_PROBS = 3
MAX_MB_SEGMENTS = 4


class BoolDecoder:
    """Boolean entropy decoding with equal probabilities (section 7), a bit at a time."""

    def __init__(self, data: bytes, position: int) -> None:
        """Starts ``position`` bytes into ``data``."""
        self._data = data
        self._position = position
        self._range = 255
        self._value = 0
        self._bits = 0  # of the value that lie beyond the first eight
        self._fill("first partition")
        self._fill("first partition")

    def _fill(self, name: str) -> None:
        if self._position >= len(self._data):
            raise truncated(name)
        self._value = self._value << 8 | self._data[self._position]
        self._position += 1
        self._bits += 8

    def flag(self, name: str) -> int:
        """L(1)."""
        split = 1 + ((self._range - 1) >> 1)
        big = split << (self._bits - 8)
        bit = int(self._value >= big)
        if bit:
            self._range -= split
            self._value -= big
        else:
            self._range = split
        while self._range < 128:
            self._range <<= 1
            self._bits -= 1
            if self._bits == 8:
                self._fill(name)
        return bit

    def u(self, length: int, name: str) -> int:
        """L(n)."""
        value = 0
        for _ in range(length):
            value = value << 1 | self.flag(name)
        return value

    def optional(self, length: int, name: str) -> int | None:
        """A flag, and where it is set a magnitude of ``length`` bits and a sign; else None."""
        if not self.flag(name):
            return None
        magnitude = self.u(length, name)
        return -magnitude if self.flag(name) else magnitude


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """What a frame header (9.2-9.11, 19.2) says that is of use here."""

    key_frame: bool

    segmentation_enabled: bool

    update_mb_segmentation_map: bool

    deltas: dict[tuple[str, int], int]
    """Filter deltas that are in force from here on, by name and place."""

    refreshes: bool
    """Its samples are kept, others moved, or probabilities kept."""

    @classmethod
    def parse(cls, data: bytes) -> FrameHeader:
        """The header of the frame that ``data`` begins with. Raises InvalidSyntax."""
        if len(data) < FRAME_TAG_SIZE:
            raise truncated("frame_tag")
        key_frame = not data[0] & 1
        if key_frame and data[3:6] != START_CODE:
            raise InvalidSyntax("start_code: a key frame without it")
        reader = BoolDecoder(data, KEY_FRAME_HEADER_SIZE if key_frame else FRAME_TAG_SIZE)
        if key_frame:
            reader.u(2, "color_space and clamping_type")
        segmentation_enabled = bool(reader.flag("segmentation_enabled"))
        update_mb_segmentation_map = segmentation_enabled and _update_segmentation(reader)
        reader.flag("filter_type")
        reader.u(6, "loop_filter_level")
        reader.u(3, "sharpness_level")
        deltas = _mb_lf_adjustments(reader)
        refreshes = key_frame or _refreshes(reader)
        return cls(key_frame, segmentation_enabled, update_mb_segmentation_map, deltas, refreshes)


def _update_segmentation(reader: BoolDecoder) -> bool:
    """update_segmentation (9.3); update_mb_segmentation_map."""
    update_mb_segmentation_map = bool(reader.flag("update_mb_segmentation_map"))
    if reader.flag("update_segment_feature_data"):
        reader.flag("segment_feature_mode")
        for name, length in (("quantizer_update_value", 7), ("lf_update_value", 6)):
            for _ in range(MAX_MB_SEGMENTS):
                reader.optional(length, name)
    if update_mb_segmentation_map:
        for _ in range(MB_FEATURE_TREE_PROBS):
            if reader.flag("segment_prob_update"):
                reader.u(8, "segment_prob")
    return update_mb_segmentation_map


def _mb_lf_adjustments(reader: BoolDecoder) -> dict[tuple[str, int], int]:
    """mb_lf_adjustments (9.6)."""
    deltas: dict[tuple[str, int], int] = {}
    if reader.flag("loop_filter_adj_enable") and reader.flag("mode_ref_lf_delta_update"):
        for name in ("ref_frame_delta_magnitude", "mb_mode_delta_magnitude"):
            for place in range(MAX_MB_SEGMENTS):
                delta = reader.optional(6, name)
                if delta is not None:
                    deltas[name, place] = delta
    return deltas


def _refreshes(reader: BoolDecoder) -> bool:
    """The rest of the header of an inter frame, up to refresh_last (9.5, 9.6, 9.7, 9.11)."""
    reader.u(2, "log2_nbr_of_dct_partitions")
    reader.u(7, "y_ac_qi")
    for name in ("y_dc_delta", "y2_dc_delta", "y2_ac_delta", "uv_dc_delta", "uv_ac_delta"):
        reader.optional(4, name)
    refresh_golden_frame = reader.flag("refresh_golden_frame")
    refresh_alternate_frame = reader.flag("refresh_alternate_frame")
    copies = 0
    if not refresh_golden_frame:
        copies |= reader.u(2, "copy_buffer_to_golden")
    if not refresh_alternate_frame:
        copies |= reader.u(2, "copy_buffer_to_alternate")
    reader.u(2, "sign_bias_golden and sign_bias_alternate")
    refresh_entropy_probs = reader.flag("refresh_entropy_probs")
    refresh_last = reader.flag("refresh_last")
    return bool(
        refresh_golden_frame
        or refresh_alternate_frame
        or copies
        or refresh_entropy_probs
        or refresh_last
    )


class Vp8Parser(StructureParser):
    """Frames, one in a packet; some are not shown."""

    rule = (
        "decoded from the key frame on, because entropy contexts carry over; only frames that "
        "keep neither these nor their samples are left out"
    )

    def __init__(self) -> None:
        super().__init__()
        self._deltas: dict[tuple[str, int], int] = {}

    def _packet(self, ordinal: int, data: bytes, key: bool) -> None:
        header = FrameHeader.parse(data)
        if header.key_frame:
            self._deltas = {}
        changes = any(self._deltas.get(name, 0) != delta for name, delta in header.deltas.items())
        self._deltas |= header.deltas
        # The map of segments is that of the frame before, even if that has no segments.
        inherits = header.segmentation_enabled and not header.update_mb_segmentation_map
        if self.pictures and inherits:
            self.pictures[-1].droppable = False
        saves = header.refreshes or header.segmentation_enabled or changes
        self._link(ordinal, start=header.key_frame, droppable=not saves)
