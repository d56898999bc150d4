"""AV1 clips of every structure that SVT-AV1 makes."""

from __future__ import annotations

import os
from dataclasses import replace

from tests.encoding import Recipe

os.environ.setdefault("SVT_LOG", "1")  # errors; it says everything else on stderr too


def av1(name: str, options: str = "g=250", parameters: str = "", **more: object) -> Recipe:
    """A recipe for SVT-AV1: options of FFmpeg, parameters of the encoder's own."""
    if "preset=" not in options:
        options += " preset=10"
    if "crf=" not in options and "b=" not in options:
        options += " crf=22"
    if parameters:
        options += f" svtav1-params={parameters}"
    return replace(Recipe(name, "libsvtav1", options), **more)  # type: ignore[arg-type]


def recipes() -> list[Recipe]:
    """One for every structure; the containers are dealt out in turn where none is said."""
    made = [
        *[av1(f"gop_{gop}", f"g={gop}", frames=90) for gop in (1, 2, 10, 40, 250)],
        *[av1(f"preset_{n}", f"g=250 preset={n}", frames=72) for n in (4, 5, 6, 8, 12)],
        *_structures(),
        *_coding(),
        av1("variable_rate", variable_rate=True),
        av1("long", frames=250, size=(96, 80)),
        *_joined(),
    ]
    turn = ("mp4", "mkv", "webm", "ivf", "obu")
    return [
        replace(recipe, container=turn[n % len(turn)])
        if recipe.container == "mkv" and not recipe.variable_rate
        else recipe
        for n, recipe in enumerate(made)
    ]


def recipe_named(name: str) -> Recipe:
    """The recipe of that name."""
    return next(recipe for recipe in recipes() if recipe.name == name)


def _structures() -> list[Recipe]:
    delay = "pred-struct=1"
    return [
        *[av1(f"levels_{n}", parameters=f"hierarchical-levels={n}") for n in (2, 3, 4, 5)],
        av1("levels_3_preset_6", "g=250 preset=6", "hierarchical-levels=3"),
        av1("low_delay", parameters=delay),
        *[av1(f"low_delay_{n}", parameters=f"{delay}:hierarchical-levels={n}") for n in (2, 3)],
        av1("low_delay_40", "g=20 preset=8", delay),
        av1("low_delay_rate", "g=250 b=100k", f"{delay}:rc=2"),
        *[av1(f"open_gop_{g}", f"g={g}", "irefresh-type=1", frames=72) for g in (16, 20, 33)],
        av1("open_gop_preset_6", "g=17 preset=6", "irefresh-type=1", frames=72),
        av1("overlays", "g=40 preset=8", "enable-overlays=1", frames=72),
        av1("overlays_tf", "g=250 preset=6", "enable-overlays=1:enable-tf=1"),
        av1("switch_frames", "g=250", f"{delay}:sframe-dist=8:sframe-mode=1"),
        av1("switch_frames_2", "g=250 preset=8", f"{delay}:sframe-dist=10:sframe-mode=2"),
        av1("start_small", parameters="startup-mg-size=2"),
        av1("no_lookahead", parameters="lookahead=0"),
        av1("scene_cuts", "g=250", "scd=1", frames=72),
        av1("variable_bits", "g=60 b=60k", "rc=1"),
    ]


def _coding() -> list[Recipe]:
    return [
        *[av1(f"film_grain_{n}", "g=250 preset=8", f"film-grain={n}") for n in (8, 30)],
        av1("film_grain_open", "g=20 preset=8", "film-grain=12:irefresh-type=1"),
        av1("film_grain_low_delay", "g=250 preset=8", "film-grain=8:pred-struct=1"),
        av1("tiles", parameters="tile-columns=1:tile-rows=1", size=(256, 144)),
        av1("screen", parameters="scm=1"),
        av1("screen_preset_6", "g=40 preset=6", "scm=1"),
        av1("superres_fixed", parameters="superres-mode=1:superres-denom=12"),
        av1("superres_random", "g=40", "superres-mode=2"),
        av1("superres_auto", "g=40 preset=8", "superres-mode=4"),
        av1("resize_fixed", parameters="resize-mode=1:resize-denom=12"),
        av1("resize_random", "g=40", "resize-mode=2"),
        av1("resize_low_delay", "g=250", "resize-mode=2:pred-struct=1"),
        av1("no_filters", parameters="enable-dlf=0:enable-cdef=0:enable-restoration=0"),
        av1("lossless", parameters="lossless=1", size=(96, 80)),
        av1("fine", "g=250 crf=12"),
        av1("quantiser_matrices", parameters="enable-qm=1:qm-min=0"),
        av1("variance_boost", parameters="enable-variance-boost=1:tune=0"),
        av1("fast_decode", "g=250 preset=8", "fast-decode=2"),
        av1("no_temporal_filter", parameters="enable-tf=0"),
        av1("odd_size", size=(166, 122)),
        av1("deep", pixel_format="yuv420p10le"),
        av1("deep_open_gop", "g=20", "irefresh-type=1", pixel_format="yuv420p10le"),
        av1("deep_film_grain", "g=40 preset=8", "film-grain=10", pixel_format="yuv420p10le"),
    ]


def _joined() -> list[Recipe]:
    """Streams one after the other: sequence headers that differ, sizes that change."""
    first = av1("first", "g=20", container="obu", frames=30)
    other = av1("other", "g=250 preset=8", "film-grain=8", container="obu", frames=30)
    small = replace(first, name="small", size=(128, 96), frames=24)
    deep = replace(first, name="deep", pixel_format="yuv420p10le", frames=24)
    return [
        replace(first, name="sequences_change", then=(other,)),
        replace(first, name="sequences_change_often", then=(other, first, other)),
        replace(first, name="size_changes", then=(small, first)),
        replace(first, name="depth_changes", then=(deep,)),
    ]
