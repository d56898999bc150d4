"""How near a new file comes to its source: PSNR of the RGB samples, and SSIM of the native ones."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
import numpy as np
from av.filter import Graph
from av.filter.context import FilterContext
from numpy.typing import NDArray

from decoder.corpus import Source
from decoder.errors import DecoderError, Stopped
from decoder.index import SourceIndex
from decoder.pixels import Pixels
from decoder.reader import FrameReader
from encoder.errors import CheckFailed, Interrupted
from encoder.footage import Footage

BEST_PSNR = 100.0
"""dB that stand for frames without any difference."""

_PEAK = 255.0


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """How alike the frames of two files are.

    Attributes:
        squared: float64 [frames], mean squared difference of the RGB samples (8 bits) of a frame.
        ssim: float64 [frames], of FFmpeg's filter ``ssim`` over all native planes.
    """

    squared: NDArray[np.float64]
    ssim: NDArray[np.float64]

    @property
    def psnr(self) -> float:
        """dB, pooled: of the mean squared difference of all frames."""
        return _decibels(float(self.squared.mean()))

    @property
    def frame_psnr(self) -> list[float]:
        """dB, by frame."""
        return [_decibels(value) for value in self.squared.tolist()]

    @property
    def mean_ssim(self) -> float:
        """Mean over all frames."""
        return float(self.ssim.mean())


def quality(
    footage: Footage,
    source: Source,
    index: SourceIndex | None = None,
    stop: threading.Event | None = None,
) -> Quality:
    """The quality of the encoding ``source`` of ``footage``, frame by frame.

    Frames of it are read sparsely. Where ``index`` has their hashes each one is compared with a
    full decode at the same time.

    Raises:
        CheckFailed: it has other frames, or one came out otherwise than in a full decode.
        SourceFailed, Interrupted: see `Footage`.
    """
    squared: list[float] = []
    ssim: list[float] = []
    try:
        verify: Any = "always" if index is not None and len(index.frames.hash) else "never"
        with FrameReader(source, index=index, stop=stop, verify=verify) as reader:
            if len(reader) != len(footage):
                raise CheckFailed(
                    f"{source.path}: shows {len(reader)} frames, {footage.path} {len(footage)}"
                )
            with _ssim_filter() as compare:
                for n, pixels in enumerate(footage.pixels()):
                    other = reader.frame(n)
                    squared.append(_squared(pixels, other))
                    ssim.append(compare(n, pixels.native, other.native))
            if reader.stats.alarms:
                raise CheckFailed(
                    f"{source.path}: a frame read sparsely differs from the one of a full decode"
                )
    except Stopped as error:
        raise Interrupted(str(error)) from error
    except DecoderError as error:
        raise CheckFailed(f"{source.path}: cannot be read ({error})") from error
    return Quality(np.array(squared), np.array(ssim))


def _squared(one: Pixels, other: Pixels) -> float:
    a, b = one.array("rgb24"), other.array("rgb24")
    if a.shape != b.shape:
        raise CheckFailed(
            f"frames of {a.shape[1]}x{a.shape[0]} cannot be compared with {b.shape[1]}x{b.shape[0]}"
        )
    difference = np.abs(np.subtract(a, b, dtype=np.int16)).reshape(-1).astype(np.float32)
    return float(np.dot(difference, difference) / difference.size)


def _decibels(squared: float) -> float:
    if squared <= 0:
        return BEST_PSNR
    return min(BEST_PSNR, 10 * math.log10(_PEAK * _PEAK / squared))


@contextmanager
def _ssim_filter() -> Iterator[Any]:
    """A function (number, frame, other) -> SSIM; frames of another format are converted."""
    graph: Graph | None = None
    inputs: list[FilterContext] = []

    def compare(n: int, one: av.VideoFrame, other: av.VideoFrame) -> float:
        nonlocal graph
        form = other.format.name.replace("yuvj", "yuv")
        frames = [_as_compared(frame, form, n) for frame in (one, other)]
        if graph is None:
            graph = _graph(frames[1], inputs)
        for entrance, frame in zip(inputs, frames, strict=True):
            entrance.push(frame)
        return float(graph.vpull().metadata["lavfi.ssim.All"])

    yield compare


def _as_compared(frame: av.VideoFrame, form: str, n: int) -> av.VideoFrame:
    """A new frame that says nothing of colour, so that FFmpeg inserts no conversion of its own."""
    if frame.format.name.replace("yuvj", "yuv") != form:
        frame = frame.reformat(format=form, threads=1)
    frame.pts, frame.time_base = n, Fraction(1, 1000)
    return frame


def _graph(frame: av.VideoFrame, inputs: list[FilterContext]) -> Graph:
    graph = Graph()
    inputs += [
        graph.add_buffer(
            width=frame.width,
            height=frame.height,
            format=frame.format,
            time_base=Fraction(1, 1000),
            name=name,
        )
        for name in ("new", "source")
    ]
    compare, sink = graph.add("ssim"), graph.add("buffersink")
    for pad, entrance in enumerate(inputs):
        entrance.link_to(compare, 0, pad)
    compare.link_to(sink)
    graph.configure()
    return graph
