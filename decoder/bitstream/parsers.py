"""Which codec package understands which codec."""

from __future__ import annotations

from collections.abc import Callable

from decoder.bitstream.av1.stream import PictureStream as Av1Stream
from decoder.bitstream.h264.stream import PictureStream as H264Stream
from decoder.bitstream.hevc.stream import PictureStream as HevcStream
from decoder.bitstream.links import IntraPackets, LinkedPackets
from decoder.bitstream.mpeg4 import Mpeg4Parser
from decoder.bitstream.mpeg12 import Mpeg12Parser
from decoder.bitstream.picture import PictureParser
from decoder.bitstream.structure import StructureParser
from decoder.bitstream.vp8 import Vp8Parser
from decoder.bitstream.vp9 import Vp9Parser

_PARSERS: dict[str, Callable[[bytes, int], PictureParser]] = {
    "av1": lambda extradata, delay: Av1Stream(),
    "h264": lambda extradata, delay: H264Stream(extradata, delay=delay),
    "hevc": lambda extradata, delay: HevcStream(extradata),
}

_STRUCTURES: dict[str, Callable[[bytes], StructureParser]] = {
    "mpeg1video": lambda extradata: Mpeg12Parser(),
    "mpeg2video": lambda extradata: Mpeg12Parser(),
    "mpeg4": Mpeg4Parser,
    "vp8": lambda extradata: Vp8Parser(),
    "vp9": lambda extradata: Vp9Parser(),
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


def structure_of(codec: str, extradata: bytes, *, intra: bool) -> StructureParser | None:
    """A parser of the structure of a stream whose frames a decoder told.

    None where frames could have been told from headers: there is a reason why they were not.

    Args:
        codec, extradata: see `parser_for`.
        intra: FFmpeg says of the codec that each of its pictures is coded alone.
    """
    if codec in _PARSERS:
        return None
    if codec in _STRUCTURES:
        return _STRUCTURES[codec](extradata)
    return IntraPackets() if intra else LinkedPackets()
