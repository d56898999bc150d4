"""Frame header (AV1, 5.9), from the first bytes of a frame or frame header OBU.

Up to tile_info: what comes behind it concerns samples only, and all that it takes over from earlier
frames (CDFs, loop filter deltas, segmentation, global motion, film grain) is that of a reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from decoder.bitstream.av1.obu import Obu
from decoder.bitstream.av1.sequence import SELECT, SequenceHeader
from decoder.bitstream.av1.tiles import TileInfo, read_tile_info
from decoder.bitstream.bits import BitReader
from decoder.errors import InvalidSyntax, Truncated

# Read at first; nearly every header fits, and a longer one is read again with more
_HEAD = 40

# frame_type (6.8.2)
KEY_FRAME, INTER_FRAME, INTRA_ONLY_FRAME, SWITCH_FRAME = range(4)

NUM_REF_FRAMES = 8
REFS_PER_FRAME = 7
ALL_FRAMES = (1 << NUM_REF_FRAMES) - 1
_SUPERRES_NUM = 8
_SUPERRES_DENOM_MIN = 9


class FrameSize(Struct, frozen=True):
    """What frame_size, superres_params and render_size say (5.9.5 to 5.9.9), in luma samples."""

    upscaled_width: int
    frame_width: int
    frame_height: int
    render_width: int
    render_height: int


_size = lru_cache(maxsize=256)(FrameSize)
"""One object for one size: comparing frames of the same size costs nothing."""


class ShownAgain(Struct, frozen=True):
    """The header of a frame that is there already: show_existing_frame is 1."""

    frame_to_show_map_idx: int
    display_frame_id: int


class FrameHeader(Struct, frozen=True):
    """uncompressed_header (5.9.2) with show_existing_frame 0, as far as references and sizes go.

    Absent elements hold what 5.9.2 infers. ``ref_frame_idx`` is empty in frames that refer to
    nothing; with frame_refs_short_signaling it holds all slots, since the order hints of all of
    them decide which are meant (7.8). ``delta_frame_id_minus_1`` is empty without frame ids.
    """

    frame_type: int
    show_frame: int
    showable_frame: int
    current_frame_id: int
    refresh_frame_flags: int
    frame_refs_short_signaling: int
    ref_frame_idx: tuple[int, ...]
    delta_frame_id_minus_1: tuple[int, ...]
    size: FrameSize
    tile_info: TileInfo


Slots = Sequence[FrameHeader | None]
"""By slot, the header of the frame in it; None where it is empty."""


def parse_frame_header(
    packet: bytes, obu: Obu, sequence: SequenceHeader, slots: Slots
) -> FrameHeader | ShownAgain:
    """frame_header_obu (5.9.1), of an OBU of type 3, 6 or 7; reads its head only.

    Args:
        packet: that the OBU lies in.
        obu: the OBU.
        sequence: in force.
        slots: frames that it may take its size from.

    Raises:
        InvalidSyntax: it is truncated, holds a value out of range, or takes its size from a slot
            that is empty; names the element.
    """
    start, end = obu.payload, obu.end
    length = _HEAD
    while start + length < end:
        try:
            r = BitReader(packet[start : start + length])
            return read_frame_header(r, sequence, obu.temporal_id, obu.spatial_id, slots)
        except Truncated:
            length *= 8
    r = BitReader(packet[start:end])
    return read_frame_header(r, sequence, obu.temporal_id, obu.spatial_id, slots)


def read_frame_header(
    r: BitReader, sequence: SequenceHeader, temporal_id: int, spatial_id: int, slots: Slots
) -> FrameHeader | ShownAgain:
    """uncompressed_header (5.9.2) up to tile_info; see `parse_frame_header`."""
    u, flag = r.u, r.flag
    time_length = sequence.frame_presentation_time_length
    frame_ids = sequence.frame_id_numbers_present_flag
    frame_type = KEY_FRAME
    show_frame = error_resilient_mode = 1
    showable_frame = 0
    if not sequence.reduced_still_picture_header:
        if flag("show_existing_frame"):
            shown = u(3, "frame_to_show_map_idx")
            u(time_length, "frame_presentation_time")
            frame_id = u(sequence.frame_id_length, "display_frame_id") if frame_ids else 0
            return ShownAgain(shown, frame_id)
        frame_type = u(2, "frame_type")
        show_frame = flag("show_frame")
        if show_frame:
            u(time_length, "frame_presentation_time")
            showable_frame = int(frame_type != KEY_FRAME)
        else:
            showable_frame = flag("showable_frame")
        if not (frame_type == SWITCH_FRAME or (frame_type == KEY_FRAME and show_frame)):
            error_resilient_mode = flag("error_resilient_mode")
    intra = frame_type in (KEY_FRAME, INTRA_ONLY_FRAME)
    disable_cdf_update = flag("disable_cdf_update")
    screen_content = sequence.seq_force_screen_content_tools
    if screen_content == SELECT:
        screen_content = flag("allow_screen_content_tools")
    integer_mv = 0
    if screen_content:
        integer_mv = sequence.seq_force_integer_mv
        if integer_mv == SELECT:
            integer_mv = flag("force_integer_mv")
    current_frame_id = u(sequence.frame_id_length, "current_frame_id") if frame_ids else 0
    override = int(frame_type == SWITCH_FRAME)
    if not override and not sequence.reduced_still_picture_header:
        override = flag("frame_size_override_flag")
    u(sequence.order_hint_bits, "order_hint")
    if not intra and not error_resilient_mode:
        u(3, "primary_ref_frame")  # one of ref_frame_idx
    if sequence.decoder_model_info is not None:
        _read_buffer_removal_times(r, sequence, temporal_id, spatial_id)
    refresh_frame_flags = ALL_FRAMES
    if not (frame_type == SWITCH_FRAME or (frame_type == KEY_FRAME and show_frame)):
        refresh_frame_flags = u(8, "refresh_frame_flags")
        if frame_type == INTRA_ONLY_FRAME and refresh_frame_flags == ALL_FRAMES:
            raise InvalidSyntax("refresh_frame_flags: 255 in an intra-only frame")
    if (
        error_resilient_mode
        and sequence.order_hint_bits
        and not (intra and refresh_frame_flags == ALL_FRAMES)
    ):
        for _ in range(NUM_REF_FRAMES):
            u(sequence.order_hint_bits, "ref_order_hint")
    short_signaling = 0
    indexes: tuple[int, ...] = ()
    deltas: tuple[int, ...] = ()
    if intra:
        size = _read_size(r, sequence, override)
        if screen_content and size.upscaled_width == size.frame_width:
            flag("allow_intrabc")
    else:
        if sequence.order_hint_bits:
            short_signaling = flag("frame_refs_short_signaling")
        indexes, deltas = _read_references(r, sequence, short_signaling)
        if override and not error_resilient_mode:
            size = _read_size_with_refs(r, sequence, indexes, short_signaling, slots)
        else:
            size = _read_size(r, sequence, override)
        if not integer_mv:
            flag("allow_high_precision_mv")
        if not flag("is_filter_switchable"):
            u(2, "interpolation_filter")
        flag("is_motion_mode_switchable")
        if sequence.enable_ref_frame_mvs and not error_resilient_mode:
            flag("use_ref_frame_mvs")
    if not sequence.reduced_still_picture_header and not disable_cdf_update:
        flag("disable_frame_end_update_cdf")
    tile_info = read_tile_info(
        r, size.frame_width, size.frame_height, sequence.use_128x128_superblock
    )
    return FrameHeader(
        frame_type,
        show_frame,
        showable_frame,
        current_frame_id,
        refresh_frame_flags,
        short_signaling,
        indexes,
        deltas,
        size,
        tile_info,
    )


def _read_buffer_removal_times(
    r: BitReader, sequence: SequenceHeader, temporal_id: int, spatial_id: int
) -> None:
    assert sequence.decoder_model_info is not None
    if not r.flag("buffer_removal_time_present_flag"):
        return
    length = sequence.decoder_model_info.buffer_removal_time_length_minus_1 + 1
    for point in sequence.operating_points:
        if point.decoder_model_present_for_this_op:
            idc = point.operating_point_idc
            if not idc or (idc >> temporal_id & 1 and idc >> spatial_id + 8 & 1):
                r.u(length, "buffer_removal_time")


def _read_references(
    r: BitReader, sequence: SequenceHeader, short_signaling: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The loop over ref_frame_idx and delta_frame_id_minus_1."""
    indexes = []
    deltas = []
    if short_signaling:
        r.u(3, "last_frame_idx")
        r.u(3, "gold_frame_idx")
    for _ in range(REFS_PER_FRAME):
        if not short_signaling:
            indexes.append(r.u(3, "ref_frame_idx"))
        if sequence.frame_id_numbers_present_flag:
            deltas.append(r.u(sequence.delta_frame_id_length, "delta_frame_id_minus_1"))
    if short_signaling:
        return tuple(range(NUM_REF_FRAMES)), tuple(deltas)
    return tuple(indexes), tuple(deltas)


