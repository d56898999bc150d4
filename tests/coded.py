"""Clips of codecs whose frames a decoder has to tell, encoded through PyAV at test time."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.video.stream import VideoStream

from tests.clips import to_frame, write_clip
from tests.encoding import pictures

_LAYERS = (
    "ts_number_layers=3:ts_target_bitrate=100,200,300:ts_rate_decimator=4,2,1:ts_periodicity=4:"
    "ts_layer_id=0,2,1,2:ts_layering_mode=3"
)
_TWO_LAYERS = (
    "ts_number_layers=2:ts_target_bitrate=200,300:ts_rate_decimator=2,1:ts_periodicity=2:"
    "ts_layer_id=0,1:ts_layering_mode=2"
)
_QUICK = {"deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0"}
_CLOSED = {"flags": "+cgop", "sc_threshold": "1000000000"}
_INTERLACED = {"flags": "+ilme+ildct"}
_ALT_REF = {"auto-alt-ref": "1", "lag-in-frames": "16", "b": "60k"}

CODED: dict[str, dict[str, Any]] = {
    "mpeg1.m1v": {"codec": "mpeg1video", "b_frames": 2, "gop": 9},
    "mpeg2.ts": {"codec": "mpeg2video", "b_frames": 2, "gop": 12},
    "mpeg2.mpg": {"codec": "mpeg2video", "b_frames": 2, "gop": 12},
    "mpeg2-closed.mkv": {"codec": "mpeg2video", "b_frames": 2, "gop": 12, "options": _CLOSED},
    "mpeg2-interlaced.mkv": {
        "codec": "mpeg2video", "b_frames": 2, "gop": 12, "options": _INTERLACED,
    },
    "mpeg2-closed-interlaced.ts": {
        "codec": "mpeg2video", "b_frames": 3, "gop": 10,
        "options": {**_CLOSED, "flags": "+cgop+ilme+ildct"},
    },
    "mpeg2-no-b.m2v": {"codec": "mpeg2video", "b_frames": 0, "gop": 12},
    "mpeg4.avi": {"codec": "mpeg4", "b_frames": 2, "gop": 12},
    "mpeg4-qpel.mp4": {
        "codec": "mpeg4", "b_frames": 2, "gop": 12, "options": {"flags": "+qpel+mv4"},
    },
    "mpeg4-interlaced.mkv": {
        "codec": "mpeg4", "b_frames": 3, "gop": 15, "options": _INTERLACED,
    },
    "vp8.webm": {"codec": "libvpx", "gop": 20, "options": _ALT_REF},
    "vp8-layers.webm": {
        "codec": "libvpx", "gop": 40,
        "options": {**_QUICK, "error-resilient": "1", "b": "300k", "ts-parameters": _LAYERS},
    },
    "vp8-two-layers.ivf": {
        "codec": "libvpx", "gop": 40,
        "options": {**_QUICK, "b": "300k", "ts-parameters": _TWO_LAYERS},
    },
    "vp9.webm": {"codec": "libvpx-vp9", "gop": 20, "options": {**_ALT_REF, "cpu-used": "8"}},
    "vp9-layers.webm": {
        "codec": "libvpx-vp9", "gop": 40,
        "options": {**_QUICK, "error-resilient": "1", "b": "300k", "ts-parameters": _LAYERS},
    },
    "vp9-two-layers.webm": {
        "codec": "libvpx-vp9", "gop": 40,
        "options": {**_QUICK, "b": "300k", "ts-parameters": _TWO_LAYERS},
    },
    "mjpeg.avi": {"codec": "mjpeg", "pix_fmt": "yuvj420p"},
    "prores.mov": {"codec": "prores_ks", "pix_fmt": "yuv422p10le", "frames": 20},
    "dnxhr.mov": {
        "codec": "dnxhd", "pix_fmt": "yuv422p", "frames": 12, "size": (256, 128),
        "options": {"profile": "dnxhr_sq"},
    },
    "png.mov": {"codec": "png", "pix_fmt": "rgb24", "frames": 20},
    "raw.avi": {"codec": "rawvideo", "frames": 20},
    "ffv1.mkv": {"codec": "ffv1", "gop": 1, "frames": 20},
    "ffv1-contexts.mkv": {"codec": "ffv1", "gop": 10, "frames": 30},
    "qtrle.mov": {"codec": "qtrle", "pix_fmt": "rgb24", "gop": 12},
    "svq1.mov": {"codec": "svq1", "pix_fmt": "yuv410p", "gop": 12},
    "flashsv2.flv": {"codec": "flashsv2", "pix_fmt": "bgr24", "gop": 12, "fps": 10},
    "h263.avi": {"codec": "h263", "gop": 12},
    "flv1.flv": {"codec": "flv", "gop": 12},
    "msmpeg4.avi": {"codec": "msmpeg4", "gop": 12},
    "wmv2.wmv": {"codec": "wmv2", "gop": 12},
    "rv20.rm": {"codec": "rv20", "gop": 12},
    "snow.avi": {"codec": "snow", "gop": 12, "frames": 30},
    "animation.gif": {"codec": "gif", "pix_fmt": "rgb8", "fps": 10, "frames": 40},
}  # fmt: skip
"""What `write_clip` needs for each."""

UNPROVEN = {
    "fading.mov": "its decoder keeps something of earlier pictures when it is flushed",
    "palette.avi": "palettes come beside the packets of the stream",
}
"""Clips for which there is no graph, and the reason."""


def write_coded(name: str, folder: Path) -> Path:
    """The clip of that name as a file in ``folder``."""
    path = folder / name
    if name == "fading.mov":
        return _write_fading(path)
    if name == "palette.avi":
        return write_clip(path, codec="rawvideo", pix_fmt="pal8", frames=20)
    return write_clip(path, **CODED[name])


def _write_fading(path: Path) -> Path:
    """A clip whose packets are all said to be key packets, and leave out what is black anyway."""
    with av.open(path, "w") as container:
        stream = container.add_stream("rpza", rate=25)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height = 112, 96
        stream.pix_fmt = "rgb555le"
        for n, picture in enumerate(pictures(60, (112, 96))):
            frame = to_frame(picture, "rgb555le")
            frame.pts, frame.time_base = n, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path
