"""H.264 streams as packets in memory, what the headers say of them, and their full decode."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame

from decoder.bitstream.h264.stream import PictureStream
from decoder.bitstream.picture import Picture
from decoder.graph import ReferenceGraph
from tests.x264 import Recipe, encoded

Samples = tuple[str, int, int, int]
"""Pixel format, width, height and checksum of the native planes."""


@dataclass(slots=True)
class Clip:
    """A demuxed H.264 stream, or the first packets of one."""

    name: str
    extradata: bytes
    packets: list[bytes]
    delay: int
    new_extradata: dict[int, bytes] = field(default_factory=dict)


def clip_of(recipe: Recipe | str, container: str = "mp4") -> Clip:
    """What x264 makes of a recipe; of one that is only named the first 36 frames."""
    stream = encoded(recipe, container)
    name = recipe if isinstance(recipe, str) else recipe.name
    return Clip(name, stream.extradata, list(stream.packets), stream.delay)


def demux(path: str | os.PathLike[str], limit: int | None = None) -> Clip:
    """The packets of a file up to a damaged one, at most ``limit``."""
    with av.open(os.fspath(path), metadata_errors="ignore") as container:
        stream = container.streams.video[0]
        context = stream.codec_context
        clip = Clip(Path(path).name, bytes(context.extradata or b""), [], context.reorder_depth)
        try:
            for packet in container.demux(stream):
                if not packet.size:
                    continue
                if packet.has_sidedata("new_extradata"):
                    extradata = bytes(packet.get_sidedata("new_extradata"))
                    clip.new_extradata[len(clip.packets)] = extradata
                clip.packets.append(bytes(packet))
                if len(clip.packets) == limit:
                    break
        except (av.FFmpegError, IndexError):
            pass
    return clip


@cache
def files_of(codec: str, root: Path) -> list[Path]:
    """The clips of a codec (FFmpeg's name) below a folder."""
    files = (path for path in root.rglob("*") if path.is_file())
    return sorted(path for path in files if _codec_of(path) == codec)


def h264_files(root: Path) -> list[Path]:
    """The H.264 clips below a folder."""
    return files_of("h264", root)


def corpus_files() -> list[Path]:
    """The H.264 clips of FRAMEFS_CORPUS, to parametrize tests with; none where it is not set."""
    folder = os.environ.get("FRAMEFS_CORPUS")
    return h264_files(Path(folder)) if folder else []


def corpus_file(name: str) -> Path:
    """One clip of FRAMEFS_CORPUS; skips where it is not set."""
    folder = os.environ.get("FRAMEFS_CORPUS")
    if not folder:
        pytest.skip("FRAMEFS_CORPUS names no folder of real clips")
    return Path(folder) / name


@cache
def _codec_of(path: Path) -> str | None:
    try:
        with av.open(path, metadata_errors="ignore") as container:
            streams = container.streams.video
            return streams[0].codec_context.name if streams else None
    except (av.FFmpegError, ValueError, IndexError, AttributeError):
        return None


def checksum(frame: VideoFrame) -> Samples:
    """Stands for the native planes of a planar frame."""
    value = 0
    for plane, component in zip(frame.planes, frame.format.components, strict=False):
        sample = 2 if component.bits > 8 else 1
        rows = np.frombuffer(bytes(plane), np.uint8).reshape(-1, plane.line_size)
        cut = np.ascontiguousarray(rows[: plane.height, : plane.width * sample])
        value = zlib.crc32(cut.data, value)
    return frame.format.name, frame.width, frame.height, value


def context_for(clip: Clip) -> av.VideoCodecContext:
    """A decoder set up as for the file the clip is from: one thread, default options."""
    context = av.CodecContext.create("h264", "r")
    assert isinstance(context, av.VideoCodecContext)
    if clip.extradata:
        context.extradata = clip.extradata
    context.thread_count = 1
    context.reorder_depth = clip.delay
    return context


@dataclass(slots=True)
class Sequential:
    """What a full decode shows: packet ordinals in output order, and samples by ordinal."""

    order: list[int]
    samples: dict[int, Samples]
    errors: int


def sequential(clip: Clip) -> Sequential:
    """The full decode; the pts of a packet is replaced by its ordinal."""
    context = context_for(clip)
    result = Sequential([], {}, 0)
    for number, data in enumerate([*clip.packets, None]):
        packet = None
        if data is not None:
            packet = av.Packet(data)
            packet.pts = packet.dts = number
        try:
            frames = context.decode(packet)
        except av.FFmpegError:
            result.errors += 1
            continue
        for frame in frames:
            assert frame.pts is not None
            result.order.append(frame.pts)
            result.samples[frame.pts] = checksum(frame)
    return result


@dataclass(slots=True)
class Model:
    """What the headers say of a clip."""

    stream: PictureStream
    pictures: list[Picture]
    graph: ReferenceGraph

    @property
    def shown(self) -> list[int]:
        """Ordinals of packets in presentation order."""
        return [self.pictures[i].packets[0] for i in self.stream.shown]

    def head_before(self, ordinal: int) -> bytes:
        """What is fed first where decoding starts at a packet."""
        return [head for place, head in self.stream.heads() if place < ordinal][-1]


def model(clip: Clip) -> Model:
    """Feeds a clip to the parser, once more where it asks for that."""
    stream: PictureStream | None = PictureStream(clip.extradata, delay=clip.delay)
    while True:
        assert stream is not None
        pictures: list[Picture] = []
        for number, data in enumerate(clip.packets):
            pictures += stream.feed(data, new_extradata=clip.new_extradata.get(number))
        pictures += stream.flush()
        again = stream.again()
        if again is None:
            graph = ReferenceGraph.from_pictures(pictures, stream.packets)
            return Model(stream, pictures, graph)
        stream = again
