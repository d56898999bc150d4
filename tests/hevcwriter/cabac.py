"""CABAC encoding (ITU-T H.265, 9.3.4.4 and following: the inverse of its decoding process)."""

from __future__ import annotations

from decoder.bitstream.bits import BitWriter

_RANGE_LPS = (
    128, 176, 208, 240, 128, 167, 197, 227, 128, 158, 187, 216, 123, 150, 178, 205,
    116, 142, 169, 195, 111, 135, 160, 185, 105, 128, 152, 175, 100, 122, 144, 166,
    95, 116, 137, 158, 90, 110, 130, 150, 85, 104, 123, 142, 81, 99, 117, 135,
    77, 94, 111, 128, 73, 89, 105, 122, 69, 85, 100, 116, 66, 80, 95, 110,
    62, 76, 90, 104, 59, 72, 86, 99, 56, 69, 81, 94, 53, 65, 77, 89,
    51, 62, 73, 85, 48, 59, 69, 80, 46, 56, 66, 76, 43, 53, 63, 72,
    41, 50, 59, 69, 39, 48, 56, 65, 37, 45, 54, 62, 35, 43, 51, 59,
    33, 41, 48, 56, 32, 39, 46, 53, 30, 37, 43, 50, 29, 35, 41, 48,
    27, 33, 39, 45, 26, 31, 37, 43, 24, 30, 35, 41, 23, 28, 33, 39,
    22, 27, 32, 37, 21, 26, 30, 35, 20, 24, 29, 33, 19, 23, 27, 31,
    18, 22, 26, 30, 17, 21, 25, 28, 16, 20, 23, 27, 15, 19, 22, 25,
    14, 18, 21, 24, 14, 17, 20, 23, 13, 16, 19, 22, 12, 15, 18, 21,
    12, 14, 17, 20, 11, 14, 16, 19, 11, 13, 15, 18, 10, 12, 15, 17,
    10, 12, 14, 16, 9, 11, 13, 15, 9, 11, 12, 14, 8, 10, 12, 14,
    8, 9, 11, 13, 7, 9, 11, 12, 7, 9, 10, 12, 7, 8, 10, 11,
    6, 8, 9, 11, 6, 7, 9, 10, 6, 7, 8, 9, 2, 2, 2, 2,
)  # fmt: skip
"""rangeTabLps (table 9-52), by 4 * pStateIdx + qRangeIdx."""

_NEXT_LPS = (
    0, 0, 1, 2, 2, 4, 4, 5, 6, 7, 8, 9, 9, 11, 11, 12, 13, 13, 15, 15, 16, 16, 18, 18, 19, 19, 21,
    21, 22, 22, 23, 24, 24, 25, 26, 26, 27, 27, 28, 29, 29, 30, 30, 30, 31, 32, 32, 33, 33, 33, 34,
    34, 35, 35, 35, 36, 36, 36, 37, 37, 37, 38, 38, 63,
)  # fmt: skip
"""transIdxLps (table 9-53)."""

_INIT_VALUES = {
    "cu_skip_flag": ((), (197, 185, 201), (197, 185, 201)),
    "part_mode": ((184,), (154,), (154,)),
    "pred_mode_flag": ((), (149,), (134,)),
    "merge_idx": ((), (122,), (137,)),
}
"""initValue by syntax element, initType and ctxInc (tables 9-9 to 9-15), of those written."""


class Contexts:
    """Context variables of a slice (9.3.2.2)."""

    def __init__(self, init_type: int, slice_qp: int) -> None:
        self._states = {
            (name, number): self._initial(value, slice_qp)
            for name, values in _INIT_VALUES.items()
            for number, value in enumerate(values[init_type])
        }

    @staticmethod
    def _initial(value: int, slice_qp: int) -> tuple[int, int]:
        slope = (value >> 4) * 5 - 45
        offset = ((value & 15) << 3) - 16
        state = min(max(1, ((slope * slice_qp) >> 4) + offset), 126)
        return (state - 64, 1) if state > 63 else (63 - state, 0)

    def state(self, name: str, number: int) -> tuple[int, int]:
        """(pStateIdx, valMps)."""
        return self._states[name, number]

    def update(self, name: str, number: int, state: int, mps: int) -> None:
        """After a bin."""
        self._states[name, number] = state, mps


class CabacEncoder:
    """Arithmetic encoding engine that appends to ``writer`` (9.3.4.5 of the encoding process)."""

    def __init__(self, writer: BitWriter, contexts: Contexts) -> None:
        self._writer = writer
        self._contexts = contexts
        self._begin()

    def _begin(self) -> None:
        self._low, self._range = 0, 510
        self._first = True
        self._outstanding = 0

    def decision(self, name: str, value: int, number: int = 0) -> None:
        """One bin of a syntax element under the context variable of that ctxInc."""
        state, mps = self._contexts.state(name, number)
        lps = _RANGE_LPS[4 * state + (self._range >> 6 & 3)]
        self._range -= lps
        if value != mps:
            self._low += self._range
            self._range = lps
            if state == 0:
                mps = 1 - mps
            state = _NEXT_LPS[state]
        else:
            state = min(62, state + 1)
        self._contexts.update(name, number, state, mps)
        self._renormalize()

    def bypass(self, value: int) -> None:
        """One bin without a context."""
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
        """The bin of end_of_slice_segment_flag or pcm_flag; behind a 1 the data is complete.

        The last bit is rbsp_slice_segment_trailing_bits' one, or what is read before PCM samples.
        """
        self._range -= 2
        if not value:
            self._renormalize()
            return
        self._low += self._range
        self._range = 2
        self._renormalize()
        self._put(self._low >> 9 & 1)
        self._writer.u(2, self._low >> 7 & 3 | 1)

    def align(self) -> None:
        """Zeros up to the next byte."""
        self._writer.u(-self._writer.size % 8, 0)

    def samples(self, bits: int, values: list[int]) -> None:
        """PCM samples behind a pcm_flag; then the engine begins anew."""
        for value in values:
            self._writer.u(bits, value)
        self._begin()

    def _renormalize(self) -> None:
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
            self._writer.u(1, bit)
        for _ in range(self._outstanding):
            self._writer.u(1, 1 - bit)
        self._outstanding = 0
