"""VP9 (VP9 Bitstream & Decoding Process Specification): superframes and uncompressed headers.

Probabilities, motion vectors, segments and filter levels carry over from frame to frame, so that
all since the key frame is needed; but for frames that save no samples and no probabilities, where
the next one is coded without regard to what is left of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.bitstream.bits import BitReader
from decoder.bitstream.structure import StructureParser
from decoder.errors import InvalidSyntax

FRAME_MARKER = 2
FRAME_SYNC_CODE = 0x498342
SUPERFRAME_MARKER = 0b110
CS_RGB = 7

_HEAD = 40
"""Bytes in which the elements looked at of a header lie."""


def frames(packet: bytes) -> list[bytes]:
    """The frames of a packet: of a superframe (Annex B) each one, else it alone."""
    if not packet or packet[-1] >> 5 != SUPERFRAME_MARKER:
        return [packet]
    count = (packet[-1] & 7) + 1
    size = (packet[-1] >> 3 & 3) + 1
    end = len(packet) - (2 + size * count)
    if end < 0 or packet[end] != packet[-1]:
        return [packet]
    found = []
    position = 0
    for place in range(end + 1, len(packet) - 1, size):
        length = int.from_bytes(packet[place : place + size], "little")
        if position + length > end:
            raise InvalidSyntax("frame_sizes: the frames of a superframe are longer than it")
        if length:
            found.append(packet[position : position + length])
        position += length
    return found


@dataclass(frozen=True, slots=True)
class UncompressedHeader:
    """uncompressed_header (6.2, 7.2) up to refresh_frame_context."""

    key_frame: bool

    resets: bool
    """setup_past_independence: nothing of earlier frames but their samples matters."""

    saves: bool
    """Samples or probabilities of it are kept."""

    @classmethod
    def parse(cls, data: bytes) -> UncompressedHeader:
        """The header of the frame that ``data`` begins with. Raises InvalidSyntax."""
        reader = BitReader(data[:_HEAD])
        if reader.u(2, "frame_marker") != FRAME_MARKER:
            raise InvalidSyntax("frame_marker: it is not 2")
        profile = reader.flag("profile_low_bit") | reader.flag("profile_high_bit") << 1
        if profile == 3 and reader.flag("reserved_zero"):
            raise InvalidSyntax("reserved_zero: it is not 0")
        if reader.flag("show_existing_frame"):
            return cls(False, False, False)
        key_frame = not reader.flag("frame_type")
        show_frame = reader.flag("show_frame")
        error_resilient_mode = bool(reader.flag("error_resilient_mode"))
        if key_frame:
            _sync(reader)
            return cls(True, True, True)
        intra_only = not show_frame and bool(reader.flag("intra_only"))
        if not error_resilient_mode:
            reader.u(2, "reset_frame_context")
        if intra_only:
            _sync(reader)
            if profile > 0:
                _color_config(reader, profile)
            refresh_frame_flags = reader.u(8, "refresh_frame_flags")
            _size(reader)
            _render_size(reader)
        else:
            refresh_frame_flags = reader.u(8, "refresh_frame_flags")
            reader.u(12, "ref_frame_idx and ref_frame_sign_bias")
            if not any(reader.flag("found_ref") for _ in range(3)):
                _size(reader)
            _render_size(reader)
            reader.flag("allow_high_precision_mv")
            if not reader.flag("is_filter_switchable"):
                reader.u(2, "raw_interpolation_filter")
        saves = bool(refresh_frame_flags)
        if not error_resilient_mode:
            saves |= bool(reader.flag("refresh_frame_context"))
        return cls(False, error_resilient_mode or intra_only, saves)


def _sync(reader: BitReader) -> None:
    if reader.u(24, "frame_sync_code") != FRAME_SYNC_CODE:
        raise InvalidSyntax("frame_sync_code: it is not there")


def _color_config(reader: BitReader, profile: int) -> None:
    if profile >= 2:
        reader.flag("ten_or_twelve_bit")
    if reader.u(3, "color_space") != CS_RGB:
        reader.flag("color_range")
        if profile & 1:
            reader.u(3, "subsampling_x, subsampling_y and reserved_zero")
    elif profile & 1:
        reader.flag("reserved_zero")


def _size(reader: BitReader) -> None:
    reader.u(32, "frame_width_minus_1 and frame_height_minus_1")


def _render_size(reader: BitReader) -> None:
    if reader.flag("render_and_frame_size_different"):
        reader.u(32, "render_width_minus_1 and render_height_minus_1")


class Vp9Parser(StructureParser):
    """Packets, each with one frame that is shown and perhaps others that are not."""

    rule = (
        "decoded from the key frame on, because probabilities and motion vectors carry over; only "
        "frames that keep nothing before an error-resilient one are left out"
    )

    def _packet(self, ordinal: int, data: bytes, key: bool) -> None:
        headers = [UncompressedHeader.parse(frame) for frame in frames(data)]
        if not headers:
            raise InvalidSyntax("frame_sizes: a superframe without frames")
        if self.pictures and not headers[0].resets:
            self.pictures[-1].droppable = False
        saves = any(header.saves for header in headers)
        self._link(ordinal, start=headers[0].key_frame, droppable=not saves)
