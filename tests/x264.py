"""H.264 clips of every structure that x264 makes, encoded through PyAV at test time."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import av

from encoder.repeatable import repeatable
from tests import encoding

WIDTH, HEIGHT = 112, 96

BASE = "keyint=24:min-keyint=4:scenecut=0"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to encode a clip: parameters of x264, pixel format, container (its usual suffix)."""

    name: str
    parameters: str = ""
    pixel_format: str = "yuv420p"
    frames: int = 60
    container: str = "mp4"
    variable_rate: bool = False
    options: tuple[tuple[str, str], ...] = ()
    size: tuple[int, int] = (WIDTH, HEIGHT)


def recipes() -> list[Recipe]:
    """One for every structure; the containers are dealt out in turn where none is said."""
    made = [
        Recipe("default"),
        *_references(),
        *_bidirectional(),
        *_open(),
        *_coding(),
        *_interlaced(),
        *_formats(),
        Recipe("variable_rate", BASE, variable_rate=True),
        Recipe("long", "keyint=infinite:bframes=3:ref=3", frames=300),
        Recipe("long_poc_wrap", "keyint=infinite:bframes=3:b-pyramid=strict", frames=400),
    ]
    turn = ("mp4", "mkv", "ts", "h264", "mov", "flv", "avi")
    return [
        replace(recipe, container=turn[n % len(turn)])
        if recipe.container == "mp4" and not recipe.variable_rate
        else recipe
        for n, recipe in enumerate(made)
    ]


def recipe_named(name: str) -> Recipe:
    """The recipe of that name."""
    return next(recipe for recipe in recipes() if recipe.name == name)


def _references() -> list[Recipe]:
    return [
        Recipe(f"refs_{refs}_b_{frames}", f"{BASE}:ref={refs}:bframes={frames}")
        for refs in (1, 2, 3, 4, 5, 6, 8, 12, 16)
        for frames in (0, 3)
    ]


def _bidirectional() -> list[Recipe]:
    pyramids = [
        Recipe(
            f"pyramid_{pyramid}_{frames}",
            f"keyint=48:scenecut=0:b-pyramid={pyramid}:bframes={frames}:b-adapt=0:ref=4",
        )
        for pyramid in ("none", "strict", "normal")
        for frames in (1, 2, 3, 5, 7, 16)
    ]
    weights = [
        Recipe(
            f"weight_{predicted}_{both}",
            f"{BASE}:weightp={predicted}:weightb={both}:ref=4:bframes=3",
        )
        for predicted in (0, 1, 2)
        for both in (0, 1)
    ]
    directs = [
        Recipe(
            f"direct_{direct}_{pyramid}",
            f"{BASE}:direct={direct}:b-pyramid={pyramid}:bframes=5:b-adapt=0",
        )
        for direct in ("none", "spatial", "temporal", "auto")
        for pyramid in ("none", "normal")
    ]
    return [*pyramids, *weights, *directs]


def _open() -> list[Recipe]:
    opened = "keyint=12:min-keyint=1:open-gop=1:b-adapt=0:scenecut=0"
    short = "open-gop=1:keyint=8:min-keyint=4"
    return [
        *[Recipe(f"open_gop_{n}", f"{opened}:bframes={n}") for n in (0, 3, 7)],
        *[
            Recipe(f"open_gop_{n}_ts", f"keyint=10:open-gop=1:bframes={n}:ref=6", container="ts")
            for n in (0, 3, 7)
        ],
        Recipe("open_gop_mbaff", f"{short}:bframes=3:tff=1:direct=temporal"),
        Recipe("open_gop_refs", f"{short}:bframes=2:ref=8:b-pyramid=strict"),
        *[
            Recipe(f"intra_refresh_{n}", f"keyint=12:scenecut=0:intra-refresh=1:bframes={n}")
            for n in (0, 2)
        ],
        Recipe("intra_only", "keyint=1"),
        Recipe("scenecut", "keyint=60:min-keyint=30:scenecut=80:bframes=3"),
        Recipe("short_gop", "keyint=5"),
    ]


