"""AV1 clips of every structure that SVT-AV1 makes, encoded through PyAV at test time."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import av
from av.video.stream import VideoStream

from tests.clips import picture, to_frame


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to encode a clip: parameters of SVT-AV1, preset, intra period, pixel format."""

    parameters: str = ""
    preset: int = 11
    gop: int = 200
    frames: int = 40
    pixel_format: str = "yuv420p"
    size: tuple[int, int] = (128, 96)


RECIPES = {
    "default": Recipe(),
    "short_gop": Recipe(gop=2, frames=12),
    "closed": Recipe(gop=16),
    "open": Recipe("irefresh-type=1:hierarchical-levels=3", gop=16, frames=60),
    "shallow": Recipe("hierarchical-levels=2"),
    "slow": Recipe(preset=7, frames=24),
    "low_delay": Recipe("pred-struct=1", frames=24),
    "switch": Recipe("sframe-dist=8:sframe-mode=1:pred-struct=1", frames=24),
    "overlays": Recipe("enable-overlays=1:tune=0:keyint=32", preset=8, frames=50),
    "grain": Recipe("film-grain=8", frames=24),
    "tiles": Recipe("tile-columns=1:tile-rows=1", frames=12, size=(512, 256)),
    "screen": Recipe("scm=1", frames=24),
    "superres": Recipe("superres-mode=2", frames=24),
    "resize": Recipe("resize-mode=1:resize-denom=12", frames=24),
    "sizes": Recipe("resize-mode=2", frames=32),
    "ten_bit": Recipe(pixel_format="yuv420p10le", frames=24),
    "described": Recipe("color-primaries=9:transfer-characteristics=16", gop=2, frames=4),
    "still": Recipe("avif=1", frames=1),
}


@dataclass(frozen=True, slots=True)
class Stream:
    """A clip as a file and as what is in it."""

    file: bytes
    extradata: bytes
    packets: tuple[bytes, ...]


@cache
def encoded(name: str, container: str = "matroska") -> Stream:
    """The clip of RECIPES in a container, FFmpeg's name."""
    recipe = RECIPES[name]
    file = io.BytesIO()
    options = {"preset": str(recipe.preset), "g": str(recipe.gop), "crf": "50"}
    options["svtav1-params"] = f"lp=1:{recipe.parameters}".rstrip(":")
    with av.open(file, "w", format=container) as output:
        stream = output.add_stream("libsvtav1", rate=30, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height = recipe.size
        stream.pix_fmt = recipe.pixel_format
        stream.codec_context.time_base = Fraction(1, 30)
        for number in range(recipe.frames):
            frame = to_frame(picture(number, 0, recipe.size), recipe.pixel_format)
            frame.pts = number
            frame.time_base = Fraction(1, 30)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return read(file.getvalue())


def read(file: bytes) -> Stream:
    """What is in the bytes of a file."""
    with av.open(io.BytesIO(file), "r") as container:
        stream = container.streams.video[0]
        extradata = bytes(stream.codec_context.extradata or b"")
        packets = tuple(bytes(packet) for packet in container.demux(stream) if packet.size)
    return Stream(file, extradata, packets)


def muxed(packets: Sequence[bytes], size: tuple[int, int] = (128, 96)) -> bytes:
    """An IVF file of packets that were made or changed: the container that leaves them alone."""
    header = struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, b"AV01", *size, 30, 1, len(packets), 0)
    frames = [struct.pack("<IQ", len(p), n) + p for n, p in enumerate(packets)]
    return header + b"".join(frames)
