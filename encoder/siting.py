"""Where the chroma samples of a frame lie between those of luma, which PyAV does not tell.

FFmpeg's decoders do tell swscale: those of H.264 and H.265 say "left" where a stream says nothing,
others say nothing then. With more than 8 bits the same samples then come out as other RGB. So it is
told from what comes out.
"""

from __future__ import annotations

import av
import numpy as np


def is_told(frame: av.VideoFrame) -> bool:
    """Whether ``frame`` becomes other RGB than its samples would if nothing were said of them."""
    silent = av.VideoFrame(frame.width, frame.height, frame.format.name)
    for name in ("color_range", "colorspace", "color_primaries", "color_trc"):
        setattr(silent, name, getattr(frame, name))
    _fill(silent, frame)
    return not np.array_equal(_rgb(silent), _rgb(frame))


def is_alike(source: av.VideoFrame, new: av.VideoFrame) -> bool:
    """Whether the samples of ``new`` become the same RGB with all that ``source`` says of its own.

    Args:
        source: of the same format and size; its samples are overwritten.
    """
    source.make_writable()
    _fill(source, new)
    return np.array_equal(_rgb(source), _rgb(new))


def _fill(frame: av.VideoFrame, samples: av.VideoFrame) -> None:
    for plane, other in zip(frame.planes, samples.planes, strict=True):
        rows = np.frombuffer(memoryview(other), np.uint8).reshape(other.height, -1)
        lines = np.zeros((plane.height, plane.line_size), np.uint8)
        shared = min(plane.line_size, rows.shape[1])
        lines[:, :shared] = rows[:, :shared]
        plane.update(lines.tobytes())


def _rgb(frame: av.VideoFrame) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    return frame.to_ndarray(format="rgb24", threads=1)
