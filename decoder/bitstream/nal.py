"""NAL units: their framing in a packet, their emulation prevention (ITU-T H.264, 7.3.1, Annex B).

The same for H.264 and H.265. A unit is its bytes as stored: header and emulation prevention bytes
included.
"""

from __future__ import annotations

from collections.abc import Iterable

from decoder.errors import InvalidSyntax

ANNEX_B = 0
_START_CODE = b"\x00\x00\x01"
_ESCAPE = b"\x00\x00\x03"


def split(packet: bytes, length_size: int) -> list[bytes]:
    """The NAL units of a packet: ``length_size`` bytes of length (1-4), or ANNEX_B start codes.

    A start code inside a length-prefixed unit, which emulation prevention forbids, separates units
    all the same: some muxers put several under one length, and decoders take them apart.

    InvalidSyntax when the lengths do not fill the packet exactly, and for data before the first
    start code.
    """
    if length_size == ANNEX_B:
        before, *units = _split_at_start_codes(packet, 0, len(packet))
        if before:
            raise InvalidSyntax("start_code_prefix_one_3bytes: data before the first start code")
        return units
    units = []
    position, end = 0, len(packet)
    while position < end:
        start = position + length_size
        position = start + int.from_bytes(packet[position:start], "big")
        if start >= position or position > end:
            raise InvalidSyntax(
                f"NAL unit length: {position - start} at byte {start - length_size} of a packet"
                f" of {end} bytes"
            )
        if packet.find(_START_CODE, start, position) < 0:
            units.append(packet[start:position])
        else:
            units += filter(None, _split_at_start_codes(packet, start, position))
    return units


def _split_at_start_codes(packet: bytes, start: int, end: int) -> list[bytes]:
    """What is before the first start code (perhaps nothing), then the unit behind each."""
    units: list[bytes] = []
    while True:
        following = packet.find(_START_CODE, start, end)
        # trailing_zero_8bits and the zero_byte of the next start code; a unit never ends in zero
        unit = packet[start : following if following >= 0 else end].rstrip(b"\x00")
        if unit or not units:
            units.append(unit)
        if following < 0:
            return units
        start = following + 3


def join(units: Iterable[bytes], length_size: int) -> bytes:
    """A packet of these NAL units: the inverse of split.

    InvalidSyntax when a unit is too long for its length field.
    """
    if length_size == ANNEX_B:
        return b"".join([b"\x00" + _START_CODE + unit for unit in units])
    parts = []
    for unit in units:
        if len(unit) >> 8 * length_size:
            raise InvalidSyntax(f"NAL unit length: {len(unit)} in {length_size} bytes")
        parts.append(len(unit).to_bytes(length_size, "big"))
        parts.append(unit)
    return b"".join(parts)


def unescape(unit: bytes) -> bytes:
    """``unit`` (or the first bytes of one) without its emulation_prevention_three_bytes."""
    return unit.replace(_ESCAPE, b"\x00\x00")


def escape(unit: bytes) -> bytes:
    """``unit`` with emulation prevention: no start code can be found in it (7.4.1)."""
    if b"\x00\x00" not in unit:
        return unit
    parts = []
    start = zeros = 0
    for position, byte in enumerate(unit):
        if zeros >= 2 and byte <= 3:
            parts.append(unit[start:position])
            start, zeros = position, 0
        zeros = 0 if byte else zeros + 1
    parts.append(unit[start:])
    if zeros >= 2:
        parts.append(b"")  # a unit never ends in zeros: a last three follows them
    return b"\x03".join(parts)
