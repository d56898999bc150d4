"""Slice data of coding units that are one block each: samples as they are, or a copy (9.3.4.3).

Every context is used once in a slice, so that its state is the one it starts with.
"""

from __future__ import annotations

from decoder.bitstream.bits import BitWriter

# rangeTabLps (table 9-46) of the states that the contexts below start with at SliceQpY 26
_RANGE = {0: (128, 176, 208, 240), 15: (66, 80, 95, 110), 16: (62, 76, 90, 104)}

# pStateIdx; valMps is 0 in all
SPLIT_INTRA = 0
SPLIT_INTER = 16
SKIP = 15
MERGE = 16


class Cabac:
    """Arithmetic encoder (9.3.5) that writes to ``bits``."""

    def __init__(self, bits: BitWriter) -> None:
        self._bits = bits
        self._start()

    def _start(self) -> None:
        self._low, self._range = 0, 510
        self._outstanding = 0
        self._first = True

    def decision(self, state: int, value: int) -> None:
        """A bin with a context in ``state``."""
        lps = _RANGE[state][self._range >> 6 & 3]
        self._range -= lps
        if value:
            self._low += self._range
            self._range = lps
        self._renormalise()

    def bypass(self, value: int) -> None:
        """A bin without context."""
        self._low <<= 1
        if value:
            self._low += self._range
        if self._low >= 1024:
            self._put(1)
            self._low -= 1024
        elif self._low < 512:
            self._put(0)
        else:
            self._low -= 512
            self._outstanding += 1

    def terminate(self, value: int) -> None:
        """A bin before termination; behind a 1 the next byte begins, and everything anew."""
        self._range -= 2
        if not value:
            self._renormalise()
            return
        self._low += self._range
        self._range = 2
        self._renormalise()
        self._put(self._low >> 9 & 1)
        self._bits.u(2, (self._low >> 7 & 3) | 1)
        self._bits.u(-self._bits.size % 8, 0)
        self._start()

    def _renormalise(self) -> None:
        while self._range < 256:
            if self._low < 256:
                self._put(0)
            elif self._low >= 512:
                self._low -= 512
                self._put(1)
            else:
                self._low -= 256
                self._outstanding += 1
            self._range <<= 1
            self._low <<= 1

    def _put(self, bit: int) -> None:
        if self._first:
            self._first = False
        else:
            self._bits.u(1, bit)
        for _ in range(self._outstanding):
            self._bits.u(1, 1 - bit)
        self._outstanding = 0


def write_samples(bits: BitWriter, luma: bytes, chroma: bytes) -> None:
    """coding_tree_unit of an I slice: one coding unit with pcm_sample; then the slice ends."""
    cabac = Cabac(bits)
    cabac.decision(SPLIT_INTRA, 0)
    cabac.terminate(1)  # pcm_flag
    for sample in luma + chroma:
        bits.u(8, sample)
    cabac.terminate(1)  # end_of_slice_segment_flag


def write_copy(bits: BitWriter, merge_idx: int, max_num_merge_cand: int) -> None:
    """coding_tree_unit of a P or B slice: one skipped coding unit; then the slice ends."""
    cabac = Cabac(bits)
    cabac.decision(SPLIT_INTER, 0)
    cabac.decision(SKIP, 1)
    for i in range(min(merge_idx + 1, max_num_merge_cand - 1)):
        value = int(i < merge_idx)
        if i:
            cabac.bypass(value)
        else:
            cabac.decision(MERGE, value)
    cabac.terminate(1)  # end_of_slice_segment_flag
