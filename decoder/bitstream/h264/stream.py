"""An H.264 stream as coded pictures: packets in, `Picture` values out, from headers alone.

Follows the decoding process (ITU-T H.264, 8.2) as FFmpeg carries it out, because what a picture may
read is what the decoder will look up. What the model does not cover makes a picture unsafe, or sets
``fallback`` when not even the list of frames can be told from the headers.
"""

from __future__ import annotations

from decoder.bitstream import nal as nal_units
from decoder.bitstream.h264.coded import CodedFrame
from decoder.bitstream.h264.dpb import UNKNOWN
from decoder.bitstream.h264.output import DefaultOutput
from decoder.bitstream.h264.parameter_sets import Configuration, ParameterSets
from decoder.bitstream.h264.poc import FRAME, structure_of
from decoder.bitstream.h264.preamble import preamble
from decoder.bitstream.h264.process import SWITCHING, DecodingProcess
from decoder.bitstream.h264.sei import (
    RECOVERY_POINT,
    RECOVERY_POINT_MESSAGE,
    TWO_FIELDS,
    USER_DATA,
    names_x264,
    pic_struct,
    recovery_frame_cnt,
)
from decoder.bitstream.h264.slice import B, I, SliceHeader
from decoder.bitstream.h264.sps import SequenceParameterSet
from decoder.bitstream.h264.stub import state_only, unused_pps_id
from decoder.bitstream.picture import PacketFacts, Picture
from decoder.bitstream.sei import PICTURE_TIMING, lasting, messages
from decoder.errors import InvalidSyntax

UNPAIRED = "a field without its partner"
MIXED = "one field is a reference and the other is not"

DEFAULT_STUB_PPS = 31
"""pic_parameter_set_id of state-only pictures; must not occur in the stream (see `again`)."""


