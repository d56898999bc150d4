"""An H.265 stream as coded pictures: packets in, `Picture` values out, from headers alone.

The reference picture set stands in every slice header, so that a decoder can be given any closed
set of pictures of a coded video sequence; nothing has to take the place of the others. What the
model of the decoding process does not cover sets ``fallback``.
"""

from __future__ import annotations

from decoder.bitstream import nal as nal_units
from decoder.bitstream import sei
from decoder.bitstream.hevc.coded import CodedPicture
from decoder.bitstream.hevc.parameter_sets import Configuration, ParameterSets
from decoder.bitstream.hevc.process import DecodingProcess
from decoder.bitstream.hevc.slice import SliceSegmentHeader
from decoder.bitstream.hevc.timing import FieldTiming
from decoder.bitstream.hevc.units import (
    EOB_NUT,
    EOS_NUT,
    HEADER_BYTES,
    PPS_NUT,
    PREFIX_SEI_NUT,
    SLICE,
    SPS_NUT,
    VPS_NUT,
    unit_header,
)
from decoder.bitstream.picture import PacketFacts, Picture
from decoder.errors import InvalidSyntax

SCREEN_CONTENT = "coding tools for screen content"

Spans = tuple[tuple[int, int], ...] | None

_PARAMETER_SETS = (VPS_NUT, SPS_NUT, PPS_NUT)
_ENDS = (EOS_NUT, EOB_NUT)


