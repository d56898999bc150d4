"""Clips made at test time that say in every picture which frame of which version it is.

The barcode is made of large black and white blocks, so that it survives lossy coding, chroma
subsampling, palettes and gray; the rest of the picture moves and differs from frame to frame.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import av
import numpy as np
from av.bitstream import BitStreamFilterContext
from av.video.stream import VideoStream
from numpy.typing import NDArray

COLUMNS = 16
ROWS = 12
"""The picture is divided into so many blocks; the barcode takes the first three rows."""

VideoPacket: TypeAlias = "av.Packet[VideoStream]"


class Barcode(NamedTuple):
    """What a picture says of itself; both numbers below 65536."""

    version: int
    frame: int


def picture(frame: int, version: int = 0, size: tuple[int, int] = (128, 96)) -> NDArray[np.uint8]:
    """A picture with barcode: [H, W, 3], ``size`` being (width, height), at least 32x24."""
    width, height = size
    y, x = np.mgrid[0:height, 0:width]
    red = 2 * x + 5 * frame + 31 * version
    green = 3 * y + 7 * frame
    blue = (x + y + 11 * frame) ^ (version & 63)
    samples = (64 + np.stack([red, green, blue], axis=2) % 128).astype(np.uint8)
    middle = _edges(height, ROWS)[len(_rows(0, 0))]
    side = max(4, height // 6)
    left = (frame * 3) % (width - side)
    samples[middle + 2 : middle + 2 + side, left : left + side] = (frame * 37) % 256
    rows, columns = _edges(height, ROWS), _edges(width, COLUMNS)
    for row, bits in enumerate(_rows(frame, version)):
        for column in range(COLUMNS):
            block = samples[rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
            block[:] = 235 if bits >> column & 1 else 16
    return samples


def read_barcode(samples: NDArray[Any]) -> Barcode:
    """What the barcode in [H, W, 3] or [H, W] says; 8 or 16 bits per sample.

    Raises:
        ValueError: there is no undamaged barcode.
    """
    gray = samples.mean(axis=2) if samples.ndim == 3 else samples.astype(float)
    height, width = gray.shape
    threshold = (np.iinfo(samples.dtype).max + 1) / 2
    rows, columns = _edges(height, ROWS), _edges(width, COLUMNS)
    words = []
    for row in range(3):
        word = 0
        for column in range(COLUMNS):
            block = gray[rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
            word |= int(block.mean() > threshold) << column
        words.append(word)
    frame, version, check = words
    if words != _rows(frame, version):
        raise ValueError(f"no barcode: frame {frame}, version {version}, check {check:04x}")
    return Barcode(version, frame)


def _rows(frame: int, version: int) -> list[int]:
    if not (0 <= frame < 1 << 16 and 0 <= version < 1 << 16):
        raise ValueError(f"no barcode for frame {frame} of version {version}")
    return [frame, version, zlib.crc32(struct.pack("<HH", frame, version)) & 0xFFFF]


def _edges(length: int, parts: int) -> list[int]:
    return [length * part // parts for part in range(parts + 1)]


def write_clip(
    path: Path,
    *,
    frames: int = 60,
    version: int = 0,
    codec: str = "libx264",
    options: Mapping[str, str] | None = None,
    pix_fmt: str = "yuv420p",
    size: tuple[int, int] = (128, 96),
    fps: int | Fraction = 30,
    container: str | None = None,
    container_options: Mapping[str, str] | None = None,
    pts: Callable[[int], int] | None = None,
    gop: int | None = None,
    b_frames: int | None = None,
    first: int = 0,
) -> Path:
    """Writes a clip with the barcodes ``first``, ``first`` + 1, ... of ``version``.

    Args:
        path: a file; its suffix names the container unless ``container`` (FFmpeg's name) does.
        frames, codec, pix_fmt, size, fps, gop, b_frames: size is (width, height).
        options: of the encoder.
        container_options: of the muxer.
        pts: timestamp of a frame in units of 1/fps; by default its number.

    Returns:
        ``path``.
    """
    with av.open(path, "w", format=container, container_options=dict(container_options or {})) as o:
        stream = o.add_stream(codec, rate=fps, options=dict(options or {}))
        assert isinstance(stream, VideoStream)
        stream.width, stream.height = size
        stream.pix_fmt = pix_fmt
        stream.codec_context.thread_count = 1
        stream.codec_context.time_base = 1 / Fraction(fps)
        if gop is not None:
            stream.codec_context.gop_size = gop
        if b_frames is not None:
            stream.codec_context.max_b_frames = b_frames
        for n in range(frames):
            frame = to_frame(picture(first + n, version, size), pix_fmt)
            frame.pts = n if pts is None else pts(n)
            frame.time_base = 1 / Fraction(fps)
            o.mux(stream.encode(frame))
        o.mux(stream.encode(None))
    return path


def to_frame(samples: NDArray[np.uint8], pix_fmt: str) -> av.VideoFrame:
    """A frame of ``pix_fmt`` with these RGB samples [H, W, 3]; "pal8" gets a gray palette."""
    if pix_fmt == "pal8":
        levels = np.arange(256, dtype=np.uint8)
        palette = np.stack([np.full_like(levels, 255), levels, levels, levels], axis=1)
        image: Any = (samples.mean(axis=2).astype(np.uint8), palette)
        return av.VideoFrame.from_ndarray(image, "pal8")
    frame = av.VideoFrame.from_ndarray(samples, "rgb24")
    return frame if pix_fmt == "rgb24" else frame.reformat(format=pix_fmt)


def packets_of(path: Path) -> list[VideoPacket]:
    """The packets of the first video stream that hold data, in decode order."""
    with av.open(path, metadata_errors="ignore") as container:
        return [packet for packet in container.demux(container.streams.video[0]) if packet.size]


def remux(
    source: Path,
    target: Path,
    *,
    keep: Callable[[int], bool] = lambda n: True,
    edit: Callable[[int, VideoPacket], None] = lambda n, packet: None,
    container: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Path:
    """Copies the packets of a clip that ``keep`` names by number, changed by ``edit``."""
    with (
        av.open(source) as i,
        av.open(target, "w", format=container, container_options=dict(options or {})) as o,
    ):
        stream = o.add_stream_from_template(i.streams.video[0])
        for n, packet in enumerate(p for p in i.demux(i.streams.video[0]) if p.size):
            if keep(n):
                edit(n, packet)
                packet.stream = stream
                o.mux(packet)
    return target


def concatenate(target: Path, parts: Iterable[Path]) -> Path:
    """Writes files one after the other, as recorders and careless editors do."""
    target.write_bytes(b"".join(part.read_bytes() for part in parts))
    return target


def set_display_matrix(path: Path, matrix: tuple[int, int, int, int]) -> Path:
    """Writes a, b, c, d (in units of 1/65536) into the track header of an MP4 with one track."""
    content = bytearray(path.read_bytes())
    head = content.index(b"tkhd") + 4
    start = head + (52 if content[head] == 1 else 40)
    a, b, c, d = matrix
    struct.pack_into(">9i", content, start, a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(content)
    return path


def with_lasting_message(source: Path, target: Path) -> Path:
    """The H.265 video of a file as a raw one that is indexed by decoding.

    A message about display orientation, which says nothing, would hold for later pictures too.
    """
    with av.open(source) as container:
        stream = container.streams.video[0]
        annex_b = BitStreamFilterContext("hevc_mp4toannexb", stream)
        packets = [bytes(p) for packet in container.demux(stream) for p in annex_b.filter(packet)]
    message = b"\x00\x00\x00\x01\x4e\x01\x2f\x01\x80\x80"
    target.write_bytes(message + b"".join(packets))
    return target
