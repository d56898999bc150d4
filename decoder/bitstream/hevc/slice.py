"""Slice segment header (ITU-T H.265, 7.3.6.1), of which the reference picture set is kept."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.bitstream.hevc.pps import PictureParameterSet
from decoder.bitstream.hevc.remainder import read_remainder
from decoder.bitstream.hevc.rps import MAX_PICTURES, ShortTermRefPicSet
from decoder.bitstream.hevc.sps import SequenceParameterSet
from decoder.bitstream.hevc.units import IDR, IRAP, SLICE
from decoder.bitstream.nal import unescape
from decoder.errors import InvalidSyntax, Truncated

PpsLookup = Callable[[int], PictureParameterSet | None]

# Unescaped at first; nearly every header fits, and a longer one is read again with more
_HEAD = 64

_MAX_CYCLE = (1 << 28) - 1  # 2^(32 - log2_max_pic_order_cnt_lsb) at most (7.4.7.1)

# slice_type (table 7-7)
B, P, I = range(3)  # noqa: E741  (the names of the standard)

LongTerm = tuple[int, int, int | None]
"""PocLsbLt, UsedByCurrPicLt and DeltaPocMsbCycleLt (7-52); the last None without its MSB."""


class SliceSegmentHeader(Struct, frozen=True):
    """slice_segment_header up to its reference picture set, with the NAL unit header before it.

    What stands behind that set is read and not kept. The set is that of the picture, the same in
    all of its slices: of a slice segment that is not the first, what stands behind
    slice_pic_parameter_set_id is not read. Absent elements hold what 7.4.7.1 infers; an IDR picture
    has no ``short_term``.
    """

    pps: PictureParameterSet
    nal_unit_type: int
    temporal_id: int
    first_slice_segment_in_pic_flag: int
    no_output_of_prior_pics_flag: int
    slice_type: int = I
    pic_output_flag: int = 1
    slice_pic_order_cnt_lsb: int = 0
    short_term: ShortTermRefPicSet | None = None
    long_term: tuple[LongTerm, ...] = ()

    @classmethod
    def parse(cls, nal: bytes, pps_lookup: PpsLookup) -> SliceSegmentHeader:
        """Reads a NAL unit of a slice segment, given with its header; unescapes its head only.

        Raises InvalidSyntax, naming the element, when the header is truncated, holds a value out of
        range or refers to a parameter set that is not there.
        """
        length = _HEAD
        while length < len(nal):
            try:
                return cls.read(BitReader(unescape(nal[:length])), pps_lookup)
            except Truncated:
                length *= 8
        return cls.read(BitReader(unescape(nal)), pps_lookup)

    @classmethod
    def read(cls, r: BitReader, pps_lookup: PpsLookup) -> SliceSegmentHeader:
        """Reads nal_unit_header and slice_segment_header; InvalidSyntax names the element."""
        u, flag, ue = r.u, r.flag, r.ue
        unit = u(16, "nal_unit_type")
        nal_unit_type, temporal_id = unit >> 9, (unit & 7) - 1
        if nal_unit_type not in SLICE:
            raise InvalidSyntax(f"nal_unit_type is {nal_unit_type}, which is no slice segment")
        if temporal_id < 0:
            raise out_of_range("nuh_temporal_id_plus1", 0, 1, 7)
        irap = nal_unit_type in IRAP
        if irap and temporal_id:
            raise InvalidSyntax(f"nuh_temporal_id_plus1 is {temporal_id + 1} in an IRAP picture")
        first_slice_segment_in_pic_flag = flag("first_slice_segment_in_pic_flag")
        no_output_of_prior_pics_flag = flag("no_output_of_prior_pics_flag") if irap else 0
        slice_pic_parameter_set_id = ue("slice_pic_parameter_set_id", 63)
        pps = pps_lookup(slice_pic_parameter_set_id)
        if pps is None:
            raise InvalidSyntax(
                f"slice_pic_parameter_set_id: picture parameter set {slice_pic_parameter_set_id}"
                " is not there"
            )
        sps = pps.sps
        if sps.separate_colour_plane_flag:
            raise InvalidSyntax("separate_colour_plane_flag: planes are coded like pictures")
        if not first_slice_segment_in_pic_flag:
            return cls(pps, nal_unit_type, temporal_id, 0, no_output_of_prior_pics_flag)

        for _ in range(pps.num_extra_slice_header_bits):
            flag("slice_reserved_flag")
        slice_type = ue("slice_type", 2)
        if irap and slice_type != I and not pps.pps_scc_extension_flag:
            raise InvalidSyntax(f"slice_type is {slice_type} in an IRAP picture")
        pic_output_flag = flag("pic_output_flag") if pps.output_flag_present_flag else 1
        slice_pic_order_cnt_lsb = 0
        short_term = None
        long_term: tuple[LongTerm, ...] = ()
        if nal_unit_type not in IDR:
            slice_pic_order_cnt_lsb = u(sps.log2_max_pic_order_cnt_lsb, "slice_pic_order_cnt_lsb")
            if not flag("short_term_ref_pic_set_sps_flag"):
                short_term = ShortTermRefPicSet.read(r, sps.st_ref_pic_sets, in_slice=True)
            else:
                short_term = _choose_set(r, sps)
            if sps.long_term_ref_pics_present_flag:
                long_term = _read_long_term(r, sps, short_term)
        total = _count_used(short_term, long_term) if slice_type != I else 0
        if not pps.pps_scc_extension_flag:  # of which nothing is told from headers
            read_remainder(r, pps, slice_type, short_term is None, total)
        return cls(
            pps,
            nal_unit_type,
            temporal_id,
            1,
            no_output_of_prior_pics_flag,
            slice_type,
            pic_output_flag,
            slice_pic_order_cnt_lsb,
            short_term,
            long_term,
        )


def _choose_set(r: BitReader, sps: SequenceParameterSet) -> ShortTermRefPicSet:
    """The set of the SPS that short_term_ref_pic_set_idx names."""
    sets = sps.st_ref_pic_sets
    highest = len(sets) - 1
    if highest < 0:
        raise InvalidSyntax("short_term_ref_pic_set_sps_flag: the SPS has no set")
    index = r.u(highest.bit_length(), "short_term_ref_pic_set_idx")
    if index > highest:
        raise out_of_range("short_term_ref_pic_set_idx", index, 0, highest)
    return sets[index]


def _read_long_term(
    r: BitReader, sps: SequenceParameterSet, short_term: ShortTermRefPicSet
) -> tuple[LongTerm, ...]:
    """From num_long_term_sps to the last delta_poc_msb_cycle_lt."""
    left = MAX_PICTURES - len(short_term.negative) - len(short_term.positive)
    known = sps.lt_ref_pics
    num_long_term_sps = r.ue("num_long_term_sps", min(len(known), left)) if known else 0
    num_long_term_pics = r.ue("num_long_term_pics", left - num_long_term_sps)
    found: list[LongTerm] = []
    cycle = 0
    for i in range(num_long_term_sps + num_long_term_pics):
        if i < num_long_term_sps:
            index = r.u((len(known) - 1).bit_length(), "lt_idx_sps")
            if index >= len(known):
                raise out_of_range("lt_idx_sps", index, 0, len(known) - 1)
            lsb, used = known[index]
        else:
            lsb = r.u(sps.log2_max_pic_order_cnt_lsb, "poc_lsb_lt")
            used = r.flag("used_by_curr_pic_lt_flag")
        if r.flag("delta_poc_msb_present_flag"):
            delta = r.ue("delta_poc_msb_cycle_lt", _MAX_CYCLE)
            # The decoder begins anew where the first of the second part has a cycle, the standard
            # (7-52) where it has none too.
            cycle = delta if i == num_long_term_sps else cycle + delta
            found.append((lsb, used, cycle))
        else:
            found.append((lsb, used, None))
    return tuple(found)


def _count_used(short_term: ShortTermRefPicSet | None, long_term: tuple[LongTerm, ...]) -> int:
    """NumPicTotalCurr (7-55)."""
    if short_term is None:
        return 0
    used = [used for _, used in (*short_term.negative, *short_term.positive)]
    return sum(used) + sum([used for _, used, _ in long_term])
