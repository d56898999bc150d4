"""Writes random H.264 streams in which every sample tells which reference it was copied from.

A picture is 32x32; each macroblock is either new (I_PCM, random samples) or a copy of one entry of
a reference list (no motion, no residual). So decoding such a stream proves lists, marking and order
against `predict`. Unlike x264 this covers fields and mixed streams, long-term references, all
marking operations, gaps and all three kinds of picture order count.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from decoder.bitstream import nal
from decoder.bitstream.bits import BitWriter
from decoder.bitstream.h264.dpb import Entry
from decoder.bitstream.h264.poc import BOTTOM, FRAME, TOP
from decoder.bitstream.h264.slice import B, I, P
from decoder.bitstream.h264.stream import PictureStream

from .clip import Clip
from .prediction import SIDE, Block, Written


@dataclass(slots=True)
class Features:
    """What a stream may contain."""

    fields: bool = False
    mbaff: bool = False
    long_term: bool = False
    marking: bool = False
    reset: bool = False
    gaps: bool = False
    bidirectional: bool = True
    modification: bool = True
    slices: bool = False
    order_type: int = 0
    max_refs: int = 4
    log2_max_frame_num: int = 4
    log2_max_lsb: int = 7
    restriction: bool = True
    idr_period: int = 40
    open_intra: int = 9
    one_packet: bool = False
    long_fields: bool = False
    unsafe: bool = False
    """Whatever the model does not trust is allowed."""


@dataclass(slots=True)
class _Coded:
    """One frame or field to write."""

    kind: int
    structure: int
    reference: bool
    idr: bool
    frame_num: int
    top: int
    bottom: int
    gap: int = 0
    reset: bool = False
    operations: tuple[tuple[int, ...], ...] | None = None
    long_term_idr: bool = False
    long_index: int = -1


class StreamWriter:
    """Decides with a seeded generator; the project's own model says what is in the buffer."""

    def __init__(self, seed: int, features: Features, frames: int = 60) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.features = features
        self.max_frame_num = 1 << features.log2_max_frame_num
        self.cycle = [self.random.randint(1, 5) for _ in range(self.random.randint(0, 3))]
        self.offset_non_ref = self.random.randint(-3, 0)
        self.offset_bottom = self.random.randint(0, 1)
        self.interlaced = features.fields or features.mbaff
        self.sps = self._sps()
        self.pps = self._pps()
        self.stream = PictureStream(b"")
        self.written = Written(Clip(f"written-{seed}", b"", [], 0))
        self.idr_id = 0
        self.next_frame_num = 0
        self.base = 0
        self.limit = 0
        for group in self._plan(frames):
            self._frame(*group)

    # -- parameter sets

    def _sps(self) -> bytes:
        f = self.features
        w = BitWriter()
        w.u(8, 0x67)
        w.u(8, 100)
        w.u(8, 0)
        w.u(8, 51)
        w.ue(0)
        w.ue(1)  # chroma_format_idc
        w.ue(0)
        w.ue(0)
        w.flag(0)
        w.flag(0)
        w.ue(f.log2_max_frame_num - 4)
        w.ue(f.order_type)
        if f.order_type == 0:
            w.ue(f.log2_max_lsb - 4)
        elif f.order_type == 1:
            w.flag(0)
            w.se(self.offset_non_ref)
            w.se(self.offset_bottom)
            w.ue(len(self.cycle))
            for offset in self.cycle:
                w.se(offset)
        w.ue(f.max_refs)
        w.flag(int(f.gaps))
        w.ue(SIDE // 16 - 1)
        w.ue(SIDE // 16 // (2 if self.interlaced else 1) - 1)
        w.flag(int(not self.interlaced))
        if self.interlaced:
            w.flag(int(f.mbaff))
        w.flag(1)
        w.flag(0)
        w.flag(int(f.restriction))
        if f.restriction:
            for _ in range(4):
                w.flag(0)
            for _ in range(3):
                w.flag(0)  # timing, nal_hrd, vcl_hrd
            w.flag(0)  # pic_struct_present_flag
            w.flag(1)
            w.flag(1)
            for number in (0, 0, 10, 10, 16, 16):
                w.ue(number)
        w.trailing_bits()
        return nal.escape(w.to_bytes())

    def _pps(self) -> bytes:
        w = BitWriter()
        w.u(8, 0x68)
        w.ue(0)
        w.ue(0)
        w.flag(0)
        w.flag(1)  # bottom_field_pic_order_in_frame_present_flag
        for number in (0, 0, 0):
            w.ue(number)
        w.flag(0)
        w.u(2, 0)
        for _ in range(3):
            w.se(0)
        w.flag(1)  # deblocking_filter_control_present_flag
        w.flag(0)
        w.flag(0)
        w.trailing_bits()
        return nal.escape(w.to_bytes())

    # -- structure

    def _plan(self, frames: int) -> list[tuple[int, int, bool, bool]]:
        """(kind, display position, reference, may reset) in decode order; display 0 is IDR."""
        f = self.features
        plan: list[tuple[int, int, bool, bool]] = []
        while len(plan) < frames:
            length = self.random.randint(f.idr_period // 2, f.idr_period)
            plan.append((I, 0, True, False))
            display = 1
            count = 1
            reference = True
            while count < length:
                run = self.random.randint(0, 4)
                if not f.bidirectional or f.order_type == 2:
                    run = 0
                anchor = display + run
                intra = self.random.randrange(f.open_intra) == 0
                # two in a row without: too far from a picture that order counts refer to
                reference = run > 0 or not reference or self.random.random() < 0.8
                reference = reference or f.order_type == 2
                plan.append((I if intra else P, anchor, reference, run == 0))
                between = list(range(display, anchor))
                self.random.shuffle(between)
                for position in between:
                    kept = f.max_refs > 1 and self.random.random() < 0.5
                    plan.append((self.random.choice((B, B, P)), position, kept, False))
                display = anchor + 1
                count += run + 1
        return plan

    def _frame(self, kind: int, display: int, reference: bool, may_reset: bool) -> None:
        f = self.features
        idr = display == 0
        if idr:
            self.next_frame_num = self.base = self.limit = 0
            self.idr_id = (self.idr_id + 1) % 16
        frame_num = self.next_frame_num
        if f.gaps and not idr and self.stream.process.buffer.short and self.random.random() < 0.1:
            frame_num = (frame_num + self.random.randint(1, 3)) % self.max_frame_num
        gap = 0
        if not idr and frame_num != self.stream.process._prev_frame_num:
            gap = (frame_num - self.stream.process._prev_frame_num - 1) % self.max_frame_num
        as_fields = f.fields and not gap and self.random.random() < 0.6
        top = bottom = 4 * (display - self.base) + 2
        if self.interlaced and f.order_type != 2:
            bottom += self.random.choice((1, -1) if as_fields else (1, 0, -1))
        if idr:
            top, bottom = 0, int(self.interlaced and f.order_type != 2)
        coded = _Coded(kind, FRAME, reference, idr, frame_num, top, bottom, gap)
        coded.reset = (
            f.reset and reference and may_reset and not as_fields
            and self.random.random() < 0.15
        )  # fmt: skip
        if as_fields:
            first = BOTTOM if bottom < top else TOP
            data = self._field(coded, first, second=False)
            if not f.one_packet:
                self._send(data)
                data = b""
            if kind == I:
                coded.kind = self.random.choice((I, P))
            if f.one_packet:
                coded.kind = I  # nothing is known of the buffer between the fields
            coded.idr = False
            data += self._field(coded, FRAME ^ first, second=True)
            self._send(data)
        else:
            self._send(self._field(coded, FRAME, second=False))
        self.next_frame_num = 0 if coded.reset else frame_num
        if reference:
            self.next_frame_num = (self.next_frame_num + 1) % self.max_frame_num
        if coded.reset:
            self.base = display
            self.limit = 0

    def _send(self, data: bytes) -> None:
        self.written.clip.packets.append(data)
        self.stream.feed(data)
        held = self.stream._held
        assert self.features.unsafe or held is None or held.unsafe is None, held.unsafe
        assert self.stream.fallback is None, self.stream.fallback

    # -- frames and fields

    def _field(self, coded: _Coded, structure: int, *, second: bool) -> bytes:
        coded.structure = structure
        available = self._available(coded)
        if available == 0 and coded.kind != I:
            coded.kind = I
        if coded.idr:
            coded.long_term_idr = (
                self.features.long_term and self.features.max_refs > 1
                and structure == FRAME and self.random.random() < 0.4
            )  # fmt: skip
            if coded.long_term_idr:
                coded.long_index = 0
                self.limit = 1
        elif coded.reference:
            coded.operations = self._operations(coded, second)
        macroblocks = SIDE * SIDE // 256 // (1 if structure == FRAME else 2)
        step = 2 if self.features.mbaff and structure == FRAME else 1
        cuts = [0, macroblocks]
        if self.features.slices and macroblocks > step:
            cuts = [0, step, macroblocks]
        units = [self.sps, self.pps] if coded.idr else []
        for start, end in pairwise(cuts):
            units.append(self._slice(coded, start, end, available))
        return nal.join(units, nal.ANNEX_B)

    def _available(self, coded: _Coded) -> int:
        """Entries that a list can have."""
        if coded.idr:
            return 0
        buffer = self.stream.process.buffer
        entries = [*buffer.short, *buffer.long.values()]
        if coded.structure == FRAME:
            return min(len(entries) + coded.gap, self.features.max_refs) if entries else 0
        return sum(1 + (entry.reference == FRAME) for entry in entries)

    def _operations(self, coded: _Coded, second: bool) -> tuple[tuple[int, ...], ...] | None:
        """Marking operations that the buffer allows, or None for the sliding window."""
        f = self.features
        if coded.reset:
            return ((5,),)
        if second:
            return None if coded.long_index < 0 else ((6, coded.long_index),)
        own = list(self.stream.process.buffer.short)
        old = any((coded.frame_num - e.frame_num) % self.max_frame_num > 9 for e in own)
        if coded.gap or not (f.marking or f.long_term) or (self.random.random() < 0.4 and not old):
            return None
        held = dict(self.stream.process.buffer.long)
        operations: list[tuple[int, ...]] = []
        if f.long_term and f.max_refs > 1 and self.random.random() < 0.3:
            self.limit = self.random.randint(0, f.max_refs - 1)
            operations.append((4, self.limit))
            held = {i: entry for i, entry in held.items() if i < self.limit}
        if held and self.random.random() < 0.3:
            self._forget(coded, held, operations)
        if f.long_term and own and self.limit and self.random.random() < 0.5:
            entry = self.random.choice(own)
            index = self.random.randrange(self.limit)
            own.remove(entry)
            operations += [(3, n, index) for n in self._short_numbers(coded, entry)]
            held[index] = entry
        if f.long_term and self.limit and not self._in_field(coded) and self.random.random() < 0.3:
            coded.long_index = self.random.randrange(self.limit)
            held.pop(coded.long_index, None)
        while own and (
            len(own) + len(held) >= f.max_refs
            or (coded.frame_num - own[-1].frame_num) % self.max_frame_num > 9
            or (f.marking and self.random.random() < 0.2)
        ):
            entry = own.pop(-1 if self.random.random() < 0.5 else self.random.randrange(len(own)))
            operations += [(1, n) for n in self._short_numbers(coded, entry)]
        while len(own) + len(held) >= f.max_refs:
            self._forget(coded, held, operations)
        if coded.long_index >= 0:
            operations.append((6, coded.long_index))
        return tuple(operations)

    def _in_field(self, coded: _Coded) -> bool:
        """Operation 6 in fields: FFmpeg loses the first field of such a frame."""
        return coded.structure != FRAME and not self.features.long_fields

    def _forget(
        self, coded: _Coded, held: dict[int, Entry], operations: list[tuple[int, ...]]
    ) -> None:
        index = self.random.choice(list(held))
        both = (2 * index + 1, 2 * index)
        operations += [(2, n) for n in ((index,) if coded.structure == FRAME else both)]
        del held[index]

    def _short_numbers(self, coded: _Coded, entry: Entry) -> list[int]:
        """difference_of_pic_nums_minus1 of a frame, or of its fields."""
        distance = (coded.frame_num - entry.frame_num) % self.max_frame_num
        if coded.structure == FRAME:
            return [distance - 1]
        return [2 * distance - 1, 2 * distance]

    # -- slices

    def _slice(self, coded: _Coded, start: int, end: int, available: int) -> bytes:
        kind = coded.kind
        mbaff = self.features.mbaff and coded.structure == FRAME
        most = min(available, 16 if coded.structure == FRAME else 32)
        active = [self.random.randint(1, most) for _ in range((1, 2, 0)[kind])]
        w = BitWriter()
        self._header(w, coded, start >> mbaff, active)
        blocks: list[Block] = []
        run = 0
        field_pair = False
        for number in range(start, end):
            if mbaff and number % 2 == 0:
                field_pair = self.random.random() < 0.5
            block = self._place(coded, number, field_pair)
            blocks.append(block)
            skippable = kind != I and not mbaff
            if skippable and self.random.random() < 0.15:
                run += 1
                block.guessed = kind == B
                block.list0 = 0
                continue
            if kind != I:
                w.ue(run)
                run = 0
            if mbaff and number % 2 == 0:
                w.flag(field_pair)
            self._macroblock(w, kind, block, active, 2 if field_pair and mbaff else 1)
        if run:
            w.ue(run)
        w.trailing_bits()
        self.written.slices.append(blocks)
        return nal.escape(w.to_bytes())

    def _place(self, coded: _Coded, number: int, field_pair: bool) -> Block:
        across = SIDE // 16
        if self.features.mbaff and coded.structure == FRAME:
            column = number // 2
            columns = slice(16 * column, 16 * column + 16)
            if field_pair:
                return Block(slice(0, 16), columns, BOTTOM if number % 2 else TOP)
            return Block(slice(16 * (number % 2), 16 * (number % 2) + 16), columns, FRAME)
        row, column = divmod(number, across)
        return Block(
            slice(16 * row, 16 * row + 16), slice(16 * column, 16 * column + 16), coded.structure
        )

    def _macroblock(
        self, w: BitWriter, kind: int, block: Block, active: list[int], factor: int
    ) -> None:
        if kind == I or self.random.random() < 0.4:
            w.ue((30, 48, 25)[kind])  # I_PCM
            w.u(-w.size % 8, 0)
            block.new = self.numbers.integers(1, 255, (16, 16)).astype(np.uint8)
            samples = (
                block.new.tobytes() + self.numbers.integers(1, 255, 128).astype(np.uint8).tobytes()
            )
            w.u(8 * len(samples), int.from_bytes(samples, "big"))
            return
        which = 1 if kind == P else self.random.randint(1, 3)
        w.ue(0 if kind == P else which)
        if which & 1:
            block.list0 = self._index(w, active[0] * factor)
        if which & 2:
            block.list1 = self._index(w, active[1] * factor)
        for _ in range(which.bit_count()):
            w.se(0)
            w.se(0)
        w.ue(0)  # coded_block_pattern

    def _index(self, w: BitWriter, count: int) -> int:
        """ref_idx, te(v)."""
        index = self.random.randrange(count)
        if count == 2:
            w.flag(1 - index)
        elif count > 2:
            w.ue(index)
        return index

    def _header(self, w: BitWriter, coded: _Coded, first_mb: int, active: list[int]) -> None:
        f = self.features
        w.u(8, (0x60 if coded.reference else 0) | (5 if coded.idr else 1))
        w.ue(first_mb)
        w.ue(coded.kind)
        w.ue(0)
        w.u(f.log2_max_frame_num, coded.frame_num)
        frame = coded.structure == FRAME
        if self.interlaced:
            w.flag(not frame)
            if not frame:
                w.flag(coded.structure == BOTTOM)
        if coded.idr:
            w.ue(self.idr_id)
        if f.order_type == 0:
            count = coded.bottom if coded.structure == BOTTOM else coded.top
            w.u(f.log2_max_lsb, count % (1 << f.log2_max_lsb))
            if frame:
                w.se(coded.bottom - coded.top)
        elif f.order_type == 1:
            self._deltas(w, coded, frame)
        if coded.kind == B:
            w.flag(1)  # direct_spatial_mv_pred_flag
        if coded.kind != I:
            w.flag(1)
            for count in active:
                w.ue(count - 1)
        for count in active:
            self._modification(w, coded, count)
        if coded.reference:
            if coded.idr:
                w.flag(0)
                w.flag(coded.long_term_idr)
            else:
                w.flag(coded.operations is not None)
                if coded.operations is not None:
                    for operation in coded.operations:
                        for number in operation:
                            w.ue(number)
                    w.ue(0)
        w.se(0)  # slice_qp_delta
        w.ue(1)  # disable_deblocking_filter_idc

    def _deltas(self, w: BitWriter, coded: _Coded, frame: bool) -> None:
        """delta_pic_order_cnt that makes the counts what they shall be (8.2.1.2)."""
        state = self.stream.process.order_count
        offset, previous = state._frame_num_offset, state._prev_frame_num
        if coded.idr:
            offset = previous = 0
        if coded.frame_num < previous:
            offset += self.max_frame_num
        number = offset + coded.frame_num if self.cycle else 0
        if not coded.reference and number:
            number -= 1
        expected = sum(self.cycle[i % len(self.cycle)] for i in range(number))
        if not coded.reference:
            expected += self.offset_non_ref
        if coded.structure == BOTTOM:
            w.se(coded.bottom - expected - self.offset_bottom)
            return
        w.se(coded.top - expected)
        if frame:
            w.se(coded.bottom - coded.top - self.offset_bottom)

    def _modification(self, w: BitWriter, coded: _Coded, count: int) -> None:
        if not self.features.modification or coded.gap or self.random.random() < 0.5:
            w.flag(0)
            return
        w.flag(1)
        buffer = self.stream.process.buffer
        frame = coded.structure == FRAME
        modulus = self.max_frame_num * (1 if frame else 2)
        predicted = coded.frame_num if frame else 2 * coded.frame_num + 1
        long_numbers = {id(entry): i for i, entry in buffer.long.items()}
        choices = [
            (entry, parity)
            for entry in [*buffer.short, *buffer.long.values()]
            for parity in ((FRAME,) if frame else (TOP, BOTTOM))
            if entry.reference & parity
        ]
        for _ in range(self.random.randint(1, count)):
            entry, parity = self.random.choice(choices)
            number = long_numbers.get(id(entry), entry.frame_num)
            if not frame:
                number = 2 * number + (parity == coded.structure)
            if id(entry) in long_numbers:
                w.ue(2)
                w.ue(number)
                continue
            step = (predicted - number) % modulus or modulus
            if self.random.random() < 0.5 and step != modulus:
                w.ue(1)
                w.ue(modulus - step - 1)
            else:
                w.ue(0)
                w.ue(step - 1)
            predicted = number
        w.ue(3)


def write(seed: int, features: Features, frames: int = 60) -> Written:
    """A stream of at least ``frames`` frames."""
    return StreamWriter(seed, features, frames).written


def random_features(seed: int) -> Features:
    """Which features a stream has, by a seed."""
    generator = random.Random(f"features {seed}")

    def often(probability: float) -> bool:
        return generator.random() < probability

    features = Features(
        fields=often(0.5),
        mbaff=often(0.4),
        long_term=often(0.4),
        marking=often(0.5),
        reset=often(0.2),
        bidirectional=often(0.8),
        modification=often(0.8),
        slices=often(0.4),
        order_type=generator.choice((0, 0, 1, 2)),
        max_refs=generator.choice((1, 2, 3, 4, 4, 6, 8)),
        restriction=often(0.8),
        one_packet=often(0.1),
    )
    features.gaps = features.order_type == 0 and often(0.3)
    return features
