"""Metadata OBUs (AV1, 5.8), as far as they decide whether a frame is shown."""

from __future__ import annotations

from decoder.bitstream.av1.obu import leb128
from decoder.bitstream.bits import truncated

_HDR_CLL, _HDR_MDCV, _ITUT_T35 = 1, 2, 4

_SIZES = {_HDR_CLL: 4, _HDR_MDCV: 24}
"""Bytes of metadata_hdr_cll (5.8.3) and metadata_hdr_mdcv (5.8.4); a trailing bit follows."""

_CAREFULLY_READ = {
    b"\xb5\x00\x31": "closed captions",
    b"\xb5\x00\x3c": "HDR10+ metadata",
}
"""itu_t_t35_country_code and terminal provider of what FFmpeg reads with the frame it is for, which
it withholds where it finds that malformed."""


def doubt(payload: bytes) -> str | None:
    """Why a metadata_obu may keep the decoder from showing the frame behind it, if so.

    Truncated where a decoder gives up the packet.
    """
    metadata_type, position = leb128(payload, 0, "metadata_type")
    if metadata_type in _SIZES and len(payload) <= position + _SIZES[metadata_type]:
        raise truncated("metadata_obu")
    if metadata_type == _ITUT_T35:
        return _CAREFULLY_READ.get(payload[position : position + 3])
    return None
