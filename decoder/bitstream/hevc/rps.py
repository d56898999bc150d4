"""Short-term reference picture sets (ITU-T H.265, 7.3.7 and 7.4.8)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from decoder.bitstream.bits import BitReader
from decoder.errors import InvalidSyntax

MAX_PICTURES = 15
"""sps_max_dec_pic_buffering_minus1 is at most that in every level."""

_MAX_DELTA_MINUS1 = (1 << 15) - 1


class ShortTermRefPicSet(Struct, frozen=True):
    """The pictures that one st_ref_pic_set names, by the difference of their POC.

    ``negative`` holds (DeltaPocS0, UsedByCurrPicS0), nearest first, ``positive`` the same of S1.
    """

    negative: tuple[tuple[int, int], ...]
    positive: tuple[tuple[int, int], ...]

    @classmethod
    def read(
        cls, r: BitReader, sets: Sequence[ShortTermRefPicSet], *, in_slice: bool
    ) -> ShortTermRefPicSet:
        """st_ref_pic_set (7.3.7) behind the ``sets`` of the SPS read before."""
        if sets and r.flag("inter_ref_pic_set_prediction_flag"):
            return cls._read_predicted(r, sets, in_slice)
        num_negative_pics = r.ue("num_negative_pics", MAX_PICTURES)
        num_positive_pics = r.ue("num_positive_pics", MAX_PICTURES - num_negative_pics)
        flag, ue = r.flag, r.ue
        negative = []
        delta = 0
        for _ in range(num_negative_pics):
            delta -= ue("delta_poc_s0_minus1", _MAX_DELTA_MINUS1) + 1
            negative.append((delta, flag("used_by_curr_pic_s0_flag")))
        positive = []
        delta = 0
        for _ in range(num_positive_pics):
            delta += ue("delta_poc_s1_minus1", _MAX_DELTA_MINUS1) + 1
            positive.append((delta, flag("used_by_curr_pic_s1_flag")))
        return cls(tuple(negative), tuple(positive))

    @classmethod
    def _read_predicted(
        cls, r: BitReader, sets: Sequence[ShortTermRefPicSet], in_slice: bool
    ) -> ShortTermRefPicSet:
        """Inter RPS prediction: pictures of another set, seen from elsewhere (7-59 to 7-62)."""
        delta_idx_minus1 = r.ue("delta_idx_minus1", len(sets) - 1) if in_slice else 0
        other = sets[len(sets) - 1 - delta_idx_minus1]
        delta_rps_sign = r.flag("delta_rps_sign")
        delta_rps = r.ue("abs_delta_rps_minus1", _MAX_DELTA_MINUS1) + 1
        if delta_rps_sign:
            delta_rps = -delta_rps
        found = []
        for delta in [*[d for d, _ in other.negative], *[d for d, _ in other.positive], 0]:
            used = r.flag("used_by_curr_pic_flag")
            if used or r.flag("use_delta_flag"):
                found.append((delta + delta_rps, used))
        if len(found) > MAX_PICTURES:
            raise InvalidSyntax(f"use_delta_flag: a set of {len(found)} pictures")
        if len({delta for delta, _ in found} - {0}) != len(found):
            raise InvalidSyntax("abs_delta_rps_minus1: the set names the picture itself, or twice")
        found.sort()
        return cls(
            tuple([entry for entry in reversed(found) if entry[0] < 0]),
            tuple([entry for entry in found if entry[0] > 0]),
        )
