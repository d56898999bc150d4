"""Clips of any of FFmpeg's encoders, made through PyAV at test time, and what they show.

`tests.x264`, `tests.x265`, `tests.svtav1` and `tests.otherstreams` say which.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.stream import VideoStream
from numpy.typing import NDArray

from tests.clips import to_frame

_FORMATS = {
    "mkv": "matroska", "ts": "mpegts", "mpg": "vob", "wmv": "asf", "drc": "dirac", "m1v":
    "mpeg1video", "m2v": "mpeg2video", "mjpg": "mjpeg",
}  # fmt: skip
"""FFmpeg's names of containers whose usual suffix is another."""

RATE = 25


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to encode a clip.

    Attributes:
        name: unique among the recipes of its list.
        codec: FFmpeg's name of the encoder.
        options: of the encoder, "g=12 bf=2".
        container: its usual suffix.
        variable_rate: pictures lie one to five units of time apart.
        then: recipes of raw streams that follow in the same file.
        rewrite: what is done to the bytes of the file.
        conservative: its frames may be had by decoding conservatively only.
    """

    name: str
    codec: str
    options: str = ""
    pixel_format: str = "yuv420p"
    frames: int = 48
    container: str = "mkv"
    size: tuple[int, int] = (176, 144)
    variable_rate: bool = False
    then: tuple[Recipe, ...] = ()
    rewrite: Callable[[bytes], bytes] | None = None
    conservative: bool = False


def pictures(count: int, size: tuple[int, int], seed: int = 264) -> Iterator[NDArray[np.uint8]]:
    """Moving texture [H, W, 3] whose brightness comes and goes, with two cuts between scenes.

    Fades are what weighted prediction and many references are made for.
    """
    width, height = size
    rng = np.random.default_rng(seed)
    texture = rng.integers(0, 256, (3, height * 2, width * 2, 3), np.uint8) // 8
    texture += (np.arange(width * 2) % 224).astype(np.uint8)[None, None, :, None]
    for n in range(count):
        y, x = (3 * n) % height, (2 * n) % width
        part = texture[n * 3 // count, y : y + height, x : x + width]
        yield np.ascontiguousarray((part * (0.5 + 0.5 * np.cos(n / 6))).astype(np.uint8))


def encode(recipe: Recipe, seed: int = 264) -> bytes:
    """The file of a recipe; its pictures depend on ``seed``."""
    file = io.BytesIO()
    options = dict(option.split("=", 1) for option in recipe.options.split())
    name = _FORMATS.get(recipe.container, recipe.container)
    with av.open(file, "w", format=name) as container:
        stream = container.add_stream(recipe.codec, rate=RATE, options=options)
        assert isinstance(stream, VideoStream)
        encode_pictures(container, stream, recipe, seed)
    content = file.getvalue()
    for number, part in enumerate(recipe.then, 1):
        content += encode(part, seed + number)
    return content if recipe.rewrite is None else recipe.rewrite(content)


def encode_pictures(
    container: av.container.OutputContainer, stream: VideoStream, recipe: Recipe, seed: int
) -> None:
    """Muxes the pictures of a recipe."""
    stream.width, stream.height = recipe.size
    stream.pix_fmt = recipe.pixel_format
    stream.codec_context.thread_count = 1
    stream.codec_context.time_base = Fraction(1, RATE)
    clock = 0
    for n, picture in enumerate(pictures(recipe.frames, recipe.size, seed)):
        frame = to_frame(picture, recipe.pixel_format)
        frame.pts, frame.time_base = clock, Fraction(1, RATE)
        clock += 1 + (n * 7) % 5 if recipe.variable_rate else 1
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def write(recipe: Recipe, folder: Path, seed: int = 264) -> Path:
    """The clip of a recipe as a file in ``folder``, made unless it is there."""
    path = folder / f"{recipe.name}-{seed}.{recipe.container}"
    if not path.exists():
        path.write_bytes(encode(recipe, seed))
    return path
