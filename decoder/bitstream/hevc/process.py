"""Decoding process for order counts and reference picture sets (ITU-T H.265, 8.1.3, 8.3.1, 8.3.2).

As FFmpeg carries it out, because what a picture may read is what the decoder will look up. Its
order counts go on through a CRA picture that starts a coded video sequence, where the standard
starts from 0: only their differences within a sequence matter.
"""

from __future__ import annotations

from decoder.bitstream.hevc.buffer import NO_PICTURE, Entry, PictureBuffer
from decoder.bitstream.hevc.coded import CodedPicture
from decoder.bitstream.hevc.slice import SliceSegmentHeader
from decoder.bitstream.hevc.sps import SequenceParameterSet
from decoder.bitstream.hevc.units import (
    BLA,
    CRA_NUT,
    IDR,
    IRAP,
    RADL,
    RASL,
    SUB_LAYER_NON_REFERENCE,
)

SKIPPED = "leads a random access point with which decoding starts (RASL)"

BEFORE_START = "does not start with a random access point"
OTHER_SPS = "another sequence parameter set in the middle of a coded video sequence"
DOUBLE = "two pictures in the buffer have one order count"
MISSING = "a picture refers to one that is not there"
AMBIGUOUS = "a long-term reference has an order count that several pictures end in"
KEPT = "a random access point keeps a long-term reference that is known by its last bits only"
TOO_FAR = "a picture order count of more than 32 bits"
ACROSS = "a picture refers to one before the random access point that it follows"

_HIGHEST = (1 << 31) - 1


