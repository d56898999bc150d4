"""H.265 streams as packets in memory, what the headers say of them, and their full decode."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import av

from decoder.bitstream.hevc.stream import PictureStream
from decoder.bitstream.picture import Picture
from tests.bitstream.clip import files_of
from tests.encoding import encode
from tests.x265 import recipe_named


@dataclass(slots=True)
class Clip:
    """A demuxed H.265 stream."""

    name: str
    extradata: bytes
    packets: list[bytes]
    file: bytes = b""
    new_extradata: dict[int, bytes] = field(default_factory=dict)


@cache
def encoded(name: str, container: str = "mp4", frames: int = 36) -> Clip:
    """What x265 makes of the first frames of a recipe, in ``mp4`` (hvcC) or ``hevc`` (Annex B)."""
    file = encode(replace(recipe_named(name), container=container, frames=frames), 265)
    return replace(demux(io.BytesIO(file)), name=name, file=file)


def demux(file: str | io.BytesIO) -> Clip:
    """The packets of a file."""
    with av.open(file, "r", metadata_errors="ignore") as container:
        stream = container.streams.video[0]
        clip = Clip("", bytes(stream.codec_context.extradata or b""), [])
        for packet in container.demux(stream):
            if packet.has_sidedata("new_extradata"):
                extradata = bytes(packet.get_sidedata("new_extradata"))
                clip.new_extradata[len(clip.packets)] = extradata
            if packet.size:
                clip.packets.append(bytes(packet))
    return clip


def corpus_files() -> list[Path]:
    """The H.265 clips of FRAMEFS_CORPUS, to parametrize tests with; none where it is not set."""
    folder = os.environ.get("FRAMEFS_CORPUS")
    return files_of("hevc", Path(folder)) if folder else []


@dataclass(slots=True)
class Model:
    """What the headers say of a stream."""

    stream: PictureStream
    pictures: list[Picture]

    @property
    def shown(self) -> list[int]:
        """Ordinals of packets in presentation order."""
        return [self.pictures[i].packets[0] for i in self.stream.shown]


def model(packets: list[bytes], extradata: bytes = b"") -> Model:
    """Feeds packets to the parser."""
    stream = PictureStream(extradata)
    pictures = [picture for data in packets for picture in stream.feed(data)]
    return Model(stream, pictures + stream.flush())


def shown_by_decoder(packets: list[bytes], extradata: bytes = b"") -> dict[int, av.VideoFrame]:
    """The frames of a full decode in the order shown, by the ordinals of their packets."""
    context = av.CodecContext.create("hevc", "r")
    assert isinstance(context, av.VideoCodecContext)
    if extradata:
        context.extradata = extradata
    context.thread_count = 1
    shown: dict[int, av.VideoFrame] = {}
    for number, data in enumerate([*packets, None]):
        packet = None
        if data is not None:
            packet = av.Packet(data)
            packet.pts = packet.dts = number
        try:
            frames = context.decode(packet)
        except av.FFmpegError:
            continue
        for frame in frames:
            assert frame.pts is not None
            shown[frame.pts] = frame
    return shown
