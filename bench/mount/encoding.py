"""Encodings for the benchmark, made by x264 through PyAV."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
from av.video.stream import VideoStream

DDRA = "keyint=16:min-keyint=16:bframes=15:b-adapt=0:b-pyramid=none:ref=1:open-gop=1:scenecut=0"
"""An I picture every 16, and between each two 15 B pictures that refer to these two only."""


def encode(
    path: Path, frames: Iterable[av.VideoFrame], rate: Fraction, *, parameters: str, tune: str = ""
) -> None:
    """Writes ``frames`` as H.264, crf 18, one thread; under another name until it is complete.

    Args:
        parameters: of x264; the rest are its defaults.
        tune: as x264's option of that name.
    """
    temporary = path.with_name(f".{path.name}")
    options = {"crf": "18", "x264-params": parameters, **({"tune": tune} if tune else {})}
    with av.open(temporary, "w", format="mp4") as container:
        stream: VideoStream | None = None
        for number, frame in enumerate(frames):
            if stream is None:
                made = container.add_stream("libx264", rate=rate, options=options)
                assert isinstance(made, VideoStream)
                stream = made
                stream.width, stream.height = frame.width, frame.height
                stream.pix_fmt = "yuv420p"
                stream.codec_context.thread_count = 1
                stream.codec_context.time_base = 1 / rate
            frame.pts = number
            frame.time_base = 1 / rate
            # x264 is to choose.
            frame.pict_type = 0
            container.mux(stream.encode(frame))
        if stream is not None:
            container.mux(stream.encode(None))
    temporary.replace(path)