class DecodingProcess:
    """Takes the first slice of one picture after the other.

    ``fault`` is why the stream cannot be followed any further.
    """

    __slots__ = (
        "_active", "_before_irap", "_irap", "_lsbs", "_pictures", "_root", "_sequence", "_skipping",
        "_tid0_poc", "buffer", "fault",
    )  # fmt: skip

    def __init__(self) -> None:
        self.buffer = PictureBuffer()
        self.fault: str | None = None
        self._active: SequenceParameterSet | None = None
        self._pictures = 0
        self._sequence = -1
        self._tid0_poc = 0
        self._skipping = False
        """NoRaslOutputFlag of the last IRAP picture."""
        self._irap: CodedPicture | None = None
        self._root: CodedPicture | None = None
        """The last picture of the sequence that takes no other; and the last before _irap."""
        self._before_irap: CodedPicture | None = None
        self._lsbs: dict[int, int] = {}
        """How many pictures of the sequence have an order count of these LSBs."""

    def picture(self, header: SliceSegmentHeader, packet: int, *, after_end: bool) -> CodedPicture:
        """The picture that starts with ``header``.

        Args:
            after_end: it is the first one, or the first after an end of sequence.
        """
        kind = header.nal_unit_type
        starts = kind in IDR or kind in BLA or (kind == CRA_NUT and after_end)
        if starts:
            self._sequence += 1
            self._lsbs = {}
            self._root = None
        elif after_end:
            self._give_up(BEFORE_START)
        poc = self._count(header)
        picture = CodedPicture(self._pictures, packet, self._sequence, poc)
        self._pictures += 1
        picture.modulus = 1 << header.pps.sps.log2_max_pic_order_cnt_lsb
        picture.picture_type = "BPI"[header.slice_type]
        if kind in IRAP:
            self._skipping = starts
        picture.leads = kind in RADL or kind in RASL
        if kind in RASL and self._skipping:
            picture.visible = picture.is_reference = False
            self.buffer.hidden[picture.index] = SKIPPED
            return picture
        picture.anchor = (
            header.temporal_id == 0 and kind not in SUB_LAYER_NON_REFERENCE and not picture.leads
        )
        if picture.anchor:
            self._tid0_poc = poc
        highest = header.pps.sps.sps_max_sub_layers_minus1
        picture.is_reference = not (
            kind in SUB_LAYER_NON_REFERENCE and header.temporal_id == highest
        )
        picture.visible = header.pic_output_flag != 0
        self._decode(picture, header, starts or after_end, after_end)
        return picture

    def _give_up(self, reason: str) -> None:
        if self.fault is None:
            self.fault = reason

    def _count(self, header: SliceSegmentHeader) -> int:
        """PicOrderCntVal (8.3.1)."""
        kind = header.nal_unit_type
        if kind in IDR:
            return 0
        lsb = header.slice_pic_order_cnt_lsb
        if kind in BLA:
            return lsb
        modulus = 1 << header.pps.sps.log2_max_pic_order_cnt_lsb
        previous = self._tid0_poc % modulus
        msb = self._tid0_poc - previous
        if lsb < previous and previous - lsb >= modulus >> 1:
            msb += modulus
        elif lsb > previous and lsb - previous > modulus >> 1:
            msb -= modulus
        if not -_HIGHEST <= msb <= _HIGHEST - lsb:
            self._give_up(TOO_FAR)
        return msb + lsb

    def _decode(
        self, picture: CodedPicture, header: SliceSegmentHeader, ends_before: bool, after_end: bool
    ) -> None:
        """Output of what was before, the reference picture set, and output by count."""
        sps = header.pps.sps
        buffer = self.buffer
        kind = header.nal_unit_type
        if sps is not self._active:
            buffer.forget_references()
            if not ends_before:
                self._give_up(OTHER_SPS)
            self._active = sps
        if kind in IDR:
            buffer.forget_references()
        if ends_before:
            inferred = kind == CRA_NUT and after_end
            buffer.drain(discard=inferred or header.no_output_of_prior_pics_flag != 0)
        entry = buffer.add(picture.index, picture.poc, output=header.pic_output_flag != 0)
        if entry is None:
            self._give_up(DOUBLE)
            return
        buffer.keep(self._reference_picture_set(picture, header), entry)
        self._place(picture, entry, kind)
        buffer.bump(sps.sps_max_num_reorder_pics, sps.sps_max_dec_pic_buffering_minus1 + 1)

    def _reference_picture_set(
        self, picture: CodedPicture, header: SliceSegmentHeader
    ) -> list[Entry]:
        """The entries of the buffer that the picture or a later one may read (8.3.2).

        All of them become its references, although its lists may be shorter and some are kept for
        later ones: a decoder that misses one marks the picture as damaged. Only of an IRAP picture
        it does not, which reads none.
        """
        mask = picture.modulus - 1
        poc = picture.poc
        if header.pps.sps.long_term_ref_pics_present_flag:
            self._lsbs[poc & mask] = self._lsbs.get(poc & mask, 0) + 1
        short_term = header.short_term
        if short_term is None:
            return []
        wanted = [poc + delta for delta, _ in (*short_term.negative, *short_term.positive)]
        by_count = {
            e.poc: e for e in self.buffer.entries if e.index not in (NO_PICTURE, picture.index)
        }
        irap = header.nal_unit_type in IRAP
        for lsb, _, cycle in header.long_term:
            if cycle is not None:
                wanted.append((poc & ~mask) + lsb - cycle * picture.modulus)
                continue
            if irap:  # decoding that starts here makes one up, perhaps of a later one's count
                self._give_up(KEPT)
            wanted.append(self._long_term_count(lsb, poc, mask, by_count))
        kept: list[Entry] = []
        for count in wanted:
            entry = by_count.get(count)
            if entry is None:
                if not irap:
                    self._give_up(MISSING)
                entry = Entry(NO_PICTURE, count, False)
            elif not irap:
                picture.references.add(entry.index)
                picture.earliest = min(picture.earliest, entry.earliest)
            kept.append(entry)
        return kept

    def _long_term_count(self, lsb: int, poc: int, mask: int, by_count: dict[int, Entry]) -> int:
        """The order count of the reference that is known by its last bits only.

        A decoder that is not fed everything holds others than this buffer does: no other picture of
        the sequence may end in the same bits.
        """
        if self._lsbs.get(lsb, 0) - (lsb == poc & mask) > 1:
            self._give_up(AMBIGUOUS)
        return next((p for p in by_count if p & mask == lsb), lsb)

    def _place(self, picture: CodedPicture, entry: Entry, kind: int) -> None:
        """What the picture is to decoding that starts in the middle.

        A decoder passes over the RASL pictures of the CRA picture it starts with, and knows them by
        the last IRAP picture it was given. So they take that one, and something before it.
        """
        irap = self._irap
        if kind in IRAP:
            picture.rap = True
            self._before_irap = self._root
            self._irap = picture
        elif irap is not None:
            if kind in RASL:
                picture.references.add(irap.index)
                picture.earliest = min(picture.earliest, irap.index)
                if picture.earliest == irap.index and self._before_irap is not None:
                    picture.references.add(self._before_irap.index)
                    picture.earliest = self._before_irap.index
            if any(index < irap.index for index in picture.references):
                irap.rap = False
                if not picture.leads:
                    self._give_up(ACROSS)
        entry.earliest = picture.earliest
        if picture.anchor and not picture.references:
            picture.start = True
            self._root = picture
