"""Parameter sets (ITU-T H.265, 7.3.2) and short-term reference picture sets (7.3.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from decoder.bitstream import nal
from decoder.bitstream.bits import BitWriter

CTB = 16
"""Size of a coding tree block; a coding block is as large."""

PCM_BITS = 4

VPS_NUT, SPS_NUT, PPS_NUT = 32, 33, 34

DeltaPocs: TypeAlias = tuple[tuple[int, bool], ...]
"""(difference of the picture order count, used by the current picture), in the order of 7.4.8:
negative ones descending, then positive ones ascending."""


def nal_unit(kind: int, data: BitWriter, temporal_id: int = 0) -> bytes:
    """A NAL unit with its header (7.3.1.2) and emulation prevention."""
    return bytes((kind << 1, temporal_id + 1)) + nal.escape(data.to_bytes())


def in_order(entries: Sequence[tuple[int, bool]]) -> DeltaPocs:
    """Sorted as `DeltaPocs` are."""
    negative = sorted((e for e in entries if e[0] < 0), reverse=True)
    return (*negative, *sorted(e for e in entries if e[0] > 0))


@dataclass(frozen=True, slots=True)
class Sequence265:
    """What an SPS (with its VPS) says of what varies here."""

    width: int
    height: int
    log2_max_lsb: int
    sub_layers: int = 1
    reorder: int = 8
    short_term_sets: tuple[DeltaPocs, ...] = ()
    long_term: bool = False
    long_term_lsbs: tuple[tuple[int, bool], ...] = ()
    """lt_ref_pic_poc_lsb_sps, used_by_curr_pic_lt_sps_flag."""

    @property
    def columns(self) -> int:
        return self.width // CTB

    @property
    def rows(self) -> int:
        return self.height // CTB

    def vps(self) -> bytes:
        """video_parameter_set_rbsp."""
        w = BitWriter()
        w.u(4, 0)
        w.u(2, 3)  # vps_base_layer_internal_flag, vps_base_layer_available_flag
        w.u(6, 0)
        w.u(3, self.sub_layers - 1)
        w.flag(int(self.sub_layers == 1))  # vps_temporal_id_nesting_flag
        w.u(16, 0xFFFF)
        self._profile_tier_level(w)
        self._ordering(w)
        w.u(6, 0)
        w.ue(0)
        w.flag(0)  # vps_timing_info_present_flag
        w.flag(0)
        w.trailing_bits()
        return nal_unit(VPS_NUT, w)

    def sps(self) -> bytes:
        """seq_parameter_set_rbsp."""
        w = BitWriter()
        w.u(4, 0)
        w.u(3, self.sub_layers - 1)
        w.flag(int(self.sub_layers == 1))  # sps_temporal_id_nesting_flag
        self._profile_tier_level(w)
        w.ue(0)
        w.ue(1)  # chroma_format_idc
        w.ue(self.width)
        w.ue(self.height)
        w.flag(0)  # conformance_window_flag
        w.ue(0)
        w.ue(0)
        w.ue(self.log2_max_lsb - 4)
        self._ordering(w)
        w.ue(1)  # log2_min_luma_coding_block_size_minus3
        w.ue(0)
        w.ue(0)  # log2_min_luma_transform_block_size_minus2
        w.ue(2)
        w.ue(0)
        w.ue(0)
        for _ in range(3):
            w.flag(0)  # scaling lists, amp, sample adaptive offset
        w.flag(1)  # pcm_enabled_flag
        w.u(4, PCM_BITS - 1)
        w.u(4, PCM_BITS - 1)
        w.ue(1)
        w.ue(0)
        w.flag(1)  # pcm_loop_filter_disabled_flag
        w.ue(len(self.short_term_sets))
        for index, entries in enumerate(self.short_term_sets):
            write_short_term_set(w, entries, index, self.short_term_sets)
        w.flag(int(self.long_term))
        if self.long_term:
            w.ue(len(self.long_term_lsbs))
            for lsb, used in self.long_term_lsbs:
                w.u(self.log2_max_lsb, lsb)
                w.flag(int(used))
        w.flag(0)  # sps_temporal_mvp_enabled_flag
        w.flag(0)
        w.flag(0)  # vui_parameters_present_flag
        w.flag(0)
        w.trailing_bits()
        return nal_unit(SPS_NUT, w)

    def _profile_tier_level(self, w: BitWriter) -> None:
        w.u(8, 1)  # Main
        w.u(32, 0x60000000)
        w.u(4, 0b1001)  # progressive_source_flag, general_frame_only_constraint_flag
        w.u(44, 0)
        w.u(8, 120)
        if self.sub_layers > 1:
            w.u(2 * (self.sub_layers - 1), 0)
            w.u(2 * (8 - (self.sub_layers - 1)), 0)

    def _ordering(self, w: BitWriter) -> None:
        w.flag(0)  # sub_layer_ordering_info_present_flag
        w.ue(15)  # max_dec_pic_buffering_minus1
        w.ue(self.reorder)
        w.ue(0)


@dataclass(frozen=True, slots=True)
class PictureSet:
    """What a PPS says of what varies here."""

    number: int = 0
    dependent_slices: bool = False
    output_flag: bool = False
    extra_bits: int = 0
    cabac_init: bool = False
    default_actives: tuple[int, int] = (1, 1)
    modification: bool = False
    extension: bool = False
    tile_columns: int = 1
    tile_rows: int = 1
    widths: tuple[int, ...] = field(default=())
    """Of tile columns, in coding tree blocks; uniform where empty."""

    @property
    def tiles(self) -> bool:
        return self.tile_columns * self.tile_rows > 1

    def pps(self) -> bytes:
        """pic_parameter_set_rbsp."""
        w = BitWriter()
        w.ue(self.number)
        w.ue(0)
        w.flag(int(self.dependent_slices))
        w.flag(int(self.output_flag))
        w.u(3, self.extra_bits)
        w.flag(0)
        w.flag(int(self.cabac_init))
        for active in self.default_actives:
            w.ue(active - 1)
        w.se(0)
        for _ in range(3):
            w.flag(0)  # constrained_intra_pred, transform_skip, cu_qp_delta
        w.se(0)
        w.se(0)
        for _ in range(4):
            w.flag(0)  # slice chroma offsets, weighted prediction of P and B, transquant bypass
        w.flag(int(self.tiles))
        w.flag(0)  # entropy_coding_sync_enabled_flag
        if self.tiles:
            w.ue(self.tile_columns - 1)
            w.ue(self.tile_rows - 1)
            w.flag(int(not self.widths))  # uniform_spacing_flag
            for width in self.widths[:-1]:
                w.ue(width - 1)
            if self.widths:
                for _ in range(self.tile_rows - 1):
                    w.ue(0)
            w.flag(0)  # loop_filter_across_tiles_enabled_flag
        w.flag(0)  # pps_loop_filter_across_slices_enabled_flag
        w.flag(1)  # deblocking_filter_control_present_flag
        w.flag(0)
        w.flag(1)  # pps_deblocking_filter_disabled_flag
        w.flag(0)
        w.flag(int(self.modification))
        w.ue(0)
        w.flag(int(self.extension))  # slice_segment_header_extension_present_flag
        w.flag(0)
        w.trailing_bits()
        return nal_unit(PPS_NUT, w)

    def tile_bounds(self, columns: int, rows: int) -> tuple[list[int], list[int]]:
        """Column and row boundaries in coding tree blocks (6.5.1)."""
        if self.widths:
            across = [sum(self.widths[:n]) for n in range(len(self.widths) + 1)]
            return across, [*range(self.tile_rows), rows]
        across = [n * columns // self.tile_columns for n in range(self.tile_columns + 1)]
        return across, [n * rows // self.tile_rows for n in range(self.tile_rows + 1)]


def write_short_term_set(
    w: BitWriter, entries: DeltaPocs, index: int, others: Sequence[DeltaPocs]
) -> None:
    """st_ref_pic_set (7.3.7), predicted from another set where that can be done.

    Args:
        index: its number in the SPS, or the number of sets there for one in a slice header.
        others: the sets of the SPS.
    """
    if index:
        predicted = _prediction(entries, index, others)
        w.flag(int(predicted is not None))
        if predicted is not None:
            delta_idx, delta_rps, flags = predicted
            if index == len(others):
                w.ue(delta_idx - 1)
            w.flag(int(delta_rps < 0))
            w.ue(abs(delta_rps) - 1)
            for used, kept in flags:
                w.flag(int(used))
                if not used:
                    w.flag(int(kept))
            return
    negative = [e for e in entries if e[0] < 0]
    positive = [e for e in entries if e[0] > 0]
    w.ue(len(negative))
    w.ue(len(positive))
    for half in (negative, positive):
        last = 0
        for delta, used in half:
            w.ue(abs(delta - last) - 1)
            w.flag(int(used))
            last = delta


def _prediction(
    entries: DeltaPocs, index: int, others: Sequence[DeltaPocs]
) -> tuple[int, int, list[tuple[bool, bool]]] | None:
    """(delta_idx, deltaRps, used_by_curr_pic_flag and use_delta_flag) that give ``entries``."""
    wanted = dict(entries)
    nearest = index - 1 if index < len(others) else 0
    for reference in range(index - 1, nearest - 1, -1):
        base = [delta for delta, _ in others[reference]] + [0]
        for delta_rps in (-1, 1, -2, 2, -3, 3):
            there = [delta + delta_rps for delta in base]
            if wanted and set(wanted) <= set(there):
                flags = [(wanted.get(delta, False), delta in wanted) for delta in there]
                return index - reference, delta_rps, flags
    return None