def _read_size(r: BitReader, sequence: SequenceHeader, override: int) -> FrameSize:
    """frame_size (5.9.5) and render_size (5.9.6)."""
    if override:
        width = r.u(sequence.frame_width_bits_minus_1 + 1, "frame_width_minus_1") + 1
        height = r.u(sequence.frame_height_bits_minus_1 + 1, "frame_height_minus_1") + 1
    else:
        width = sequence.max_frame_width_minus_1 + 1
        height = sequence.max_frame_height_minus_1 + 1
    frame_width = _read_superres(r, sequence, width)
    if r.flag("render_and_frame_size_different"):
        render_width = r.u(16, "render_width_minus_1") + 1
        render_height = r.u(16, "render_height_minus_1") + 1
        return _size(width, frame_width, height, render_width, render_height)
    return _size(width, frame_width, height, width, height)


def _read_size_with_refs(
    r: BitReader,
    sequence: SequenceHeader,
    indexes: tuple[int, ...],
    short_signaling: int,
    slots: Slots,
) -> FrameSize:
    """frame_size_with_refs (5.9.7)."""
    for i in range(REFS_PER_FRAME):
        if not r.flag("found_ref"):
            continue
        if short_signaling:
            sizes = {None if slot is None else slot.size for slot in slots}
            if len(sizes) > 1:
                raise InvalidSyntax("found_ref: which slot it means follows from order hints")
        slot = slots[indexes[i]]
        if slot is None:
            raise InvalidSyntax(f"found_ref: slot {indexes[i]} is empty")
        size = slot.size
        frame_width = _read_superres(r, sequence, size.upscaled_width)
        return _size(
            size.upscaled_width,
            frame_width,
            size.frame_height,
            size.render_width,
            size.render_height,
        )
    return _read_size(r, sequence, 1)


def _read_superres(r: BitReader, sequence: SequenceHeader, upscaled_width: int) -> int:
    """superres_params (5.9.8): FrameWidth."""
    if not sequence.enable_superres or not r.flag("use_superres"):
        return upscaled_width
    denominator = r.u(3, "coded_denom") + _SUPERRES_DENOM_MIN
    return (upscaled_width * _SUPERRES_NUM + denominator // 2) // denominator
