"""The structure of a stream: pictures of random access, leading and trailing ones, their sets."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np

from decoder.bitstream import nal
from tests.hevcwriter.sets import PictureSet, Sequence265, in_order
from tests.hevcwriter.slices import (
    B,
    I,
    LongTerm,
    P,
    Picture265,
    PictureWriter,
    Planes,
    long_term_parts,
)

TRAIL_N, TRAIL_R = 0, 1
RADL_N, RADL_R, RASL_N, RASL_R = 6, 7, 8, 9
BLA_W_LP, BLA_W_RADL, BLA_N_LP, IDR_W_RADL, IDR_N_LP, CRA = 16, 17, 18, 19, 20, 21
EOS_NUT = 36

_MOST_KEPT = 6
"""Pictures in a reference picture set."""


@dataclass(slots=True)
class Features:
    """What a stream may contain."""

    log2_max_lsb: int = 8
    sub_layers: int = 1
    long_term: bool = False
    far: bool = False
    """Pictures that read none of those just before them."""
    bidirectional: bool = True
    open_gop: bool = True
    broken_links: bool = False
    ends: bool = False
    """End of sequence units; nothing waits for output at any time, so that nothing is lost."""
    hidden: bool = False
    """pic_output_flag."""
    leading: bool = True
    slices: bool = False
    dependent: bool = False
    tiles: bool = False
    modification: bool = False
    extras: bool = False
    sets_change: bool = False
    sizes_change: bool = False
    collisions: bool = False
    """What FFmpeg decodes otherwise than the standard: order counts of the sequence before that
    come again (`StreamWriter._new_count`), cycles of long-term pictures that are not said."""
    gop: int = 14


@dataclass(slots=True)
class Kept:
    """A picture in the decoded picture buffer."""

    poc: int
    index: int
    planes: Planes
    temporal_id: int
    reference_in_layer: bool
    kind: int
    long_term: bool = False


@dataclass(slots=True)
class Written265:
    """A stream and what is known of it.

    Attributes:
        units: NAL units.
        shown: samples in output order.
        read: by decode index, the decode indexes of the active entries of all its lists; None for
            a RASL picture that cannot be decoded.
    """

    units: list[bytes] = field(default_factory=list)
    shown: list[Planes] = field(default_factory=list)
    read: list[set[int] | None] = field(default_factory=list)

    @property
    def content(self) -> bytes:
        """As a raw file."""
        return nal.join(self.units, nal.ANNEX_B)


class StreamWriter:
    """Decides with a seeded generator."""

    def __init__(self, seed: int, features: Features, pictures: int = 60) -> None:
        self._random = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        self._features = features
        self.written = Written265()
        self._buffer: list[Kept] = []
        self._output: list[tuple[int, Planes]] = []
        self._previous = 0  # PicOrderCntVal of prevTid0Pic
        self._last = 0  # the greatest order count so far
        self._poc_irap = self._irap_index = 0
        self._recent: list[int] = []  # order counts in this coded video sequence
        self._after_end = True
        self._skips = False  # RASL pictures cannot be decoded
        self._new_sets()
        while len(self.written.read) < pictures:
            self._group()
        self._flush_output()

    # -- parameter sets

    def _often(self, probability: float) -> bool:
        return self._random.random() < probability

    def _new_sets(self) -> None:
        f, generator = self._features, self._random
        self._sps = Sequence265(
            *(generator.choice(((64, 48), (48, 48))) if f.sizes_change else (64, 48)),
            f.log2_max_lsb,
            f.sub_layers,
            reorder=0 if f.ends else 8,
            short_term_sets=self._short_term_sets(),
            long_term=f.long_term,
            long_term_lsbs=self._long_term_lsbs(),
        )
        self._ppss = [
            PictureSet(
                number,
                dependent_slices=f.dependent,
                output_flag=f.hidden and self._often(0.8),
                extra_bits=generator.randint(0, 2) if f.extras else 0,
                cabac_init=f.extras and self._often(0.5),
                default_actives=(generator.randint(1, 3), generator.randint(1, 3)),
                modification=f.modification and self._often(0.7),
                extension=f.extras and self._often(0.5),
                tile_columns=generator.randint(1, 2) if f.tiles else 1,
                tile_rows=generator.randint(1, 3) if f.tiles else 1,
            )
            for number in range(3 if f.extras else 1)
        ]
        self._ppss = [
            replace(pps, widths=(1, self._sps.columns - 1))
            if pps.tile_columns == 2 and self._often(0.5)
            else pps
            for pps in self._ppss
        ]

    def _short_term_sets(self) -> tuple[tuple[tuple[int, bool], ...], ...]:
        if self._often(0.3):
            return ()
        sets = [
            in_order([(delta, self._often(0.8)) for delta in deltas])
            for deltas in ((-1,), (-1, -2), (-2, -3), (-4, -3, -2, -1, 1, 2), (-3, -2, 1), (-2, 2))
        ]
        return tuple(dict.fromkeys(sets))

    def _long_term_lsbs(self) -> tuple[tuple[int, bool], ...]:
        f = self._features
        if not f.long_term or self._often(0.5):
            return ()
        lsbs = [self._random.randrange(1 << f.log2_max_lsb) for _ in range(3)]
        return tuple((lsb, used) for lsb in sorted({0, *lsbs}) for used in (True, False))

    def _write_sets(self) -> None:
        self.written.units += [self._sps.vps(), self._sps.sps()]
        self.written.units += [pps.pps() for pps in self._ppss]

    # -- structure

    def _group(self) -> None:
        """A picture of random access and all up to the next one."""
        f = self._features
        first = not self.written.units
        kinds = [IDR_N_LP]
        if f.leading:
            kinds.append(IDR_W_RADL)
        if f.open_gop:
            kinds += [CRA, CRA, CRA]
        if f.broken_links and not first:
            kinds += [BLA_N_LP, BLA_W_RADL, BLA_W_LP, BLA_W_LP]
        kind = self._random.choice(kinds)
        if not first and f.ends and self._often(0.5):
            self.written.units.append(bytes((EOS_NUT << 1, 1)))
            self._after_end = True
        leading = 0
        if f.leading and not f.ends and kind not in (IDR_N_LP, BLA_N_LP):
            leading = self._random.randint(1, 3)
        begins = kind != CRA or self._after_end
        if not begins:
            leading = max(0, min(leading, self._farthest - self._last - 1))
        poc = self._last + leading + 1
        if begins:
            count = 0 if kind in (IDR_N_LP, IDR_W_RADL) else self._new_count(leading)
            if count is None:
                kind, leading, count = IDR_N_LP, 0, 0
            poc = count
            self._flush_output()
            self._buffer.clear()
        self._sets(first, begins)
        self._skips = begins
        self._after_end = False
        picture = Picture265(kind, poc, shown=self._shown())
        if not begins:
            self._choose_kept(picture, current=False)
        self._emit(picture)
        self._poc_irap = self._last = poc
        for number in range(leading):
            self._leading(kind, poc - leading + number, begins)
        for _ in range(self._random.randint(f.gop // 2, f.gop)):
            self._trailing()

    def _sets(self, first: bool, begins: bool) -> None:
        """Parameter sets, which may be other ones where a coded video sequence begins."""
        change = self._features.sets_change
        if first or (begins and self._often(0.5)):
            if change and not first:
                self._new_sets()
            self._write_sets()
        elif change and self._often(0.5):
            self._write_sets()

    def _new_count(self, leading: int) -> int | None:
        """Of a BLA or CRA picture that begins a coded video sequence.

        FFmpeg loses the picture where one of the sequence before, which may still be in its buffer,
        has the same; behind an end of sequence it takes the MSBs from there. None where there is no
        other.
        """
        counts = set(range(leading, 1 << (self._features.log2_max_lsb - 1)))
        if not self._features.collisions:
            modulus = 1 << self._features.log2_max_lsb
            kept = {picture.poc % modulus for picture in self._buffer}
            counts = {c for c in counts if c not in self._recent and c % modulus not in kept}
        return self._random.choice(sorted(counts)) if counts else None

    def _shown(self) -> bool:
        return not self._features.hidden or self._often(0.8)

    def _leading(self, irap: int, poc: int, begins: bool) -> None:
        radl = irap in (IDR_W_RADL, BLA_W_RADL) or self._often(0.4)
        reference = self._often(0.5)
        kind = (RADL_N, RADL_R)[reference] if radl else (RASL_N, RASL_R)[reference]
        picture = Picture265(kind, poc, shown=self._shown())
        if not radl and begins:
            self._lost(picture)
            return
        self._choose_kept(picture, current=True)
        self._emit(picture)

    def _lost(self, picture: Picture265) -> None:
        """A RASL picture whose references were never there: the IRAP picture stands for them."""
        irap = next(kept for kept in self._buffer if kept.poc == self._poc_irap)
        delta = irap.poc - picture.poc
        picture.short_term = in_order([(delta, True), (-2, True)])
        picture.current = ([picture.poc - 2], [irap.poc], [])
        picture.planes = {irap.poc: irap.planes, picture.poc - 2: irap.planes}
        picture.types = (P, B)
        units = self._writer(picture).units()
        self.written.units += units
        self.written.read.append(None)

    def _trailing(self) -> None:
        """An anchor, and pictures shown before it."""
        f = self._features
        between = self._random.randint(0, 3) if f.bidirectional and not f.ends else 0
        start = self._last
        between = max(0, min(between, self._farthest - start - 1))
        anchor = start + between + 1
        if self._often(0.2):
            anchor = min(anchor + self._random.randint(0, 2), self._farthest)
        # The next one, or a CRA picture with what leads it, must be near enough to one that counts.
        self._trail(anchor, 0, keep=self._farthest - anchor < 5 or self._often(0.85))
        self._last = anchor
        places = list(range(start + 1, start + 1 + between))
        self._random.shuffle(places)
        for poc in places:
            self._trail(poc, self._random.randrange(f.sub_layers), keep=self._often(0.5))

    @property
    def _farthest(self) -> int:
        """The greatest order count that is told rightly from that of the last anchor."""
        return self._previous + (1 << (self._features.log2_max_lsb - 1)) - 1

    def _trail(self, poc: int, temporal_id: int, *, keep: bool) -> None:
        picture = Picture265(TRAIL_R if keep else TRAIL_N, poc, temporal_id, self._shown())
        self._choose_kept(picture, current=True)
        self._emit(picture)

    # -- references

    def _may_read(self, picture: Picture265, kept: Kept) -> bool:
        if kept.temporal_id > picture.temporal_id:
            return False
        if kept.temporal_id == picture.temporal_id and not kept.reference_in_layer:
            return False
        if picture.kind in (TRAIL_N, TRAIL_R):
            return kept.index >= self._irap_index and kept.poc >= self._poc_irap
        if picture.kind in (RADL_N, RADL_R):
            return kept.index == self._irap_index or kept.kind in (RADL_N, RADL_R)
        return kept.kind not in (RADL_N, RADL_R)

    def _choose_kept(self, picture: Picture265, *, current: bool) -> None:
        """Fills in the reference picture set."""
        f = self._features
        poc = picture.poc
        trailing = picture.kind in (TRAIL_N, TRAIL_R)
        there = [
            kept
            for kept in self._buffer
            if not trailing or (kept.index >= self._irap_index and kept.poc >= self._poc_irap)
        ]
        readable = [kept for kept in there if current and self._may_read(picture, kept)]
        self._random.shuffle(readable)
        # The nearest anchor always: there is one to read from in every layer.
        newest = max(
            (k for k in there if not k.temporal_id and k.reference_in_layer),
            key=lambda k: k.index, default=None,
        )  # fmt: skip
        used = readable[: self._random.randint(1, 4)] if readable else []
        if f.far and used and self._often(0.6):
            newest = None
        if newest in readable and newest not in used and self._often(0.7):
            used.append(newest)
        rest = [kept for kept in there if kept not in used]
        self._random.shuffle(rest)
        rest.sort(key=lambda kept: kept is not newest)
        if not trailing:
            rest.sort(key=lambda kept: kept.index != self._irap_index if current else False)
        unused = [k for k in rest if k is newest or k.long_term or self._often(0.6)]
        if not trailing and current:
            irap = next(k for k in there if k.index == self._irap_index)
            if irap not in used and irap not in unused[:1]:
                unused.insert(0, irap)
        unused = unused[: max(1, _MOST_KEPT - len(used))]
        kept_now = used + unused
        short_term: list[tuple[int, bool]] = []
        long_term: list[LongTerm] = []
        for kept in kept_now:
            # No later picture has fewer MSBs than a long-term one.
            if f.long_term and trailing and poc > self._last and self._often(0.15):
                kept.long_term = True
            if kept.long_term:
                long_term.append(LongTerm(kept.poc, kept in used, self._needs_msb(picture, kept)))
            else:
                short_term.append((kept.poc - poc, kept in used))
        picture.short_term = in_order(short_term)
        picture.long_term = tuple(long_term)
        reads = {poc + delta for delta, is_used in short_term if is_used}
        listed, others = long_term_parts(picture.long_term, self._sps)
        picture.current = (
            sorted((p for p in reads if p < poc), reverse=True),
            sorted(p for p in reads if p > poc),
            [entry.poc for entry in (*listed, *others) if entry.used],
        )
        picture.planes = {kept.poc: kept.planes for kept in used}
        if used:
            picture.types = self._random.choice(((P,), (B,), (P, B), (I, P, B), (P, B), (B,)))
            if not f.bidirectional:
                picture.types = (P,)
            if self._often(0.06):
                picture.types = (I,)
        gone = [kept for kept in self._buffer if kept not in kept_now]
        self._buffer = [kept for kept in self._buffer if kept not in gone]

    def _needs_msb(self, picture: Picture265, kept: Kept) -> bool:
        """Where another picture that may still be around has the same LSBs, and else at random."""
        modulus = 1 << self._sps.log2_max_lsb
        if picture.irap and not self._features.collisions:
            return True  # elsewhere a decoder that starts here makes up a picture for it
        same = [poc for poc in self._recent if poc != kept.poc and (poc - kept.poc) % modulus == 0]
        return bool(same) or self._often(0.3)

    # -- pictures

    def _writer(self, picture: Picture265) -> PictureWriter:
        pps = self._random.choice(self._ppss)
        if not pps.output_flag:
            picture.shown = True
        several = self._features.slices and self._often(0.7)
        return PictureWriter(picture, self._sps, pps, self._random, self._numbers, several)

    def _emit(self, picture: Picture265) -> None:
        modulus = 1 << self._sps.log2_max_lsb
        if picture.irap:
            self._irap_index = len(self.written.read)
            if self._skips:
                self._recent = []
        if not (picture.irap and self._skips):
            half = modulus // 2
            assert -half < picture.poc - self._previous < half, "too far from prevTid0Pic"
        picture.by_the_book = self._features.collisions
        writer = self._writer(picture)
        self.written.units += writer.units()
        index = len(self.written.read)
        known = {kept.poc: kept.index for kept in self._buffer}
        self.written.read.append({known[poc] for poc in picture.read})
        if picture.shown:
            self._output.append((picture.poc, writer.planes))
        referenced = picture.irap or picture.kind % 2 == 1
        self._buffer.append(
            Kept(picture.poc, index, writer.planes, picture.temporal_id, referenced, picture.kind)
        )
        self._recent.append(picture.poc)
        if referenced and not picture.temporal_id and picture.kind not in (RADL_R, RASL_R):
            self._previous = picture.poc

    def _flush_output(self) -> None:
        """The end of a coded video sequence."""
        self._output.sort(key=lambda shown: shown[0])
        self.written.shown += [planes for _, planes in self._output]
        self._output.clear()


def random_features(seed: int) -> Features:
    """Which features a stream has, by a seed."""
    generator = random.Random(f"features {seed}")

    def often(probability: float) -> bool:
        return generator.random() < probability

    features = Features(
        log2_max_lsb=generator.choice((4, 4, 5, 6, 8)),
        sub_layers=generator.choice((1, 1, 2, 3)),
        long_term=often(0.5),
        far=often(0.3),
        bidirectional=often(0.8),
        open_gop=often(0.8),
        broken_links=often(0.3),
        ends=often(0.15),
        hidden=often(0.3),
        leading=often(0.8),
        slices=often(0.5),
        dependent=often(0.3),
        tiles=often(0.3),
        modification=often(0.5),
        extras=often(0.5),
        sets_change=often(0.4),
        gop=generator.choice((4, 10, 20)),
    )
    features.collisions = often(0.1)
    features.sizes_change = features.sets_change and often(0.4)
    return features


def write(seed: int, features: Features | None = None, pictures: int = 60) -> Written265:
    """A stream; by default with random features."""
    return StreamWriter(seed, features or random_features(seed), pictures).written