def _coding() -> list[Recipe]:
    return [
        *[Recipe(f"slices_{count}", f"{BASE}:slices={count}") for count in (2, 4)],
        Recipe("slice_size", f"{BASE}:slice-max-size=200"),
        *[
            Recipe(f"cabac_{cabac}_{pyramid}", f"{BASE}:cabac={cabac}:b-pyramid={pyramid}")
            for cabac in (0, 1)
            for pyramid in ("none", "strict", "normal")
        ],
        Recipe("constrained_intra", f"{BASE}:constrained-intra=1"),
        Recipe("no_deblock", f"{BASE}:no-deblock=1"),
        Recipe("deblock", f"{BASE}:deblock=-3,2:chroma-qp-offset=5"),
        Recipe("no_8x8dct", f"{BASE}:no-8x8dct=1:partitions=all"),
        Recipe("cqm_jvt", f"{BASE}:cqm=jvt"),
        Recipe("cqm_own", f"{BASE}:cqm4=" + ",".join(["17"] * 16)),
        Recipe("hrd", f"{BASE}:aud=1:nal-hrd=vbr:vbv-maxrate=500:vbv-bufsize=500:pic-struct=1"),
        Recipe(
            "vui",
            f"{BASE}:overscan=show:videoformat=pal:range=pc:colorprim=bt709:transfer=bt709"
            ":colormatrix=bt709:chromaloc=2:sar=12/11",
        ),
        Recipe("zerolatency", BASE, options=(("tune", "zerolatency"),)),
        Recipe("ultrafast", BASE, options=(("preset", "ultrafast"),)),
        Recipe("baseline", f"{BASE}:ref=4", options=(("profile", "baseline"),)),
        Recipe("baseline_refs", f"{BASE}:cabac=0:bframes=0:no-8x8dct=1:weightp=0:ref=8"),
        Recipe("main", BASE, options=(("profile", "main"),)),
    ]


def _interlaced() -> list[Recipe]:
    return [
        *[
            Recipe(f"interlaced_{order}_{refs}", f"{BASE}:{order}=1:ref={refs}")
            for order in ("tff", "bff")
            for refs in (1, 4, 8)
        ],
        Recipe("interlaced_temporal", f"{BASE}:tff=1:direct=temporal:bframes=5"),
        Recipe("interlaced_slices", f"{BASE}:tff=1:slices=3:weightp=0"),
        Recipe("interlaced_open_gop", "keyint=12:open-gop=1:tff=1:bframes=3"),
        Recipe("interlaced_422_10", f"{BASE}:tff=1", "yuv422p10le"),
        Recipe("fake_interlaced", f"{BASE}:fake-interlaced=1"),
    ]


def _formats() -> list[Recipe]:
    names = ("yuv420p10le", "yuv422p", "yuv422p10le", "yuv444p", "yuv444p10le")
    return [
        *[Recipe(f"format_{name}", f"{BASE}:bframes=3", name) for name in names],
        *[Recipe(f"format_{name}_open", "keyint=12:open-gop=1", name) for name in names],
        Recipe("gray", BASE, "gray"),
        *[
            Recipe(f"lossless_{name}", f"{BASE}:qp=0", name)
            for name in ("yuv420p", "yuv444p", "yuv420p10le")
        ],
    ]


def encode(recipe: Recipe, seed: int = 264) -> bytes:
    """The clip of a recipe; its pictures depend on ``seed``."""
    told = {"x264-params": recipe.parameters or "threads=1", **dict(recipe.options)}
    parameters = repeatable("libx264", told, recipe.size[0])
    return encoding.encode(
        encoding.Recipe(
            recipe.name,
            "libx264",
            " ".join(f"{name}={value}" for name, value in parameters.items()),
            recipe.pixel_format,
            recipe.frames,
            recipe.container,
            recipe.size,
            recipe.variable_rate,
        ),
        seed,
    )


def write(recipe: Recipe, folder: Path, seed: int = 264) -> Path:
    """The clip of a recipe as a file in ``folder``."""
    path = folder / f"{recipe.name}.{recipe.container}"
    path.write_bytes(encode(recipe, seed))
    return path


@dataclass(frozen=True, slots=True)
class Stream:
    """Coded packets in decode order, and the file they are from."""

    file: bytes
    extradata: bytes
    packets: tuple[bytes, ...]
    delay: int
    """Reordering delay that FFmpeg's probing finds."""


@cache
def encoded(recipe: Recipe | str, container: str = "mp4", frames: int | None = None) -> Stream:
    """The stream of a recipe in ``mp4`` (avcC) or ``h264`` (Annex B)."""
    if isinstance(recipe, str):
        recipe = replace(recipe_named(recipe), frames=frames or 36)
    content = encode(replace(recipe, container=container))
    with av.open(io.BytesIO(content), "r") as reading:
        video = reading.streams.video[0]
        packets = tuple([bytes(packet) for packet in reading.demux(video) if packet.size])
        context = video.codec_context
        return Stream(content, bytes(context.extradata or b""), packets, context.reorder_depth)


ALL_SYNTAX = (
    "default baseline main cabac_0_normal refs_16_b_3 pyramid_strict_7 pyramid_none_2 weight_2_1 "
    "weight_1_0 slices_4 slice_size interlaced_tff_4 interlaced_bff_8 fake_interlaced "
    "intra_refresh_0 open_gop_3 open_gop_mbaff open_gop_refs short_gop direct_temporal_normal "
    "no_deblock deblock no_8x8dct cqm_jvt cqm_own constrained_intra hrd vui lossless_yuv420p "
    "format_yuv422p format_yuv444p format_yuv420p10le interlaced_422_10 gray zerolatency ultrafast"
).split()
"""Names of recipes that together use all syntax that x264 can write."""
