"""Random H.265 streams whose pictures are samples or copies of references, and what they show.

Every picture is written from the lists of references that it is meant to have, independently of
the code under test; a decoder that follows the standard shows ``Written.luma``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from decoder.bitstream import nal
from decoder.bitstream.bits import BitWriter
from decoder.bitstream.hevc.slice import B, I, P

from .cabac import write_copy, write_samples
from .syntax import (
    MAX_NUM_MERGE_CAND,
    SIDE,
    Layout,
    Slice,
    begin,
    parameter_sets,
    unit,
    write_header,
)

Luma = npt.NDArray[np.uint8]

CHROMA = bytes([128]) * (SIDE * SIDE // 2)
EOS = b"\x48\x01"
TRAIL_N, TRAIL_R, RADL_N, RADL_R, RASL_N, RASL_R = 0, 1, 6, 7, 8, 9
BLA_W_LP, IDR_W_RADL, IDR_N_LP, CRA = 16, 19, 20, 21


@dataclass(frozen=True, slots=True)
class Features:
    """What may occur in a random stream."""

    layout: Layout = field(default_factory=Layout)
    leading: float = 0.0
    """Share of CRA pictures, with pictures that lead them, among anchors."""
    orphans: float = 0.0
    """Share of those whose leading pictures do not use what is before them."""
    ends: float = 0.0
    """Share of sequences that begin with a CRA or BLA picture or behind an end of sequence."""
    sequence: int = 24
    """Pictures in a coded video sequence, about."""
    long_term: float = 0.0
    intra: float = 0.1
    unused: float = 0.0
    """Share of entries of a reference picture set that only later pictures use."""
    hidden: float = 0.0
    modified: float = 0.0
    step: int = 4
    """Pictures from one anchor to the next, at most."""


@dataclass(slots=True)
class Coded:
    """A picture as it was written."""

    poc: int
    luma: list[Luma]
    """Of each block."""
    read: set[int]
    """Numbers of the pictures that it copies from."""
    number: int
    temporal_id: int
    irap: bool
    long: bool = False


@dataclass(slots=True)
class Written:
    """A stream: a packet for each picture."""

    layout: Layout
    packets: list[bytes] = field(default_factory=list)
    pictures: list[Coded] = field(default_factory=list)

    @property
    def file(self) -> bytes:
        """As a raw file."""
        return b"".join(self.packets)


class StreamWriter:
    """Writes pictures one by one."""

    def __init__(self, seed: int, features: Features) -> None:
        self.random = random.Random(seed)
        self.features = features
        self.layout = features.layout
        self.written = Written(features.layout)
        self.buffer: list[Coded] = []
        """What may be referred to."""
        self.poc = 0
        self._low = 0
        """Order count of the last anchor: what comes is above."""
        self._first = 0
        """Number of the first picture of the coded video sequence."""
        self.prefix = parameter_sets(features.layout)

    # -- structure

    def write(self, count: int) -> Written:
        """About so many pictures."""
        self._start(IDR_W_RADL, 0)
        left = self.features.sequence
        while len(self.written.pictures) < count:
            if left <= 0:
                self._next_sequence()
                left = self.features.sequence
            before = len(self.written.pictures)
            self.group()
            left -= len(self.written.pictures) - before
        return self.written

    def _next_sequence(self) -> None:
        kind = IDR_N_LP
        if self.random.random() < self.features.ends:
            kind = self.random.choice((BLA_W_LP, CRA, IDR_W_RADL))
        if kind == CRA or self.random.random() < self.features.ends:
            if self.random.random() < 0.5:
                self.written.packets[-1] += nal.join([EOS], nal.ANNEX_B)
            else:
                self.prefix = [EOS, *self.prefix]
        self.prefix += parameter_sets(self.layout)
        self._start(kind, self.random.randrange(1 << self.layout.log2_max_lsb))

    def _start(self, kind: int, poc: int) -> None:
        """An IRAP picture that starts a sequence."""
        if kind in (IDR_W_RADL, IDR_N_LP):
            poc = 0
        self.buffer = []
        self.poc = poc
        self._first = len(self.written.pictures)
        self._picture(kind, poc, 0)
        if kind in (CRA, BLA_W_LP) and self.random.random() < self.features.leading:
            cra = self.buffer[-1]
            self._lead(cra, RASL_N)
            self.buffer = [cra]

    def group(self) -> None:
        """An anchor and the pictures before it in presentation order."""
        previous = self._low = self.poc
        step = self.random.randint(1, self.features.step)
        self.poc = previous + step
        if self.random.random() < self.features.leading:
            self._picture(CRA, self.poc, 0)
            cra = self.buffer[-1]
            self._lead(cra, self.random.choice((RASL_N, RASL_R, RADL_N, RADL_R)))
            self.buffer = [cra]
            return
        self._picture(TRAIL_R, self.poc, 0)
        self._between(previous, self.poc, 1)

    def _between(self, low: int, high: int, depth: int) -> None:
        middle = (low + high) // 2
        if middle == low:
            return
        used = high - low > 2
        temporal_id = min(depth, self.layout.sub_layers - 1)
        self._picture(TRAIL_R if used else TRAIL_N, middle, temporal_id)
        self._between(low, middle, depth + 1)
        self._between(middle, high, depth + 1)

    def _lead(self, cra: Coded, kind: int) -> None:
        """Pictures that lead an IRAP picture."""
        own = cra.number
        before = max((c.poc for c in self.buffer if c.number < own), default=cra.poc - 9)
        if self.random.random() < self.features.orphans:
            self.buffer = [cra]
        for poc in range(cra.poc - 1, max(before, cra.poc - self.random.randint(1, 5)), -1):
            self._picture(kind, poc, 0, own if kind in (RADL_N, RADL_R) else 0)

    # -- pictures

    def _picture(self, kind: int, poc: int, temporal_id: int, first: int = 0) -> None:
        """One picture, which may use those from number ``first`` on."""
        choose = self.random
        features = self.features
        room = self.layout.max_dec_pic_buffering - 1
        pool = list(self.buffer)
        while len(pool) > room:
            irap = max(c.number for c in pool if c.irap)
            pool.remove(choose.choice([c for c in pool if c.number != irap]))
        usable = [c for c in pool if c.number >= first and c.temporal_id <= temporal_id]
        inter = kind < 16 and choose.random() >= features.intra
        used = [c for c in usable if inter and choose.random() >= features.unused]
        if self.layout.long_term and kind < 16:
            for coded in pool:
                coded.long |= coded.poc <= self._low and choose.random() < features.long_term
        entries = [(c, int(c in used)) for c in pool]
        header, total, before, after, long = self._references(poc, entries, kind >= 16)
        slice_type = choose.choice((P, B)) if used else I
        coded = Coded(poc, [], set(), len(self.written.pictures), temporal_id, kind >= 16)
        output = int(choose.random() >= features.hidden) if self.layout.output_flag else 1
        self._emit(kind, header, total, slice_type, (before, after, long), coded, output)
        self.buffer = pool
        if kind not in (TRAIL_N, RADL_N, RASL_N):
            self.buffer = [*pool, coded]

    def _references(
        self, poc: int, entries: list[tuple[Coded, int]], irap: bool
    ) -> tuple[Slice, int, list[Coded], list[Coded], list[Coded]]:
        """The reference picture set in the syntax of a slice, and what the lists are made of."""
        short = [(c, used) for c, used in entries if not c.long]
        negative = sorted([e for e in short if e[0].poc < poc], key=lambda e: -e[0].poc)
        positive = sorted([e for e in short if e[0].poc > poc], key=lambda e: e[0].poc)
        modulus = 1 << self.layout.log2_max_lsb
        long = sorted([e for e in entries if e[0].long], key=lambda e: -e[0].poc)
        written: list[tuple[int, int, int | None]] = []
        cycle = 0
        for coded, used in long:
            own = (poc // modulus) - (coded.poc // modulus)
            needed = (
                sum(
                    p.poc % modulus == coded.poc % modulus
                    for p in self.written.pictures[self._first :]
                )
                > 1
            )
            if irap or needed or self.random.random() < 0.3:
                written.append((coded.poc % modulus, used, own - cycle))
                cycle = own
            else:
                written.append((coded.poc % modulus, used, None))
        header = Slice(
            0, 0, I, poc % modulus,
            negative=[(c.poc - poc, used) for c, used in negative],
            positive=[(c.poc - poc, used) for c, used in positive],
            long_term=written,
        )  # fmt: skip
        lists = [[c for c, used in part if used] for part in (negative, positive, long)]
        return header, sum(map(len, lists)), lists[0], lists[1], lists[2]

    def _emit(
        self,
        kind: int,
        header: Slice,
        total: int,
        slice_type: int,
        parts: tuple[list[Coded], list[Coded], list[Coded]],
        coded: Coded,
        output: int,
    ) -> None:
        choose = self.random
        before, after, long = parts
        units = self.prefix
        self.prefix = []
        for block in range(self.layout.blocks):
            kinds = choose.choice((P, B)) if slice_type != I and block else slice_type
            counts = [choose.randint(1, min(total + 1, 15)) for _ in range(2)] if total else [1, 1]
            lists = []
            entries: list[list[int] | None] = []
            for candidates, count in zip(
                ([*before, *after, *long], [*after, *before, *long]), counts, strict=True
            ):
                chosen = None
                if total > 1 and choose.random() < self.features.modified:
                    chosen = [choose.randrange(total) for _ in range(count)]
                entries.append(chosen)
                order = chosen or [i % total for i in range(count)] if total else []
                lists.append([candidates[i] for i in order])
            now = Slice(
                kind, coded.temporal_id, kinds, header.lsb, header.negative, header.positive,
                None, header.long_term, (), (counts[0], counts[1]), (entries[0], entries[1]),
                total, 0, output,
            )  # fmt: skip
            bits = begin(kind, coded.temporal_id)
            write_header(bits, self.layout, now, block)
            coded.luma.append(self._block(bits, kinds, lists, block, coded))
            units.append(unit(bits))
        self.written.packets.append(nal.join(units, nal.ANNEX_B))
        self.written.pictures.append(coded)

    def _block(
        self, bits: BitWriter, slice_type: int, lists: list[list[Coded]], block: int, coded: Coded
    ) -> Luma:
        """Slice data, and the samples that they decode to."""
        if slice_type == I:
            samples = self.random.randbytes(SIDE * SIDE)
            write_samples(bits, samples, CHROMA)
            return np.frombuffer(samples, np.uint8).reshape(SIDE, SIDE)
        used = lists[: 1 if slice_type == P else 2]
        which = self.random.randrange(min(MAX_NUM_MERGE_CAND, *map(len, used), 99))
        write_copy(bits, which, MAX_NUM_MERGE_CAND)
        sources = [entries[which] for entries in used]
        coded.read |= {source.number for source in sources}
        copies = [source.luma[block].astype(np.uint16) for source in sources]
        mean = copies[0] if len(copies) == 1 else (copies[0] + copies[1] + 1) >> 1
        return mean.astype(np.uint8)


def write(
    seed: int, features: Features, count: int = 60, *, switch: tuple[int, Layout] | None = None
) -> Written:
    """A random stream of about so many pictures.

    Args:
        switch: the number of a picture from which on, within its sequence, another PPS holds.
    """
    writer = StreamWriter(seed, features)
    if switch is None:
        return writer.write(count)
    writer.write(switch[0])
    writer.layout = switch[1]
    writer.prefix += parameter_sets(writer.layout)[2:]
    for _ in range(count - switch[0]):
        writer.group()
    return writer.written


def random_features(seed: int) -> Features:
    """Some of everything."""
    choose = random.Random(seed)
    layout = Layout(
        log2_max_lsb=choose.choice((4, 5, 8, 16)),
        blocks=choose.choice((1, 1, 2, 3)),
        max_num_reorder_pics=choose.randint(0, 4),
        max_dec_pic_buffering=choose.randint(5, 8),
        long_term=choose.random() < 0.4,
        output_flag=choose.random() < 0.3,
        extra_bits=choose.randint(0, 2),
        lists_modification=choose.random() < 0.5,
        default_refs=(choose.randint(1, 3), choose.randint(1, 3)),
        sub_layers=choose.randint(1, 3),
    )
    some = (0.0, 0.0, 0.2, 0.5)
    return Features(
        layout,
        leading=choose.choice(some),
        orphans=choose.choice(some),
        sequence=choose.choice((10, 30, 100)),
        long_term=choose.choice((0.05, 0.2)),
        unused=choose.choice(some),
        hidden=choose.choice(some),
        modified=choose.choice(some) if layout.lists_modification else 0.0,
        step=choose.randint(1, 6),
    )