class PictureStream:
    """Incremental: `feed` every packet in order, then `flush`."""

    def __init__(
        self, extradata: bytes, *, stub_pps_id: int = DEFAULT_STUB_PPS, delay: int = 0
    ) -> None:
        """``delay``: reordering delay the container's probing found (has_b_frames)."""
        self.fallback: str | None = None
        """Why the frames of the stream cannot be told from headers, the first reason met."""
        self.packets: list[PacketFacts] = []
        self._snapshots: list[tuple[int, tuple[bytes, ...]]] = []
        self._pps_ids: set[int] = set()
        self._extradata = extradata
        self._initial_delay = delay
        self.encoder_note: bytes | None = None
        """The first SEI unit that names the version of x264."""
        self.output = DefaultOutput(delay)
        self.length_size = nal_units.ANNEX_B
        self._stub_pps_id = stub_pps_id
        self.process = DecodingProcess(self.output)
        """The decoding process as the packets so far have left it."""
        self._sets = ParameterSets()
        self._next_index = 0
        self._active_refs = (0, 0)
        self._coded: CodedFrame | None = None
        self._held: CodedFrame | None = None
        self._recovery: int | None = None
        self._timing: bytes | None = None
        self._configurations: dict[SequenceParameterSet, int] = {}
        self._numbered: tuple[SequenceParameterSet, int] | None = None
        self._colours: set[tuple[int | None, ...]] = set()
        self._configure(extradata)

    # -- packets

    def feed(self, data: bytes, *, new_extradata: bytes | None = None) -> list[Picture]:
        """Takes the next packet; the pictures that are complete by now (the last one never is)."""
        ordinal = len(self.packets)
        if new_extradata:
            self._give_up("the configuration changes in the middle (new extradata)")
        done: list[Picture] = []
        changed = False
        if self._held is None or not self._held.open_field:
            self._recovery = None
        self._timing = None
        recovery = None
        try:
            for unit in nal_units.split(data, self.length_size):
                kind = unit[0] & 31
                if kind == 1 or kind == 5:
                    header = SliceHeader.parse(unit, self._sets.pps.get)
                    if not header.redundant_pic_cnt:
                        self._slice(header, ordinal, done)
                elif kind == 6:
                    found = self._message(unit)
                    recovery = found if found is not None else recovery
                elif kind == 7 or kind == 8:
                    if self._parameter_set(unit):
                        changed = True
                elif 2 <= kind <= 4:
                    self._give_up("data partitioning")
        except InvalidSyntax as problem:
            self._give_up(f"packet {ordinal}: {problem}")
        self._end_coded()
        if changed:
            self._snapshots.append((ordinal, self._sets.snapshot()))
        self.packets.append(PacketFacts(changed, recovery))
        return done

    def flush(self) -> list[Picture]:
        """The end of the stream: the last picture."""
        done: list[Picture] = []
        self._release(done)
        self.output.drain()
        return done

    def again(self) -> PictureStream | None:
        """A stream to feed everything once more where this one turned out to be set up wrongly."""
        if self._stub_pps_id not in self._pps_ids:
            return None
        unused = unused_pps_id(self._pps_ids)
        if unused is None:
            self._give_up("every PPS id is in use")
            return None
        return PictureStream(self._extradata, stub_pps_id=unused, delay=self._initial_delay)

    def heads(self) -> list[tuple[int, bytes]]:
        """(ordinal, the parameter sets in force behind that packet), where they change."""
        return [(n, nal_units.join(units, self.length_size)) for n, units in self._snapshots]

    @property
    def prelude(self) -> bytes:
        """The encoder's note and a recovery point.

        Without the latter nothing is shown that does not follow an IDR picture.
        """
        note = [self.encoder_note] if self.encoder_note else []
        return nal_units.join([*note, RECOVERY_POINT], self.length_size)

    @property
    def shown(self) -> list[int]:
        """Decode indexes in presentation order: what a decoder with default options shows."""
        return self.output.shown

    @property
    def hidden(self) -> dict[int, str]:
        """Decode index -> reason, of the pictures that it decodes and does not show."""
        return self.output.hidden

    def _configure(self, extradata: bytes) -> None:
        try:
            configuration = Configuration.parse(extradata)
            self.length_size = configuration.length_size
            for unit in configuration.units:
                if unit[0] & 31 == 6:
                    self._message(unit)
                else:
                    self._parameter_set(unit)
        except InvalidSyntax as problem:
            self._give_up(f"extradata: {problem}")
        self._recovery = None
        self._snapshots.append((-1, self._sets.snapshot()))

    def _give_up(self, reason: str) -> None:
        if self.fallback is None:
            self.fallback = reason

    def _message(self, unit: bytes) -> int | None:
        """Takes in an SEI unit; recovery_frame_cnt (D.1.8) if it has one."""
        recovery = None
        for payload_type, payload in messages(unit, 1):
            if payload_type == RECOVERY_POINT_MESSAGE and recovery is None:
                recovery = recovery_frame_cnt(payload)
            elif payload_type == USER_DATA and self.encoder_note is None and names_x264(payload):
                self.encoder_note = unit
            elif payload_type == PICTURE_TIMING:
                self._timing = payload
            elif lasting(payload_type, payload):
                self._give_up(f"{lasting(payload_type, payload)} hold for later pictures too")
        if recovery is not None:
            self._recovery = recovery
            self.output.recovery_point()
        return recovery

    def _parameter_set(self, unit: bytes) -> bool:
        if not self._sets.update(unit):
            return False
        self._pps_ids.update(self._sets.pps)
        first = second = 0
        for pps in self._sets.pps.values():
            first = max(first, pps.num_ref_idx_l0_default_active_minus1 + 1)
            second = max(second, pps.num_ref_idx_l1_default_active_minus1 + 1)
        self._active_refs = (first, second)
        return True

    # -- slices into fields and frames

    def _slice(self, header: SliceHeader, ordinal: int, done: list[Picture]) -> None:
        coded = self._coded
        if coded is not None:
            if coded.continues(header):
                if header.first_mb_in_slice <= coded.last_mb:
                    self._give_up(f"packet {ordinal}: slices out of order")
                coded.last_mb = header.first_mb_in_slice
                self.process.references(coded, header)
                return
            self._end_coded()
            if not (coded.open_field and coded.pairs_with(header)):
                self._give_up(f"packet {ordinal}: more than one frame in a packet")
        if header.first_mb_in_slice:
            self._give_up(f"packet {ordinal}: a picture that does not start at macroblock 0")
        self._begin(header, ordinal, done)

    def _begin(self, header: SliceHeader, ordinal: int, done: list[Picture]) -> None:
        """The first slice of a frame or field (7.4.1.2.4, first_mb_in_slice 0)."""
        structure = structure_of(header)
        held = self._held
        process = self.process
        second = held is not None and held.open_field and held.pairs_with(header)
        idr = header.nal_unit_type == 5
        if not second:
            if held is not None and held.open_field:
                self._unpaired(held)
            gap = process.gap(header, held) if not idr else 0
            self._release(done)
            if idr:
                process.start_sequence(header.sps)
            elif not process.start_without_idr(header.sps):
                self._give_up(f"packet {ordinal}: another SPS without an IDR picture")
            if gap:
                process.fill(header, gap)
        elif idr:
            self._give_up(f"packet {ordinal}: an IDR picture as second field")
        if second:
            assert held is not None
            coded = held
        else:
            coded = process.start_frame(self._next_index, header)
            self._next_index += 1
        process.count(coded, header, ordinal, structure)
        self._held = self._coded = coded
        self._look(header, structure)
        self._prepare(coded, header, structure, second)
        process.references(coded, header)

    def _look(self, header: SliceHeader, structure: int) -> None:
        """Gives up where colours depend on earlier pictures: the decoder carries them over.

        The colour description of a sequence that has one stays in force for one that has none;
        whether a frame is converted as two fields may depend on the frame before it.
        """
        sps = header.sps
        vui = sps.vui
        self._colours.add(
            (vui.video_full_range_flag, vui.colour_primaries, vui.transfer_characteristics,
             vui.matrix_coefficients) if vui else ()
        )  # fmt: skip
        if len(self._colours) > 1:
            self._give_up("the colour description changes in the middle")
        if structure != FRAME or sps.mb_adaptive_frame_field_flag or vui is None:
            return
        if not (self._timing is not None and vui.pic_struct_present_flag):
            return
        if pic_struct(self._timing, vui) in TWO_FIELDS:
            self._give_up("frames of two fields whose interlacing follows the frame before")

    def _unpaired(self, held: CodedFrame) -> None:
        held.open_field = False
        held.unsafe = held.unsafe or UNPAIRED
        self._give_up(f"packet {held.packets[0]}: {UNPAIRED}")

    def _prepare(
        self, coded: CodedFrame, header: SliceHeader, structure: int, second: bool
    ) -> None:
        """What is known once a frame or field has started: output, and its replacements."""
        output = self.output
        restriction = header.sps.vui.bitstream_restriction if header.sps.vui else None
        if coded.index and restriction and restriction.max_num_reorder_frames > output.delay:
            self._give_up("the declared reordering delay grows in the middle")
        output.declare(restriction.max_num_reorder_frames if restriction else None)
        output.start(
            coded.index,
            idr=header.nal_unit_type == 5,
            reference=header.nal_ref_idc != 0,
            intra=header.slice_type % 5 == I,
            frame_num=header.frame_num,
            max_frame_num=header.sps.max_frame_num,
            recovery=self._recovery,
        )
        if structure == FRAME or second:
            output.select(
                coded.entry.poc,
                bidirectional=coded.first_kind == B,
                declared=restriction is not None,
            )
        buffer = self.process.buffer
        if header.nal_unit_type == 5 or not (buffer.short or buffer.long):
            coded.whole_only = True  # a P slice needs something to refer to
        if not second and header.slice_type % 5 == I:
            coded.state = self.process.state()

    # -- the end of a frame or field

    def _end_coded(self) -> None:
        """Marking (8.2.5) after the last slice of a frame or field."""
        coded = self._coded
        if coded is None:
            return
        self._coded = None
        if coded.mixed:
            coded.unsafe = coded.unsafe or MIXED
            self._give_up(f"packet {coded.packets[-1]}: {MIXED}")
        if coded.unsafe is SWITCHING:
            self._give_up(SWITCHING)
        coded.close_field()
        self.process.mark(coded, self._active_refs)

    def _release(self, done: list[Picture]) -> None:
        """Hands out the picture that was held back until it was known what follows."""
        held = self._held
        if held is None:
            return
        self._held = None
        if held.open_field:
            held.unsafe = held.unsafe or UNPAIRED
            self.output.hidden[held.index] = UNPAIRED
        done.append(
            Picture(
                tuple(held.packets),
                (held.sequence, held.order),
                held.picture_type,
                held.is_reference,
                held.idr,
                tuple(sorted(held.read - {UNKNOWN, held.index})),
                self._stubs(held),
                held.droppable,
                self._preamble(held),
                held.unsafe,
                self._configuration(held.header.sps),
            )
        )

    def _configuration(self, sps: SequenceParameterSet) -> int:
        """A number for ``sps``; hashing one takes as long as parsing half a slice header."""
        if self._numbered is None or self._numbered[0] is not sps:
            known = self._configurations
            self._numbered = (sps, known.setdefault(sps, len(known)))
        return self._numbered[1]

    def _stubs(self, held: CodedFrame) -> tuple[bytes, ...] | None:
        """State-only forms, one per packet (both fields or none)."""
        if held.whole_only or held.droppable or held.mixed:
            return None
        return state_only(held.headers, held.packets, self._stub_pps_id, self.length_size)

    def _preamble(self, held: CodedFrame) -> tuple[bytes, ...] | None:
        if held.idr:
            return ()
        if held.picture_type != "I" or held.read:
            return None
        if held.index == 0:
            return ()
        if held.state is None:
            return None
        return preamble(held.headers[0], held.state, self._stub_pps_id, self.length_size)
