"""Which codec package understands which codec."""

from __future__ import annotations

from collections.abc import Callable

from decoder.bitstream.av1.stream import PictureStream as Av1Stream
from decoder.bitstream.h264.stream import PictureStream as H264Stream
from decoder.bitstream.hevc.stream import PictureStream as HevcStream
from decoder.bitstream.picture import PictureParser

_PARSERS: dict[str, Callable[[bytes, int], PictureParser]] = {
    "av1": lambda extradata, delay: Av1Stream(),
    "h264": lambda extradata, delay: H264Stream(extradata, delay=delay),
    "hevc": lambda extradata, delay: HevcStream(extradata),
}


def parser_for(codec: str, extradata: bytes, delay: int) -> PictureParser | None:
    """A parser for a stream; None where its headers are not understood.

    Args:
        codec: FFmpeg's canonical name.
        extradata: what the container keeps beside the packets.
        delay: reordering delay that FFmpeg's probing found.
    """
    make = _PARSERS.get(codec)
    return None if make is None else make(extradata, delay)
