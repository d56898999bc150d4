"""Writing parameter sets and slice segment headers of small test streams (ITU-T H.265, 7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoder.bitstream import nal
from decoder.bitstream.bits import BitWriter
from decoder.bitstream.hevc.slice import B, I

SIDE = 16
"""Luma samples in width and height of a coding tree block."""

MAX_NUM_MERGE_CAND = 5


@dataclass(frozen=True, slots=True)
class Layout:
    """What the parameter sets say."""

    log2_max_lsb: int = 8
    blocks: int = 1
    """Coding tree blocks in a picture, side by side; each is a slice."""
    max_num_reorder_pics: int = 2
    max_dec_pic_buffering: int = 6
    sets: tuple[tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]], ...] = ()
    """st_ref_pic_set of the SPS: (delta, used) of S0 and of S1."""
    long_term: bool = False
    lt_ref_pics: tuple[tuple[int, int], ...] = ()
    output_flag: bool = False
    extra_bits: int = 0
    lists_modification: bool = False
    default_refs: tuple[int, int] = (1, 1)
    sub_layers: int = 1
    pps_id: int = 0


Entries = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Slice:
    """What a slice segment header says of its picture and its references."""

    kind: int
    temporal_id: int
    slice_type: int
    lsb: int
    negative: Entries = ()
    positive: Entries = ()
    set_index: int | None = None
    """short_term_ref_pic_set_idx; None: the set is in the header."""
    long_term: Sequence[tuple[int, int, int | None]] = ()
    """(poc_lsb_lt, used_by_curr_pic_lt_flag, delta_poc_msb_cycle_lt or None)."""
    lt_indexes: Sequence[tuple[int, int | None]] = ()
    """(lt_idx_sps, delta_poc_msb_cycle_lt or None), which come before the others."""
    num_refs: tuple[int, int] = (1, 1)
    list_entries: tuple[Sequence[int] | None, Sequence[int] | None] = (None, None)
    num_total: int = 0
    """NumPicTotalCurr."""
    no_output_of_prior_pics: int = 0
    output: int = 1


def unit(bits: BitWriter) -> bytes:
    """The NAL unit of what was written."""
    return nal.escape(bits.to_bytes())


def begin(nal_unit_type: int, temporal_id: int = 0) -> BitWriter:
    """A writer behind nal_unit_header."""
    bits = BitWriter()
    bits.u(16, nal_unit_type << 9 | temporal_id + 1)
    return bits


def parameter_sets(layout: Layout) -> list[bytes]:
    """VPS, SPS and PPS."""
    return [_vps(layout), _sps(layout), _pps(layout)]


def _profile_tier_level(bits: BitWriter, sub_layers: int) -> None:
    bits.u(8, 1)  # general_profile_idc: Main
    bits.u(32, 1 << 30)
    bits.u(48, 0)
    bits.u(8, 93)
    for _ in range(sub_layers - 1):
        bits.u(2, 0)
    if sub_layers > 1:
        bits.u(2 * (9 - sub_layers), 0)


def _ordering(bits: BitWriter, layout: Layout) -> None:
    bits.flag(0)
    bits.ue(layout.max_dec_pic_buffering - 1)
    bits.ue(layout.max_num_reorder_pics)
    bits.ue(0)


def _vps(layout: Layout) -> bytes:
    bits = begin(32)
    bits.u(4, 0)
    bits.u(2, 3)
    bits.u(6, 0)
    bits.u(3, layout.sub_layers - 1)
    bits.flag(1)
    bits.u(16, 0xFFFF)
    _profile_tier_level(bits, layout.sub_layers)
    _ordering(bits, layout)
    bits.u(6, 0)
    bits.ue(0)
    bits.u(2, 0)
    bits.trailing_bits()
    return unit(bits)


def _sps(layout: Layout) -> bytes:
    bits = begin(33)
    bits.u(4, 0)
    bits.u(3, layout.sub_layers - 1)
    bits.flag(1)
    _profile_tier_level(bits, layout.sub_layers)
    bits.ue(0)
    bits.ue(1)  # 4:2:0
    bits.ue(SIDE * layout.blocks)
    bits.ue(SIDE)
    bits.flag(0)
    bits.ue(0)
    bits.ue(0)
    bits.ue(layout.log2_max_lsb - 4)
    _ordering(bits, layout)
    for value in (0, 1, 0, 2, 0, 0):  # coding blocks of 8 and 16, transform blocks of 4 to 16
        bits.ue(value)
    bits.u(4, 0b0001)  # no scaling lists, no AMP, no SAO, PCM
    bits.u(8, 0x77)
    bits.ue(0)
    bits.ue(1)
    bits.flag(1)
    bits.ue(len(layout.sets))
    for place, (negative, positive) in enumerate(layout.sets):
        write_set(bits, negative, positive, place > 0)
    bits.flag(layout.long_term)
    if layout.long_term:
        bits.ue(len(layout.lt_ref_pics))
        for lsb, used in layout.lt_ref_pics:
            bits.u(layout.log2_max_lsb, lsb)
            bits.flag(used)
    bits.u(4, 0)  # no temporal MVP, no strong smoothing, no VUI, no extension
    bits.trailing_bits()
    return unit(bits)


def _pps(layout: Layout) -> bytes:
    bits = begin(34)
    bits.ue(layout.pps_id)
    bits.ue(0)
    bits.flag(0)
    bits.flag(layout.output_flag)
    bits.u(3, layout.extra_bits)
    bits.u(2, 0)
    bits.ue(layout.default_refs[0] - 1)
    bits.ue(layout.default_refs[1] - 1)
    bits.se(0)  # init_qp_minus26
    bits.u(3, 0)
    bits.se(0)
    bits.se(0)
    bits.u(6, 0)
    bits.flag(0)  # loop filter across slices
    bits.u(3, 0b101)  # deblocking control: disabled
    bits.flag(0)
    bits.flag(layout.lists_modification)
    bits.ue(0)
    bits.u(2, 0)
    bits.trailing_bits()
    return unit(bits)


def write_set(bits: BitWriter, negative: Entries, positive: Entries, behind_others: bool) -> None:
    """st_ref_pic_set without prediction; (delta, used), nearest first."""
    if behind_others:
        bits.flag(0)
    bits.ue(len(negative))
    bits.ue(len(positive))
    for entries in (negative, positive):
        last = 0
        for delta, used in entries:
            bits.ue(abs(delta - last) - 1)
            bits.flag(used)
            last = delta


def write_header(bits: BitWriter, layout: Layout, header: Slice, block: int) -> None:
    """slice_segment_header behind the NAL unit header, of the slice of one block."""
    bits.flag(block == 0)
    if 16 <= header.kind <= 23:
        bits.flag(header.no_output_of_prior_pics)
    bits.ue(layout.pps_id)
    if block:
        bits.u((layout.blocks - 1).bit_length(), block)
    bits.u(layout.extra_bits, (1 << layout.extra_bits) - 1)
    bits.ue(header.slice_type)
    if layout.output_flag:
        bits.flag(header.output)
    if header.kind not in (19, 20):
        bits.u(layout.log2_max_lsb, header.lsb)
        bits.flag(header.set_index is not None)
        if header.set_index is not None:
            bits.u((len(layout.sets) - 1).bit_length(), header.set_index)
        else:
            write_set(bits, header.negative, header.positive, bool(layout.sets))
        if layout.long_term:
            _write_long_term(bits, layout, header)
    if header.slice_type != I:
        _write_lists(bits, layout, header)
        bits.ue(5 - MAX_NUM_MERGE_CAND)
    bits.se(0)  # slice_qp_delta
    bits.trailing_bits()  # byte_alignment()


def _write_long_term(bits: BitWriter, layout: Layout, header: Slice) -> None:
    if layout.lt_ref_pics:
        bits.ue(len(header.lt_indexes))
    bits.ue(len(header.long_term))
    for index, cycle in header.lt_indexes:
        bits.u((len(layout.lt_ref_pics) - 1).bit_length(), index)
        _write_cycle(bits, cycle)
    for lsb, used, cycle in header.long_term:
        bits.u(layout.log2_max_lsb, lsb)
        bits.flag(used)
        _write_cycle(bits, cycle)


def _write_cycle(bits: BitWriter, cycle: int | None) -> None:
    bits.flag(cycle is not None)
    if cycle is not None:
        bits.ue(cycle)


def _write_lists(bits: BitWriter, layout: Layout, header: Slice) -> None:
    both = header.slice_type == B
    first, second = header.num_refs
    override = first != layout.default_refs[0] or (both and second != layout.default_refs[1])
    bits.flag(override)
    if override:
        bits.ue(first - 1)
        if both:
            bits.ue(second - 1)
    if layout.lists_modification and header.num_total > 1:
        for entries in header.list_entries[: 1 + both]:
            bits.flag(entries is not None)
            for entry in entries or ():
                bits.u((header.num_total - 1).bit_length(), entry)
    if both:
        bits.flag(0)  # mvd_l1_zero_flag
