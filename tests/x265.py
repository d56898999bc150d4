"""H.265 clips of every structure that x265 makes, encoded through PyAV at test time."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
from av.video.stream import VideoStream

from tests.clips import to_frame
from tests.x264 import Recipe, pictures

_BASE = "keyint=24:min-keyint=4:scenecut=0"
_OPEN = "keyint=12:min-keyint=1:open-gop=1:b-adapt=0:scenecut=0"
_QUIET = "log-level=none:pools=none:frame-threads=1:rc-lookahead=25"
_SIZE = (112, 96)


def recipes() -> list[Recipe]:
    """One for every structure; the containers are dealt out in turn where none is said."""
    made = [
        Recipe("default", ""),
        *_bidirectional(),
        *_open(),
        *_coding(),
        *_formats(),
        Recipe("long", "keyint=-1:bframes=3:ref=3", frames=300),
    ]
    turn = ("mp4", "mkv", "ts", "hevc", "mov")
    return [
        replace(recipe, container=turn[n % len(turn)], size=_SIZE) if not n % 2 else recipe
        for n, recipe in enumerate(made)
    ]


def recipe_named(name: str) -> Recipe:
    """The recipe of that name."""
    return next(recipe for recipe in recipes() if recipe.name == name)


def _bidirectional() -> list[Recipe]:
    return [
        *[Recipe(f"refs_{n}", f"{_BASE}:ref={n}:bframes=3") for n in (1, 3, 6)],
        *[
            Recipe(
                f"b_{n}_{pyramid}",
                f"keyint=48:scenecut=0:b-adapt=0:bframes={n}:b-pyramid={pyramid}",
            )
            for n in (0, 1, 3, 7, 16)
            for pyramid in (0, 1)
        ],
        Recipe("weights", f"{_BASE}:weightp=1:weightb=1:ref=4:bframes=3"),
        Recipe("lsb_4", "keyint=100:scenecut=0:bframes=3:log2-max-poc-lsb=4", frames=120),
        Recipe("lsb_5_open", "keyint=20:open-gop=1:bframes=7:log2-max-poc-lsb=5", frames=120),
        Recipe("layers", "keyint=32:temporal-layers=3:bframes=7:b-adapt=0"),
    ]


def _open() -> list[Recipe]:
    return [
        *[Recipe(f"open_{n}", f"{_OPEN}:bframes={n}") for n in (0, 3, 7, 16)],
        Recipe("open_refs", f"{_OPEN}:bframes=3:ref=6"),
        Recipe("open_repeat", f"{_OPEN}:bframes=3:repeat-headers=1"),
        Recipe("radl", "keyint=16:open-gop=0:radl=3:bframes=4:b-adapt=0"),
        Recipe("closed", "keyint=16:open-gop=0:bframes=4"),
        Recipe("intra_refresh", "keyint=12:scenecut=0:intra-refresh=1:bframes=2"),
        Recipe("intra_only", "keyint=1"),
        Recipe("scenecut", "keyint=60:min-keyint=30:scenecut=80:bframes=3"),
    ]


def _coding() -> list[Recipe]:
    return [
        Recipe("field_tff", f"{_BASE}:interlace=tff:bframes=3"),
        Recipe("field_bff", f"{_BASE}:interlace=bff:ref=4"),
        Recipe("wpp", f"{_BASE}:wpp=1:ctu=16"),
        Recipe("hrd", f"{_BASE}:hrd=1:aud=1:vbv-maxrate=500:vbv-bufsize=500:repeat-headers=1"),
        Recipe("vui", f"{_BASE}:overscan=show:videoformat=pal:range=full:colorprim=bt709:sar=3"),
        Recipe("scaling", f"{_BASE}:scaling-list=default"),
        Recipe("hash", f"{_BASE}:hash=1:info=1"),
        Recipe("tskip", f"{_BASE}:tskip=1:rect=1:amp=1:cutree=0"),
        Recipe("lossless", f"{_BASE}:lossless=1"),
        Recipe("constrained", f"{_BASE}:constrained-intra=1:no-deblock=1:no-sao=1"),
    ]


def _formats() -> list[Recipe]:
    names = (
        "yuv420p10le", "yuv420p12le", "yuv422p", "yuv422p10le", "yuv444p", "yuv444p12le", "gray",
        "gray10le",
    )  # fmt: skip
    return [Recipe(f"format_{name}", f"{_OPEN}:bframes=3", name) for name in names]


def encode(recipe: Recipe, target: Path | io.BytesIO, seed: int = 265) -> None:
    """Writes the clip of a recipe; its pictures depend on ``seed``."""
    format_name = {"mkv": "matroska", "ts": "mpegts"}.get(recipe.container, recipe.container)
    parameters = ":".join(filter(None, (_QUIET, recipe.parameters)))
    options = {"preset": "ultrafast", "x265-params": parameters, **dict(recipe.options)}
    with av.open(target, "w", format=format_name) as container:
        stream = container.add_stream("libx265", rate=25, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height = recipe.size
        stream.pix_fmt = recipe.pixel_format
        stream.codec_context.time_base = Fraction(1, 25)
        for n, picture in enumerate(pictures(recipe.frames, recipe.size, seed)):
            frame = to_frame(picture, recipe.pixel_format)
            frame.pts, frame.time_base = n, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def write(recipe: Recipe, folder: Path, seed: int = 265) -> Path:
    """The clip of a recipe as a file in ``folder``."""
    path = folder / f"{recipe.name}.{recipe.container}"
    encode(recipe, path, seed)
    return path
