"""Sequence and frame headers of every kind, made up element by element."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from decoder.bitstream.av1.frame import (
    FrameHeader,
    ShownAgain,
    Slots,
    read_frame_header,
)
from decoder.bitstream.av1.sequence import OperatingParameters, SequenceHeader
from decoder.errors import InvalidSyntax

from .elements import DrawingReader

Choose = Callable[[str, int], int]
Fixed = Mapping[str, int]

_RANGES = {
    "trailing_one_bit": (1, 1),
    "num_units_in_display_tick": (1, None),
    "num_units_in_decoding_tick": (1, None),
    "time_scale": (1, None),
    "chroma_sample_position": (0, 2),
    # FFmpeg keeps tile sizes in bytes: 256 superblocks at most
    "frame_width_bits_minus_1": (0, 13),
    "frame_height_bits_minus_1": (0, 13),
}
"""What is otherwise is forbidden, though it can be read."""

EMPTY: Slots = [None] * 8


def by_chance(seed: int, fixed: Fixed | None = None) -> Choose:
    """Values by chance, but those of ``fixed``."""
    chance = random.Random(seed)

    def choose(name: str, high: int) -> int:
        if fixed is not None and name in fixed:
            return min(fixed[name], high)
        low, most = _RANGES.get(name, (0, None))
        high = high if most is None else most
        if high - low > 1 and chance.random() < 0.3:
            return chance.choice((low, low + 1, high - 1, high))
        return chance.randint(low, high)

    return choose


def make_sequence(
    seed: int, fixed: Fixed | None = None
) -> tuple[bytes, SequenceHeader, tuple[OperatingParameters | None, ...]]:
    """Payload and content of a sequence header OBU, valid."""
    usual = {"seq_profile": seed % 3, "operating_point_idc": 0, "color_primaries": 1} | (
        {"reduced_still_picture_header": 0} if seed % 4 else {"still_picture": 1}
    )
    for attempt in range(100):
        r = DrawingReader(by_chance(100 * seed + attempt, usual | dict(fixed or {})))
        try:
            header, parameters = SequenceHeader.read(r)
        except InvalidSyntax:
            continue
        return r.written.to_bytes(), header, parameters
    raise AssertionError(f"no valid sequence header for {fixed}")


def make_frame(
    seed: int,
    sequence: SequenceHeader,
    slots: Slots = EMPTY,
    fixed: Fixed | None = None,
) -> tuple[bytes, int, FrameHeader | ShownAgain]:
    """Bytes, size in bits and content of a frame header up to tile_info, valid."""
    for attempt in range(100):
        r = DrawingReader(by_chance(100 * seed + attempt, fixed))
        try:
            header = read_frame_header(r, sequence, 0, 0, slots)
        except InvalidSyntax:
            continue
        return r.written.to_bytes(), r.written.size, header
    raise AssertionError(f"no valid frame header for {fixed}")


seeds = st.integers(0, 1 << 20)