class PictureStream:
    """Incremental: `feed` every packet in order, then `flush`."""

    def __init__(self, extradata: bytes) -> None:
        self.fallback: str | None = None
        """Why the frames of the stream cannot be told from headers, the first reason met."""
        self.packets: list[PacketFacts] = []
        self.process = DecodingProcess()
        """The decoding process as the packets so far have left it."""
        self.length_size = nal_units.ANNEX_B
        self._sets = ParameterSets()
        self._snapshots: list[tuple[int, tuple[bytes, ...]]] = []
        self._timing = FieldTiming()
        self._ended = True
        """The packet before ended with an end of sequence, or there was none."""
        self._held: list[CodedPicture] = []
        """Pictures from an IRAP picture on, until what follows does not lead it any more."""
        self._configurations: dict[bytes, int] = {}
        self._configure(extradata)

    def feed(self, data: bytes, *, new_extradata: bytes | None = None) -> list[Picture]:
        """Takes the next packet; the pictures that are complete by now (the last one never is)."""
        ordinal = len(self.packets)
        if new_extradata:
            self._reconfigure(new_extradata)
        done: list[Picture] = []
        changed = False
        header: SliceSegmentHeader | None = None
        try:
            units = nal_units.split(data, self.length_size)
            after_end, leading = self._ends(units)
            for unit in units[leading:]:
                kind, nuh_layer_id, _ = unit_header(unit)
                if kind in _PARAMETER_SETS:
                    changed |= self._sets.update(unit)
                elif nuh_layer_id:
                    continue
                elif kind in SLICE:
                    if header is None:
                        header = self._first_slice(unit, ordinal, after_end, done)
                        self._held[-1].spans = self._behind_ends(data, units, leading)
                    else:
                        self._next_slice(unit, header)
                elif kind == PREFIX_SEI_NUT:
                    self._message(unit)
        except InvalidSyntax as problem:
            self._give_up(f"packet {ordinal}: {problem}")
        if changed:
            self._snapshots.append((ordinal, self._sets.snapshot()))
        self.packets.append(PacketFacts(changed, None))
        return done

    def flush(self) -> list[Picture]:
        """The end of the stream: the pictures that are left."""
        done: list[Picture] = []
        self._release(done)
        self.process.buffer.drain()
        return done

    def again(self) -> PictureStream | None:
        """Once is enough."""
        return None

    def heads(self) -> list[tuple[int, bytes]]:
        """(ordinal, the parameter sets in force behind that packet), where they change.

        All of them: another SPS alone takes its PPSs along.
        """
        return [(n, nal_units.join(units, self.length_size)) for n, units in self._snapshots]

    @property
    def prelude(self) -> bytes:
        """Nothing."""
        return b""

    @property
    def shown(self) -> list[int]:
        """Decode indexes in presentation order: what a decoder with default options shows."""
        return self.process.buffer.shown

    @property
    def hidden(self) -> dict[int, str]:
        """Decode index -> reason, of the pictures that it does not show."""
        return self.process.buffer.hidden

    def _configure(self, extradata: bytes) -> None:
        try:
            configuration = Configuration.parse(extradata)
            self.length_size = configuration.length_size
            self._take(configuration)
        except InvalidSyntax as problem:
            self._give_up(f"extradata: {problem}")
        self._snapshots.append((-1, self._sets.snapshot()))

    def _reconfigure(self, extradata: bytes) -> None:
        """Parameter sets that come beside a packet: in force as if the packet before had them."""
        try:
            configuration = Configuration.parse(extradata)
            if configuration.length_size != self.length_size:
                self._give_up("the framing of packets changes in the middle (new extradata)")
            if not self._take(configuration):
                return
        except InvalidSyntax as problem:
            self._give_up(f"new extradata: {problem}")
        before = len(self.packets) - 1
        if self._snapshots[-1][0] == before:
            del self._snapshots[-1]
        if before >= 0:
            self.packets[before] = PacketFacts(False, None)  # it tells a decoder less than that
        self._snapshots.append((before, self._sets.snapshot()))

    def _take(self, configuration: Configuration) -> bool:
        """Whether its parameter sets are other ones."""
        changed = False
        for unit in configuration.units:
            if unit_header(unit)[0] == PREFIX_SEI_NUT:
                self._message(unit)
            else:
                changed |= self._sets.update(unit)
        return changed

    def _give_up(self, reason: str) -> None:
        if self.fallback is None:
            self.fallback = reason

    def _ends(self, units: list[bytes]) -> tuple[bool, int]:
        """Whether the packet follows an end of sequence, as decoders see it.

        One at the start of a packet acts on that packet, one behind something else on the next.

        Returns:
            that, and how many units at the start are such ends.
        """
        after_end, self._ended = self._ended, False
        leading = 0
        for place, unit in enumerate(units):
            if unit[0] >> 1 & 63 not in _ENDS:
                continue
            if leading == place:
                leading += 1
            else:
                self._ended = True
        return after_end or leading > 0, leading

    def _behind_ends(self, data: bytes, units: list[bytes], leading: int) -> Spans:
        """What is behind the ends of sequence at the start of a packet.

        A decoder would take one behind parameter sets that are put before the packet for the end of
        the packet's own sequence.
        """
        if not leading:
            return None
        offset = sum(len(unit) + self.length_size for unit in units[:leading])
        if self.length_size == nal_units.ANNEX_B:
            offset = data.find(units[leading], data.find(units[leading - 1])) - 3
        if nal_units.split(data[offset:], self.length_size) != units[leading:]:
            raise InvalidSyntax("nal_unit_type: an end of sequence that cannot be left out")
        return ((offset, len(data) - offset),)

    def _message(self, unit: bytes) -> None:
        """Takes in an SEI unit."""
        for payload_type, payload in sei.messages(unit, HEADER_BYTES):
            if payload_type == sei.PICTURE_TIMING:
                self._timing.message(payload)
            elif sei.lasting(payload_type, payload):
                self._give_up(f"{sei.lasting(payload_type, payload)} hold for later pictures too")

    def _next_slice(self, unit: bytes, first: SliceSegmentHeader) -> None:
        """A slice segment behind the first one of a picture."""
        header = SliceSegmentHeader.parse(unit, self._sets.pps.get)
        if header.first_slice_segment_in_pic_flag:
            raise InvalidSyntax("first_slice_segment_in_pic_flag: a second picture in the packet")
        if header.nal_unit_type != first.nal_unit_type or header.pps is not first.pps:
            raise InvalidSyntax("slice_pic_parameter_set_id: a slice of another picture")

    def _first_slice(
        self, unit: bytes, ordinal: int, after_end: bool, done: list[Picture]
    ) -> SliceSegmentHeader:
        """The first slice segment of a picture."""
        header = SliceSegmentHeader.parse(unit, self._sets.pps.get)
        if not header.first_slice_segment_in_pic_flag:
            raise InvalidSyntax("first_slice_segment_in_pic_flag: the first slice is missing")
        pps = header.pps
        if pps.pps_scc_extension_flag or pps.sps.sps_scc_extension_flag:
            self._give_up(SCREEN_CONTENT)
        picture = self.process.picture(header, ordinal, after_end=after_end)
        if self.process.fault is not None:
            self._give_up(f"packet {ordinal}: {self.process.fault}")
        self._timing.picture(pps.sps)
        if self._timing.fault is not None:
            self._give_up(self._timing.fault)
        known = self._configurations
        picture.configuration = known.setdefault(self._sets.unit_of(pps.sps), len(known))
        if not picture.leads:
            self._release(done)
        self._held.append(picture)
        return header

    def _release(self, done: list[Picture]) -> None:
        """Hands out the pictures that were held back until it was known what follows."""
        done += [self._picture(held) for held in self._held]
        self._held.clear()

    def _picture(self, coded: CodedPicture) -> Picture:
        return Picture(
            packets=(coded.packet,),
            order=(coded.sequence, coded.poc),
            picture_type=coded.picture_type,
            is_reference=coded.is_reference,
            is_rap=coded.rap,
            references=tuple(sorted(coded.references)),
            state_only=None,
            droppable=True,
            preamble=() if coded.start else None,
            unsafe=None,
            configuration=coded.configuration,
            spans=coded.spans,
            visible=coded.visible,
            segment=coded.sequence,
            modulus=coded.modulus,
            anchors=coded.anchor,
        )
