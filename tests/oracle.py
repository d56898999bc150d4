"""What a source shows, found without the code under test: one plain sequential decode by PyAV.

One thread, PyAV's defaults, the file's own timestamps; a packet that the decoder refuses is passed
over. Frames are turned by FFmpeg's filters, chosen as the ffmpeg tool chooses them.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import av
import numpy as np
from av.buffer import Buffer
from av.stream import Disposition
from av.video.stream import VideoStream
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Shown:
    """One frame of a full decode."""

    native: av.VideoFrame
    time_base: Fraction

    @property
    def time(self) -> Fraction | None:
        """Seconds, None where the file has no timestamp."""
        return None if self.native.pts is None else self.native.pts * self.time_base

    @property
    def digest(self) -> str:
        """Of size, pixel format and native planes, row by row without padding."""
        return native_digest(self.native)

    def array(self, pixel_format: str = "rgb24", *, rotate: bool = True) -> NDArray[Any]:
        """The frame as the ffmpeg tool would extract it."""
        # swscale's threads race for some other formats than rgb24.
        threads = 0 if pixel_format == "rgb24" else 1
        array = self.native.to_ndarray(format=pixel_format, threads=threads)
        filters = rotation_filters(self.native) if rotate else []
        return turned(array, pixel_format, filters) if filters else array


def full_frames(path: str | os.PathLike[str], *, stream: int | None = None) -> Iterator[Shown]:
    """The frames of a source in presentation order; none where it cannot be opened."""
    try:
        container = av.open(os.fspath(path), metadata_errors="ignore")
    except (av.FFmpegError, OSError):
        return
    with container:
        videos = [s for s in container.streams.video if stream in (None, s.index)]
        if stream is None:
            videos = [s for s in videos if not s.disposition & Disposition.attached_pic]
        if not videos or videos[0].codec_context is None:
            return
        context = videos[0].codec_context
        context.thread_count = 1
        for packet in _packets(container, videos[0]):
            try:
                decoded = context.decode(packet)
            except av.FFmpegError:
                continue
            yield from (Shown(frame, videos[0].time_base or Fraction(1)) for frame in decoded)


def full_decode(path: str | os.PathLike[str]) -> Iterator[NDArray[Any]]:
    """The frames of a source as uint8 [H, W, 3], turned by the display matrix."""
    for shown in full_frames(path):
        yield shown.array()


def _packets(
    container: av.container.InputContainer, stream: VideoStream
) -> Iterator[av.Packet[VideoStream] | None]:
    """The packets with data, then None."""
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except (StopIteration, av.FFmpegError, IndexError):
            # IndexError: PyAV, at the end of a file in the middle of which a stream appeared.
            yield None
            return
        if packet.size:
            yield packet


def native_digest(frame: av.VideoFrame) -> str:
    """Of size, pixel format and native planes of a frame, row by row without padding."""
    digest = hashlib.blake2b(f"{frame.format.name} {frame.width}x{frame.height}".encode())
    for number, plane in enumerate(frame.planes):
        memory = bytes(plane)
        step = abs(plane.line_size)
        used = _bytes_in_row(frame, number)
        if not step:
            digest.update(memory)
        for row in range(plane.height if step else 0):
            digest.update(memory[row * step : row * step + used])
    return digest.hexdigest()


def _bytes_in_row(frame: av.VideoFrame, plane: int) -> int:
    name, width = frame.format.name, frame.width
    if name.startswith(("yuyv422", "uyvy422", "yvyu422")):
        return 4 * -(-width // 2)
    here = [c for c in frame.format.components if c.plane == plane]
    if not frame.format.is_planar:
        return -(-width * frame.format.padded_bits_per_pixel // 8)
    return sum(c.width * -(-c.bits // 8) for c in here)


def rotation_filters(frame: av.VideoFrame) -> list[tuple[str, str]]:
    """Filters that the ffmpeg tool inserts for a frame's display matrix (`configure_filters`)."""
    try:
        data = frame.side_data.get("DISPLAYMATRIX")
    except ValueError:  # PyAV does not know another kind of side data that the frame has
        return {-90: [("transpose", "clock")], 90: [("transpose", "cclock")]}.get(
            frame.rotation, []
        )
    if data is None:
        return []
    matrix = np.frombuffer(memoryview(cast(Buffer, data)), np.int32).astype(float)
    scales = [math.hypot(matrix[0], matrix[3]), math.hypot(matrix[1], matrix[4])]
    if 0 in scales:
        return []
    theta = math.degrees(math.atan2(matrix[1] / scales[1], matrix[0] / scales[0])) % 360
    if abs(theta - 90) < 1:
        return [("transpose", "cclock_flip" if matrix[3] > 0 else "clock")]
    if abs(theta - 180) < 1:
        turns = [("hflip", matrix[0] < 0), ("vflip", matrix[4] < 0)]
        return [(name, "") for name, wanted in turns if wanted]
    if abs(theta - 270) < 1:
        return [("transpose", "clock_flip" if matrix[3] < 0 else "cclock")]
    return [("vflip", "")] if matrix[4] < 0 and theta < 1 else []


def turned(array: NDArray[Any], pixel_format: str, filters: list[tuple[str, str]]) -> NDArray[Any]:
    """An array put through FFmpeg's filters."""
    graph = av.filter.Graph()
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(array), format=pixel_format)
    buffer = graph.add_buffer(
        width=frame.width, height=frame.height, format=frame.format, time_base=Fraction(1, 30)
    )
    nodes = [buffer]
    nodes += [graph.add(name, arguments) for name, arguments in filters]
    nodes.append(graph.add("buffersink"))
    graph.link_nodes(*nodes).configure()
    graph.vpush(frame)
    result = graph.vpull()
    return result.to_ndarray()
