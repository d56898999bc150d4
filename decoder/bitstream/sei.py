"""Supplemental enhancement information that H.264 and H.265 share (ITU-T H.274, H.264 annex D)."""

from __future__ import annotations

from collections.abc import Iterator

from decoder.bitstream.nal import unescape

PICTURE_TIMING = 1

_FILM_GRAIN = "film grain characteristics"
_LASTING = {
    19: _FILM_GRAIN,
    47: "display orientations",
}
_REGISTERED_USER_DATA = 4
# itu_t_t35_country_code of the United States, provider and code of AOM film grain
_AOM_FILM_GRAIN = b"\xb5\x58\x90\x00\x01"


def messages(unit: bytes, header_bytes: int) -> Iterator[tuple[int, bytes]]:
    """(payloadType, payload) of each message of an SEI NAL unit; stops where it is truncated.

    Args:
        unit: the NAL unit with its emulation prevention.
        header_bytes: of its header.
    """
    data = unescape(unit)
    end = len(data.rstrip(b"\x00")) - 1  # without rbsp_trailing_bits
    position = header_bytes
    while position < end:
        numbers = [0, 0]  # payloadType, payloadSize
        for i in range(2):
            while position < end and data[position] == 255:
                numbers[i] += 255
                position += 1
            if position >= end:
                return
            numbers[i] += data[position]
            position += 1
        payload_type, size = numbers
        if position + size > end:
            return
        yield payload_type, data[position : position + size]
        position += size


def lasting(payload_type: int, payload: bytes) -> str | None:
    """What decoders apply to frames until another such message replaces it; None if it is not."""
    if payload_type == _REGISTERED_USER_DATA and payload.startswith(_AOM_FILM_GRAIN):
        return _FILM_GRAIN
    return _LASTING.get(payload_type)
