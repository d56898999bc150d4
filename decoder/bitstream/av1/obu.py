"""Open bitstream units: their headers and their framing in a packet (AV1, 5.3 and 5.9.1).

A packet is a temporal unit in the low-overhead format (5.2), whatever the container: FFmpeg's
demuxer takes the other one (Annex B) apart.
"""

from __future__ import annotations

from typing import NamedTuple

from decoder.bitstream.bits import out_of_range, truncated
from decoder.errors import InvalidSyntax

# obu_type (6.2.2)
OBU_SEQUENCE_HEADER = 1
OBU_TEMPORAL_DELIMITER = 2
OBU_FRAME_HEADER = 3
OBU_TILE_GROUP = 4
OBU_METADATA = 5
OBU_FRAME = 6
OBU_REDUNDANT_FRAME_HEADER = 7
OBU_TILE_LIST = 8

TEMPORAL_DELIMITER = bytes((OBU_TEMPORAL_DELIMITER << 3 | 2, 0))
"""temporal_delimiter_obu (5.6), framed."""

_LEB128_BYTES = 8


class Obu(NamedTuple):
    """Where one OBU lies in its packet, and the obu_header before it (5.3.2)."""

    obu_type: int
    extension: int | None
    """obu_extension_header (5.3.3), if there is one."""
    start: int
    payload: int
    """Offset of the first byte behind obu_size."""
    end: int

    @property
    def temporal_id(self) -> int:
        """temporal_id (6.2.3)."""
        return (self.extension or 0) >> 5

    @property
    def spatial_id(self) -> int:
        """spatial_id (6.2.3)."""
        return (self.extension or 0) >> 3 & 3


def split(packet: bytes) -> list[Obu]:
    """The OBUs of a packet; one without obu_size reaches to its end.

    InvalidSyntax, naming the element, when they do not fill the packet exactly.
    """
    units = []
    position, size = 0, len(packet)
    while position < size:
        start = position
        header = packet[position]
        if header & 128:
            raise out_of_range("obu_forbidden_bit", 1, 0, 0)
        position += 1
        extension = None
        if header & 4:
            if position == size:
                raise truncated("obu_extension_header")
            extension = packet[position]
            position += 1
        if header & 2:
            length, position = leb128(packet, position, "obu_size")
            payload = position
            position += length
            if position > size:
                raise truncated("obu_size")
        else:
            payload = position
            position = size
        units.append(Obu(header >> 3 & 15, extension, start, payload, position))
    return units


def leb128(data: bytes, position: int, name: str) -> tuple[int, int]:
    """leb128() (4.10.5): the value, and the position behind it."""
    value = 0
    for i in range(_LEB128_BYTES):
        if position >= len(data):
            raise truncated(name)
        byte = data[position]
        position += 1
        value |= (byte & 127) << 7 * i
        if not byte & 128:
            if value >> 32:
                raise out_of_range(name, value, 0, (1 << 32) - 1)
            return value, position
    raise InvalidSyntax(f"{name}: a leb128 code of more than {_LEB128_BYTES} bytes")


def framed(obu_type: int, payload: bytes) -> bytes:
    """An OBU without extension, with its size."""
    size = bytearray()
    rest = len(payload)
    while rest > 127:
        size.append(rest & 127 | 128)
        rest >>= 7
    size.append(rest)
    return bytes((obu_type << 3 | 2,)) + size + payload
