"""What frames cost when anchors are evenly far apart, found out by encoding them quickly."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from itertools import pairwise

import av
import numpy as np
from av.codec.context import CodecContext
from av.video.codeccontext import VideoCodecContext
from numpy.typing import NDArray

from encoder import adaptive, ddra, spans
from encoder.coding import Coding
from encoder.errors import Interrupted
from encoder.footage import Footage, Look
from encoder.repeatable import repeatable
from encoder.settings import Settings
from encoder.writing import VideoPacket, opened, prepared

_PRESET = "veryfast"

_DECODERS = {"libx264": "h264", "libx265": "hevc"}

_PER_DECIBEL = 0.18
"""What a file grows by, as a logarithm, for each dB that it is better by: seen on robot clips with
x264 and x265. It weighs the two against each other."""

_WORTH = 0.02
"""Share of the cost that a shorter interval must save for a still shorter one to be tried: each
halving was seen to save a tenth of what the one before it saved, or nothing."""

_THUMBNAIL = 32


def followed(
    footage: Footage, look: Look, settings: Settings, crf: float, stop: threading.Event | None
) -> list[int]:
    """Anchors for ``footage``, where its content asks for them.

    Raises:
        SourceFailed, Interrupted: see `Footage.pixels`.
    """
    count, segment = len(footage), ddra.segment_of(settings)
    costs: dict[int, NDArray[np.float64]] = {}
    small: list[NDArray[np.uint8]] = []
    for interval in adaptive.halvings(settings.interval):
        frames = _frames(footage, stop, None if costs else small)
        costs[interval] = _cost(footage, frames, look, settings, interval, crf)
        if len(costs) > 1 and (
            adaptive.saving(count, settings.interval, segment, costs, interval) < _WORTH
        ):
            break
    return adaptive.anchors(count, settings.interval, segment, costs, adaptive.cuts(small))


def _cost(
    footage: Footage,
    frames: Iterator[av.VideoFrame],
    look: Look,
    settings: Settings,
    interval: int,
    crf: float,
) -> NDArray[np.float64]:
    """Bytes by frame, and what its difference from the source is worth in bytes, [frames]."""
    count, segment = len(footage), ddra.segment_of(settings)
    quick = settings.replaced(interval=interval, preset=_PRESET, bound=3, segment=segment)
    even = spans.evenly(count, interval, segment)
    sizes, squared = _tried(footage, frames, look, ddra.coding(quick, even, count), crf)
    # One dB is a factor of 10 ** 0.1 in the squared difference, and this share of the bytes.
    worth = _PER_DECIBEL * 10 / np.log(10) * sizes.sum() / max(squared.sum(), 1e-9)
    cost: NDArray[np.float64] = sizes + worth * squared
    return cost


def _tried(
    footage: Footage, frames: Iterator[av.VideoFrame], look: Look, coding: Coding, crf: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bytes, and the sum of squared differences of luma, by frame."""
    count, rate = len(coding.kinds), footage.rate
    options = repeatable(coding.encoder, coding.at(crf), look.width)
    sizes, squared = np.zeros(count), np.zeros(count)
    decoder = CodecContext.create(_DECODERS[coding.encoder], "r")
    assert isinstance(decoder, VideoCodecContext)
    decoder.thread_count = 1

    def ready(n: int, frame: av.VideoFrame) -> av.VideoFrame:
        return prepared(frame, n, look, coding.kinds[n], rate)

    waiting: deque[av.VideoFrame] = deque()
    originals = iter(waiting.popleft, None)
    if coding.external:  # a program gives nothing before the end of a run: too many would wait
        originals = (ready(n, pixels.native) for n, pixels in enumerate(footage.again()))

    def take(packets: list[VideoPacket]) -> None:
        for packet in packets:
            assert packet.pts is not None
            sizes[packet.pts] = packet.size
            compare(decoder.decode(packet))

    def compare(frames: list[av.VideoFrame]) -> None:
        for frame in frames:
            assert frame.pts is not None
            difference = _luma(frame) - _luma(next(originals))
            squared[frame.pts] = np.dot(difference.ravel(), difference.ravel())

    ends = dict(pairwise([*coding.runs, count]))
    encoder = opened(coding, options, look, rate, 0, ends[0])
    try:
        for n, frame in enumerate(frames):
            if n in ends and n:
                take(encoder.encode(None))
                encoder.close()
                encoder = opened(coding, options, look, rate, n, ends[n])
            frame = ready(n, frame)
            if not coding.external:
                waiting.append(frame)
            take(encoder.encode(frame))
        take(encoder.encode(None))
    finally:
        encoder.close()
    compare(decoder.decode(None))
    return sizes, squared


def _frames(
    footage: Footage, stop: threading.Event | None, small: list[NDArray[np.uint8]] | None
) -> Iterator[av.VideoFrame]:
    """The frames of ``footage``; of each a thumbnail is appended to ``small``."""
    for pixels in footage.pixels():
        if stop is not None and stop.is_set():
            raise Interrupted(f"{footage.path}: not encoded, it was asked to stop")
        if small is not None:
            small.append(_thumbnail(pixels.native))
        yield pixels.native


def _luma(frame: av.VideoFrame) -> NDArray[np.float32]:
    """The first plane, [H, W]."""
    plane = frame.planes[0]
    kind = np.uint16 if max(c.bits for c in frame.format.components) > 8 else np.uint8
    rows = np.frombuffer(memoryview(plane), kind).reshape(plane.height, -1)
    return rows[:, : plane.width].astype(np.float32)


def _thumbnail(frame: av.VideoFrame) -> NDArray[np.uint8]:
    return frame.to_ndarray(
        width=_THUMBNAIL, height=_THUMBNAIL, format="gray", interpolation="AREA", threads=1
    ).astype(np.uint8)
