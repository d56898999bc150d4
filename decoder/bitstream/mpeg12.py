"""MPEG-1 and MPEG-2 video (ISO/IEC 11172-2, ITU-T H.262): picture headers, and what they refer to.

An anchor (I or P picture) refers to the anchor before it, a B picture to the last two in decode
order; B pictures right behind the I picture that begins a closed group refer to that one alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.bitstream.structure import Coded, StructureParser, places
from decoder.errors import InvalidSyntax

START_CODE_PREFIX = b"\x00\x00\x01"
PICTURE_START_CODE = b"\x00\x00\x01\x00"
SEQUENCE_HEADER_CODE = b"\x00\x00\x01\xb3"
GROUP_START_CODE = b"\x00\x00\x01\xb8"
SLICE_START_CODES = range(0x01, 0xB0)
EXTENSION_START_CODE = 0xB5

QUANT_MATRIX_EXTENSION_ID = 3
PICTURE_CODING_EXTENSION_ID = 8

I_PICTURE, B_PICTURE = 1, 3
FRAME_PICTURE = 3

_HEAD = 8
"""Bytes in which the elements looked at of any header lie."""


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """picture_header (H.262, 6.2.3) and the extensions behind it, as far as they are needed."""

    picture_coding_type: int

    picture_structure: int
    """1 top field, 2 bottom field, 3 frame, which every picture of MPEG-1 is."""

    quant_matrix: bool
    """It holds a quant_matrix_extension, which is in force for later pictures too."""

    @property
    def bidirectional(self) -> bool:
        """A B picture."""
        return self.picture_coding_type == B_PICTURE

    @classmethod
    def parse(cls, data: bytes, start: int) -> PictureHeader:
        """The header whose start code is at ``start``. Raises InvalidSyntax."""
        reader = _reader(data, start)
        reader.u(10, "temporal_reference")
        picture_coding_type = reader.u(3, "picture_coding_type")
        if not I_PICTURE <= picture_coding_type <= B_PICTURE:
            raise out_of_range("picture_coding_type", picture_coding_type, I_PICTURE, B_PICTURE)
        picture_structure = FRAME_PICTURE
        quant_matrix = False
        place = data.find(START_CODE_PREFIX, start + 4)
        while 0 <= place < len(data) - 3 and data[place + 3] not in SLICE_START_CODES:
            if data[place : place + 4] == PICTURE_START_CODE:
                break
            if data[place + 3] == EXTENSION_START_CODE:
                reader = _reader(data, place)
                identifier = reader.u(4, "extension_start_code_identifier")
                quant_matrix |= identifier == QUANT_MATRIX_EXTENSION_ID
                if identifier == PICTURE_CODING_EXTENSION_ID:
                    reader.u(16, "f_code")
                    reader.u(2, "intra_dc_precision")
                    picture_structure = reader.u(2, "picture_structure")
                    if not picture_structure:
                        raise out_of_range("picture_structure", 0, 1, FRAME_PICTURE)
            place = data.find(START_CODE_PREFIX, place + 3)
        return cls(picture_coding_type, picture_structure, quant_matrix)


def closed_gop(data: bytes, start: int) -> bool:
    """closed_gop of the group_of_pictures_header at ``start`` (H.262, 6.2.2.6)."""
    reader = _reader(data, start)
    reader.u(25, "time_code")
    return bool(reader.flag("closed_gop"))


def _reader(data: bytes, start: int) -> BitReader:
    return BitReader(data[start + 4 : start + 4 + _HEAD])


class Mpeg12Parser(StructureParser):
    """Pictures of MPEG-1 and MPEG-2, a frame or two fields each."""

    rule = "B pictures are left out; others refer to the anchor before them"

    def __init__(self) -> None:
        super().__init__()
        self._anchors: list[int] = []  # the last two
        self._closes = False  # the group that begins here is closed
        self._closed = False  # B pictures here lie behind the first I picture of a closed group
        self._open: PictureHeader | None = None  # a field without its partner so far

    def finish(self) -> None:
        """The end of the stream."""
        self._unpaired()

    def _packet(self, ordinal: int, data: bytes, key: bool) -> bytes | None:
        found = list(places(data, PICTURE_START_CODE))
        if not found:
            raise InvalidSyntax("picture_start_code: there is none")
        group = data.find(GROUP_START_CODE, 0, found[0])
        if group >= 0:
            self._closes = closed_gop(data, group)
        pictures = 0
        for start in found:
            header = PictureHeader.parse(data, start)
            if self._is_second(header):
                self._open = None
                picture = self.pictures[-1]
                picture.packets = tuple(dict.fromkeys((*picture.packets, ordinal)))
                picture.droppable &= not header.quant_matrix
                continue
            self._unpaired()
            pictures += 1
            self._begin(ordinal, header)
        if pictures > 1:
            self._give_up(f"packet {ordinal}: {pictures} pictures in a packet")
        sequence = data.find(SEQUENCE_HEADER_CODE, 0, found[0])
        return None if sequence < 0 else data[sequence : group if group > sequence else found[0]]

    def _is_second(self, header: PictureHeader) -> bool:
        first = self._open
        return (
            first is not None
            and header.picture_structure == FRAME_PICTURE - first.picture_structure
            and header.bidirectional == first.bidirectional
        )

    def _unpaired(self) -> None:
        if self._open is not None:
            self._give_up(f"packet {self.pictures[-1].packets[0]}: a field without its partner")
            self._open = None

    def _begin(self, ordinal: int, header: PictureHeader) -> None:
        if header.picture_structure != FRAME_PICTURE:
            self._open = header
        start = header.picture_coding_type == I_PICTURE
        if header.bidirectional:
            references = self._anchors[-1:] if self._closed else self._anchors
            droppable = not header.quant_matrix
            self.pictures.append(Coded((ordinal,), tuple(references), False, droppable))
            return
        references = [] if start else self._anchors[-1:]
        self._closed = start and self._closes
        self._closes = False
        self._anchors = [*self._anchors[-1:], len(self.pictures)]
        self.pictures.append(Coded((ordinal,), tuple(references), start, False))
