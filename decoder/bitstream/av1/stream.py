"""An AV1 stream as coded pictures: packets in, `Picture` values out, from headers alone.

Every frame is a picture, whether it is shown, hidden, or there already and shown again. Follows
dav1d, which is what FFmpeg decodes AV1 with: it takes the sequence header from the packets only,
never from the container (av1C), and of a scalable stream the first operating point.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from decoder.bitstream.av1 import metadata
from decoder.bitstream.av1.frame import (
    INTER_FRAME,
    KEY_FRAME,
    SWITCH_FRAME,
    FrameHeader,
    FrameSize,
    ShownAgain,
    parse_frame_header,
)
from decoder.bitstream.av1.obu import (
    OBU_FRAME,
    OBU_FRAME_HEADER,
    OBU_METADATA,
    OBU_REDUNDANT_FRAME_HEADER,
    OBU_SEQUENCE_HEADER,
    OBU_TEMPORAL_DELIMITER,
    OBU_TILE_GROUP,
    OBU_TILE_LIST,
    TEMPORAL_DELIMITER,
    Obu,
    framed,
    split,
)
from decoder.bitstream.av1.sequence import ColorConfig, SequenceHeader
from decoder.bitstream.av1.slots import ReferenceSlots
from decoder.bitstream.av1.tiles import read_tile_group
from decoder.bitstream.bits import BitReader
from decoder.bitstream.picture import PacketFacts, Picture
from decoder.errors import InvalidSyntax

HIDDEN = "not shown by itself"
LOWER_LAYER = "a higher spatial layer is shown"

_TILE_GROUP_HEAD = 8
_FACTS = PacketFacts(False, None)
_TYPES = {INTER_FRAME: "P", SWITCH_FRAME: "p"}


class _Frame(Struct):
    """A frame while its packet is read."""

    index: int
    header: FrameHeader
    shown: bool
    again: bool
    spatial_id: int
    references: tuple[int, ...]
    spans: list[tuple[int, int]]
    """Start and end of its OBUs, neighbours as one."""
    next_tile: int | None
    """First tile that has not come yet; None where that is behind the header, unknown."""

    @property
    def hidden_key(self) -> bool:
        """A key frame that later ones may be decoded from, and not only what follows it."""
        return self.header.frame_type == KEY_FRAME and not self.shown

    def add(self, obu: Obu) -> None:
        """One more OBU of the frame."""
        start, end = self.spans[-1]
        if end == obu.start:
            self.spans[-1] = (start, obu.end)
        else:
            self.spans.append((obu.start, obu.end))


class PictureStream:
    """Incremental: `feed` every packet in order, then `flush`."""

    def __init__(self) -> None:
        self.fallback: str | None = None
        """Why the frames of the stream cannot be told from headers, the first reason met."""
        self.packets: list[PacketFacts] = []
        self.shown: list[int] = []
        """Decode indexes in presentation order: what a decoder with default options shows."""
        self.hidden: dict[int, str] = {}
        """Decode index -> reason, of the pictures that it decodes and does not show."""
        self._heads: list[tuple[int, bytes]] = [(-1, b"")]
        self._sequence: SequenceHeader | None = None
        self._sequence_payload: bytes | None = None
        self._sequences = 0
        self._colors: set[tuple[int, ...]] = set()
        self._configurations: dict[tuple[ColorConfig, int, int], int] = {}
        self._numbered: tuple[FrameSize | None, int] = (None, 0)
        self._slots = ReferenceSlots()
        self._next_index = 0
        self._frames: list[_Frame] = []
        """Of the packet that is being read."""
        self._open: _Frame | None = None
        """The last of them, where tile groups may follow."""
        self._held: list[Picture] = []
        """From a hidden key frame on that may be a random access point."""
        self._first_held = -1

    # -- packets

    def feed(self, data: bytes, *, new_extradata: bytes | None = None) -> list[Picture]:
        """Takes the next packet; the pictures of which everything is known by now."""
        ordinal = len(self.packets)
        self.packets.append(_FACTS)
        self._frames = []
        if new_extradata:
            self._give_up("the configuration changes in the middle (new extradata)")
        try:
            for obu in split(data):
                self._take(obu, data, ordinal)
            self._close()
        except InvalidSyntax as problem:
            self._open = None
            self._give_up(f"packet {ordinal}: {problem}")
        return self._pictures(ordinal)

    def flush(self) -> list[Picture]:
        """The end of the stream: the pictures that were held back."""
        return self._release(True)

    def again(self) -> None:
        """One reading of the stream is enough."""

    def heads(self) -> list[tuple[int, bytes]]:
        """(ordinal, what a decoder must have been told behind that packet), where it changes.

        A temporal delimiter and the sequence header in force; one that comes in a packet holds for
        the frames of that packet, which are fed without it.
        """
        return self._heads

    @property
    def prelude(self) -> bytes:
        """Nothing has to follow the sequence header."""
        return b""

    def _give_up(self, reason: str) -> None:
        if self.fallback is None:
            self.fallback = reason

    def _take(self, obu: Obu, data: bytes, ordinal: int) -> None:
        kind = obu.obu_type
        if kind == OBU_SEQUENCE_HEADER:
            self._close()
            self._sequence_header(data[obu.payload : obu.end], ordinal)
        elif kind == OBU_TEMPORAL_DELIMITER:
            self._close()
            if self._frames:
                self._give_up(f"packet {ordinal}: more than one temporal unit in a packet")
        elif self._dropped(obu):
            return
        elif kind in (OBU_FRAME, OBU_FRAME_HEADER):
            self._close()
            self._frame(obu, data)
        elif kind == OBU_TILE_GROUP:
            self._tile_group(obu, data)
        elif kind == OBU_REDUNDANT_FRAME_HEADER:
            if self._open is None or self._open.next_tile is None:
                raise InvalidSyntax("redundant_frame_header_obu: outside a frame")
        elif kind == OBU_METADATA:
            doubt = metadata.doubt(data[obu.payload : obu.end])
            if doubt is not None:
                self._give_up(f"packet {ordinal}: {doubt}, which may be malformed")
        elif kind == OBU_TILE_LIST:
            self._give_up(f"packet {ordinal}: a tile list (large scale tile decoding)")

    def _dropped(self, obu: Obu) -> bool:
        """Whether an OBU is of a layer that is not decoded (drop_obu, 5.3.1)."""
        idc = self._sequence.operating_point_idc if self._sequence else 0
        if not idc or obu.extension is None:
            return False
        return not (idc >> obu.temporal_id & 1 and idc >> obu.spatial_id + 8 & 1)

    def _sequence_header(self, payload: bytes, ordinal: int) -> None:
        if payload == self._sequence_payload:
            return
        if self._frames:
            raise InvalidSyntax("sequence_header_obu: behind a frame of its temporal unit")
        sequence, _ = SequenceHeader.parse(payload)
        if sequence != self._sequence:
            self._slots.empty()
            self._sequences += 1
            self._sequence = sequence
            self._numbered = (None, 0)
            self._look(sequence.color_config)
        self._sequence_payload = payload
        if self._heads[-1][0] == ordinal - 1:
            self._heads.pop()
        head = TEMPORAL_DELIMITER + framed(OBU_SEQUENCE_HEADER, payload)
        self._heads.append((ordinal - 1, head))

    def _look(self, color: ColorConfig) -> None:
        """Gives up where colours depend on earlier sequences.

        FFmpeg carries the description of one that has it over to one that has none.
        """
        self._colors.add(
            (
                color.color_description_present_flag,
                color.color_primaries,
                color.transfer_characteristics,
                color.matrix_coefficients,
                color.color_range,
                color.chroma_sample_position,
            )
        )
        if len(self._colors) > 1:
            self._give_up("the colour description changes in the middle")

    # -- frames

    def _frame(self, obu: Obu, data: bytes) -> None:
        """frame_obu (5.10) or frame_header_obu (5.9.1)."""
        sequence = self._sequence
        if sequence is None:
            raise InvalidSyntax("frame_header_obu: no sequence header before it")
        header = parse_frame_header(data, obu, sequence, self._slots.headers)
        again = isinstance(header, ShownAgain)
        if isinstance(header, ShownAgain):
            if obu.obu_type == OBU_FRAME:
                raise InvalidSyntax("show_existing_frame: 1 in a frame OBU")
            header, producer = self._slots.shown(header)
            references: tuple[int, ...] = (producer,)
        else:
            references = self._slots.read_by(header, sequence)
        frame = _Frame(
            self._next_index,
            header,
            again or header.show_frame == 1,
            again,
            obu.spatial_id,
            references,
            [(obu.start, obu.end)],
            0 if obu.obu_type == OBU_FRAME_HEADER else None,
        )
        self._next_index += 1
        self._frames.append(frame)
        if again:
            if header.frame_type == KEY_FRAME:
                self._slots.load(header, frame.index)
            return
        self._slots.refresh(header, frame.index)
        if obu.obu_type == OBU_FRAME_HEADER or header.tile_info.num_tiles > 1:
            self._open = frame

    def _tile_group(self, obu: Obu, data: bytes) -> None:
        """tile_group_obu (5.11.1)."""
        frame = self._open
        if frame is None:
            raise InvalidSyntax("tile_group_obu: outside a frame")
        tile_info = frame.header.tile_info
        r = BitReader(data[obu.payload : min(obu.end, obu.payload + _TILE_GROUP_HEAD)])
        start, end = read_tile_group(r, tile_info)
        if frame.next_tile != start and (frame.next_tile is not None or not start):
            raise InvalidSyntax(f"tg_start: {start} is not the next tile")
        frame.next_tile = end + 1
        frame.add(obu)
        if end + 1 == tile_info.num_tiles:
            self._open = None

    def _close(self) -> None:
        """No tile group of the last frame can follow."""
        frame, self._open = self._open, None
        if frame is not None and frame.next_tile is not None:
            raise InvalidSyntax(f"tile_group_obu: tile {frame.next_tile} of a frame is missing")

    # -- pictures

    def _pictures(self, ordinal: int) -> list[Picture]:
        """The frames of a packet as pictures, at its end."""
        shown = [frame for frame in self._frames if frame.shown]
        if len(shown) > 1:
            self._layers(shown, ordinal)
        done: list[Picture] = []
        for frame in self._frames:
            visible = frame.shown and frame is shown[-1]
            if visible:
                self.shown.append(frame.index)
            else:
                self.hidden[frame.index] = LOWER_LAYER if frame.shown else HIDDEN
            done += self._hold(self._picture(frame, ordinal, visible), frame)
        return done

    def _layers(self, shown: list[_Frame], ordinal: int) -> None:
        """Several shown frames: spatial layers, of which the last, highest one comes out."""
        assert self._sequence is not None
        highest = self._sequence.max_spatial_id
        if (
            not highest
            or any(frame.spatial_id == highest for frame in shown[:-1])
            or any(frame.again for frame in shown)
        ):
            self._give_up(f"packet {ordinal}: two visible frames in a packet")
            return
        others = {frame.index for frame in shown[:-1]}
        shown[-1].references = tuple(sorted(others.union(shown[-1].references)))

    def _picture(self, frame: _Frame, ordinal: int, visible: bool) -> Picture:
        header = frame.header
        if frame.again:
            is_reference = header.frame_type == KEY_FRAME
        else:
            is_reference = header.refresh_frame_flags != 0
        return Picture(
            packets=(ordinal,),
            order=(self._sequences, ordinal),
            picture_type=_TYPES.get(header.frame_type, "I"),
            is_reference=is_reference,
            is_rap=header.frame_type == KEY_FRAME and frame.shown and not frame.references,
            references=frame.references,
            state_only=None,
            droppable=True,
            preamble=None if frame.references else (),
            unsafe=None,
            configuration=self._configuration(header.size),
            spans=tuple([(start, end - start) for start, end in frame.spans]),
            visible=visible,
        )

    def _configuration(self, size: FrameSize) -> int:
        """A number for a size and the sample format in force."""
        if self._numbered[0] is not size:
            assert self._sequence is not None
            key = (self._sequence.color_config, size.upscaled_width, size.frame_height)
            self._numbered = (size, self._configurations.setdefault(key, len(self._configurations)))
        return self._numbered[1]

    def _hold(self, picture: Picture, frame: _Frame) -> list[Picture]:
        """The pictures that are complete now that ``picture`` is there.

        A hidden key frame is a random access point if nothing reads anything older until all slots
        hold it, which is when it is shown.
        """
        done: list[Picture] = []
        if self._held:
            first = self._first_held
            if picture.is_rap or (frame.again and frame.references == (first,)):
                done = self._release(True)
            elif frame.hidden_key or (frame.references and frame.references[0] < first):
                done = self._release(False)
        if frame.hidden_key:
            self._first_held = frame.index
        if self._held or frame.hidden_key:
            self._held.append(picture)
        else:
            done.append(picture)
        return done

    def _release(self, is_rap: bool) -> list[Picture]:
        """Everything that is held back, from the hidden key frame on."""
        held, self._held = self._held, []
        if held and is_rap:
            held[0] = replace(held[0], is_rap=True)
        return held
