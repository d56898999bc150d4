"""Slice segments (ITU-T H.265, 7.3.6, 7.3.8) of PCM blocks and copies of reference blocks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from decoder.bitstream.bits import BitWriter
from tests.hevcwriter.cabac import CabacEncoder, Contexts
from tests.hevcwriter.sets import (
    CTB,
    PCM_BITS,
    DeltaPocs,
    PictureSet,
    Sequence265,
    nal_unit,
    write_short_term_set,
)

B, P, I = 0, 1, 2  # noqa: E741
SLICE_QP = 26
MERGE_CANDIDATES = 5

Planes: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]
"""Y, Cb, Cr: [H, W], [H/2, W/2], [H/2, W/2]."""


@dataclass(frozen=True, slots=True)
class LongTerm:
    """One entry of the long-term part of a reference picture set."""

    poc: int
    used: bool
    msb_present: bool


@dataclass(slots=True)
class Picture265:
    """A picture to write.

    Attributes:
        kind: nal_unit_type.
        short_term: of its reference picture set.
        current: order counts of what it may read: RefPicSetStCurrBefore, StCurrAfter, LtCurr.
        planes: by order count, the samples of what it may read.
        by_the_book: written although FFmpeg reads it otherwise than the standard.
        read: order counts in active entries of its lists; filled while it is written.
    """

    kind: int
    poc: int
    temporal_id: int = 0
    shown: bool = True
    short_term: DeltaPocs = ()
    long_term: tuple[LongTerm, ...] = ()
    current: tuple[list[int], list[int], list[int]] = field(default_factory=lambda: ([], [], []))
    planes: dict[int, Planes] = field(default_factory=dict)
    types: tuple[int, ...] = (I,)
    read: set[int] = field(default_factory=set)
    no_output_of_prior_pics: bool = False
    by_the_book: bool = False

    @property
    def irap(self) -> bool:
        return 16 <= self.kind <= 23

    @property
    def idr(self) -> bool:
        return self.kind in (19, 20)


@dataclass(slots=True)
class _Lists:
    """Active entries, and the list_entry values where they are not the initial ones."""

    entries: tuple[list[int], list[int]]
    order: tuple[list[int] | None, list[int] | None]


def long_term_parts(
    entries: Sequence[LongTerm], sps: Sequence265
) -> tuple[list[LongTerm], list[LongTerm]]:
    """Entries whose LSBs the SPS lists, and others; MSB cycles ascend in both."""
    modulus = 1 << sps.log2_max_lsb
    ordered = sorted(entries, key=lambda entry: -(entry.poc // modulus))
    listed = [e for e in ordered if (e.poc % modulus, e.used) in sps.long_term_lsbs]
    return listed, [e for e in ordered if e not in listed]


class PictureWriter:
    """Writes one picture as NAL units, and computes what it shows.

    Args:
        generator, numbers: decide about all that is left open.
        several: more than one slice.
    """

    def __init__(
        self,
        picture: Picture265,
        sps: Sequence265,
        pps: PictureSet,
        generator: random.Random,
        numbers: np.random.Generator,
        several: bool,
    ) -> None:
        self._picture, self._sps, self._pps = picture, sps, pps
        self._random, self._numbers = generator, numbers
        self._several = several
        height, width = sps.height, sps.width
        self.planes: Planes = (
            np.zeros((height, width), np.uint8),
            np.zeros((height // 2, width // 2), np.uint8),
            np.zeros((height // 2, width // 2), np.uint8),
        )
        self._skipped: set[int] = set()
        self._slice: set[int] = set()
        self._lists = _Lists(([], []), (None, None))
        self._type = I
        self._contexts = Contexts(0, SLICE_QP)

    def units(self) -> list[bytes]:
        """The NAL units of the picture's slice segments."""
        made = []
        for segments in self._slices():
            self._slice = set()
            for number, addresses in enumerate(segments):
                made.append(self._segment(addresses, dependent=number > 0))
        return made

    # -- division

    def _slices(self) -> list[list[list[int]]]:
        """Slices, their segments, addresses in raster scan of the blocks of each."""
        slices: list[list[list[int]]] = []
        for tile in self._tiles():
            while tile:
                count = self._random.randint(1, len(tile)) if self._several else len(tile)
                addresses, tile = tile[:count], tile[count:]
                segments = []
                while addresses:
                    part = len(addresses)
                    if self._pps.dependent_slices and self._random.random() < 0.5:
                        part = self._random.randint(1, part)
                    segments.append(addresses[:part])
                    addresses = addresses[part:]
                slices.append(segments)
        return slices

    def _tiles(self) -> list[list[int]]:
        across, down = self._pps.tile_bounds(self._sps.columns, self._sps.rows)
        return [
            [
                y * self._sps.columns + x
                for y in range(down[row], down[row + 1])
                for x in range(across[column], across[column + 1])
            ]
            for row in range(len(down) - 1)
            for column in range(len(across) - 1)
        ]

    # -- headers

    def _segment(self, addresses: Sequence[int], *, dependent: bool) -> bytes:
        w = BitWriter()
        picture, pps = self._picture, self._pps
        first = addresses[0] == 0
        w.flag(int(first))
        if picture.irap:
            w.flag(int(picture.no_output_of_prior_pics))
        w.ue(pps.number)
        if not first:
            if pps.dependent_slices:
                w.flag(int(dependent))
            blocks = self._sps.columns * self._sps.rows
            w.u((blocks - 1).bit_length(), addresses[0])
        if not dependent:
            self._type = self._random.choice(picture.types)
            cabac_init = self._independent(w)
            kind = (0, 2 if cabac_init else 1, 1 if cabac_init else 2)[(I, P, B).index(self._type)]
            self._contexts = Contexts(kind, SLICE_QP)
        if pps.tiles:
            w.ue(0)  # num_entry_point_offsets
        if pps.extension:
            length = self._random.randint(0, 3)
            w.ue(length)
            w.u(8 * length, self._random.getrandbits(8 * length) if length else 0)
        w.trailing_bits()  # byte_alignment( )
        self._data(w, addresses)
        return nal_unit(picture.kind, w, picture.temporal_id)

    def _independent(self, w: BitWriter) -> bool:
        """What dependent slice segments inherit; whether cabac_init_flag is set."""
        picture, sps, pps = self._picture, self._sps, self._pps
        w.u(pps.extra_bits, self._random.getrandbits(pps.extra_bits) if pps.extra_bits else 0)
        w.ue(self._type)
        if pps.output_flag:
            w.flag(int(picture.shown))
        if not picture.idr:
            w.u(sps.log2_max_lsb, picture.poc % (1 << sps.log2_max_lsb))
            self._short_term(w)
            if sps.long_term:
                self._long_term(w)
        cabac_init = False
        if self._type != I:
            self._choose_lists()
            self._write_lists(w)
            if self._type == B:
                w.flag(0)  # mvd_l1_zero_flag
            if pps.cabac_init:
                cabac_init = self._random.random() < 0.5
                w.flag(int(cabac_init))
            w.ue(5 - MERGE_CANDIDATES)
        w.se(0)  # slice_qp_delta
        return cabac_init

    def _short_term(self, w: BitWriter) -> None:
        sets = self._sps.short_term_sets
        wanted = self._picture.short_term
        listed = wanted in sets
        w.flag(int(listed))
        if not listed:
            write_short_term_set(w, wanted, len(sets), sets)
        elif len(sets) > 1:
            w.u((len(sets) - 1).bit_length(), sets.index(wanted))

    def _long_term(self, w: BitWriter) -> None:
        sps, poc = self._sps, self._picture.poc
        modulus = 1 << sps.log2_max_lsb
        listed, others = long_term_parts(self._picture.long_term, sps)
        if sps.long_term_lsbs:
            w.ue(len(listed))
        w.ue(len(others))
        for part in (listed, others):
            last = 0
            for number, entry in enumerate(part):
                if part is listed:
                    count = len(sps.long_term_lsbs)
                    index = sps.long_term_lsbs.index((entry.poc % modulus, entry.used))
                    w.u((count - 1).bit_length(), index)
                else:
                    w.u(sps.log2_max_lsb, entry.poc % modulus)
                    w.flag(int(entry.used))
                # FFmpeg carries the cycle of the first part over to the second unless it says one.
                carried = part is others and not number and any(e.msb_present for e in listed)
                carried &= not self._picture.by_the_book
                w.flag(int(entry.msb_present or carried))
                if entry.msb_present or carried:
                    cycle = poc // modulus - entry.poc // modulus
                    w.ue(cycle - last)  # delta_poc_msb_cycle_lt
                    last = cycle

    def _choose_lists(self) -> None:
        before, after, long_term = self._picture.current
        initial = ([*before, *after, *long_term], [*after, *before, *long_term])
        total = len(initial[0])
        entries: tuple[list[int], list[int]] = ([], [])
        order: list[list[int] | None] = [None, None]
        for number in range(2 if self._type == B else 1):
            active = self._random.randint(1, min(total + 1, 6))
            if self._pps.modification and total > 1 and self._random.random() < 0.5:
                chosen = [self._random.randrange(total) for _ in range(active)]
                order[number] = chosen
            else:
                chosen = [n % total for n in range(active)]
            entries[number].extend(initial[number][n] for n in chosen)
            self._picture.read.update(entries[number])
        self._lists = _Lists(entries, (order[0], order[1]))

    def _write_lists(self, w: BitWriter) -> None:
        lists, pps = self._lists, self._pps
        count = 2 if self._type == B else 1
        actives = [len(lists.entries[n]) for n in range(count)]
        override = actives != list(pps.default_actives[:count])
        w.flag(int(override))
        if override:
            for active in actives:
                w.ue(active - 1)
        total = sum(len(part) for part in self._picture.current)
        if pps.modification and total > 1:
            for n in range(count):
                order = lists.order[n]
                w.flag(int(order is not None))
                for entry in order or ():
                    w.u((total - 1).bit_length(), entry)

    # -- data

    def _data(self, w: BitWriter, addresses: Sequence[int]) -> None:
        engine = CabacEncoder(w, self._contexts)
        for address in addresses:
            self._slice.add(address)
            if self._type != I and self._can_skip(address) and self._random.random() < 0.7:
                self._copy(engine, address)
            else:
                self._pcm(engine, address)
            engine.terminate(int(address == addresses[-1]))
        engine.align()

    def _neighbours(self, address: int, places: Sequence[tuple[int, int]]) -> list[int]:
        """Addresses of the slice's blocks in these places that are skipped."""
        y, x = divmod(address, self._sps.columns)
        found = []
        for down, right in places:
            if 0 <= x + right < self._sps.columns and y + down >= 0:
                other = (y + down) * self._sps.columns + x + right
                if other in self._slice and other in self._skipped:
                    found.append(other)
        return found

    def _can_skip(self, address: int) -> bool:
        """No neighbour adds a merging candidate, so that all are the zero ones (8.5.3.2.5)."""
        return not self._neighbours(address, ((0, -1), (-1, -1), (-1, 0), (-1, 1), (1, -1)))

    def _copy(self, engine: CabacEncoder, address: int) -> None:
        number = len(self._neighbours(address, ((0, -1), (-1, 0))))
        engine.decision("cu_skip_flag", 1, number)
        merge_idx = self._random.randrange(MERGE_CANDIDATES)
        engine.decision("merge_idx", int(merge_idx > 0))
        for bin_number in range(1, MERGE_CANDIDATES - 1):
            if merge_idx >= bin_number:
                engine.bypass(int(merge_idx > bin_number))
        self._skipped.add(address)
        used = [entries for entries in self._lists.entries if entries]
        count = min(len(entries) for entries in used)
        index = merge_idx if merge_idx < count else 0
        sources = [self._picture.planes[entries[index]] for entries in used]
        for number, (plane, area) in enumerate(self._areas(address)):
            parts = [source[number][area].astype(np.uint16) for source in sources]
            value = parts[0] if len(parts) == 1 else (parts[0] + parts[1] + 1) >> 1
            plane[area] = value.astype(np.uint8)

    def _pcm(self, engine: CabacEncoder, address: int) -> None:
        if self._type != I:
            number = len(self._neighbours(address, ((0, -1), (-1, 0))))
            engine.decision("cu_skip_flag", 0, number)
            engine.decision("pred_mode_flag", 1)
        engine.decision("part_mode", 1)
        engine.terminate(1)  # pcm_flag
        engine.align()
        values: list[int] = []
        for plane, area in self._areas(address):
            shape = plane[area].shape
            samples = self._numbers.integers(0, 1 << PCM_BITS, shape, np.uint8)
            plane[area] = samples << (8 - PCM_BITS)
            values += samples.ravel().tolist()
        engine.samples(PCM_BITS, values)

    def _areas(self, address: int) -> list[tuple[NDArray[np.uint8], tuple[slice, slice]]]:
        y, x = divmod(address, self._sps.columns)
        return [
            (plane, (slice(y * size, (y + 1) * size), slice(x * size, (x + 1) * size)))
            for plane, size in zip(self.planes, (CTB, CTB // 2, CTB // 2), strict=True)
        ]
