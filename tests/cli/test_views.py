from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest

import config
from cli.views import views_of
from config import ConfigError, Settings
from config.settings import FramesSettings
from vfs.formats import Bmp, Jpg, Npy, Png, Ppm, Webp
from vfs.layout import Layout
from vfs.selection import Selection
from vfs.transform import Crop, Resize, Transform
from vfs.view import Samples, View


def views(document: dict[str, Any]) -> dict[str, View]:
    return views_of(config.from_mapping(document))


def frames(**settings: Any) -> View:
    return views({"frames": settings})[""]


def test_without_settings_the_view_is_the_default() -> None:
    assert views_of(Settings()) == {"": View()}


@pytest.mark.parametrize(
    ("settings", "formats"),
    [
        ({}, (Png(), Npy())),
        ({"format": "npy"}, (Npy(),)),
        ({"format": "npy", "unlisted": ["png", "jpg"]}, (Npy(), Png(), Jpg())),
        ({"format": "jpg", "quality": 80, "subsampling": "4:4:4"}, (Jpg(80, "4:4:4"), Npy())),
        ({"format": "jpg", "alias": True}, (Png("jpg"), Npy())),
        ({"format": "jpg", "extension": "jpeg"}, (Jpg(extension="jpeg"), Npy())),
        ({"format": "png", "extension": "PNG", "unlisted": []}, (Png("PNG"),)),
        ({"format": "bmp", "color": "gray", "unlisted": []}, (Bmp(),)),
        ({"format": "ppm", "color": "gray", "unlisted": []}, (Ppm("pgm"),)),
        ({"format": "webp", "order": "chw"}, (Webp(), Npy("chw"))),
        ({"format": "jpg", "alias": True, "depth": 16}, (Png("jpg"), Npy())),
    ],
)
def test_formats(settings: dict[str, Any], formats: tuple[Any, ...]) -> None:
    assert frames(**settings).formats == formats


def test_selection_samples_and_sizes() -> None:
    view = frames(
        range="3:30",
        fps="30000/1001",
        depth=16,
        color="gray",
        resize=256,
        filter="lanczos",
        crop="224x200+1+2",
    )
    assert view.selection == Selection(3, 30, 1, Fraction(30000, 1001))
    assert view.samples == Samples("gray", 16)
    assert view.transform == Transform(Resize(256, "lanczos"), Crop(224, 200, 1, 2))


def test_a_layout_and_what_goes_before_it() -> None:
    assert frames(layout="tsn").layout == Layout.of(
        "{parent}/{stem}", "img_{number:05d}", start=1, widen="number"
    )
    assert frames(layout="tsn", start=0, directory="x/{stem}").layout == Layout.of(
        "x/{stem}", "img_{number:05d}", widen="number"
    )


def test_several_views() -> None:
    made = views({"frames": {"stride": 3}, "views": {"a": {}, "b": {"layout": "npy"}}})
    assert list(made) == ["a", "b"]
    assert made["b"].formats == (Npy(),)
    assert all(view.selection == Selection(stride=3) for view in made.values())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 16, "format": "jpg"}, "frames.depth: jpg holds 8 bits a sample; choose png, "),
        ({"depth": 16, "unlisted": ["bmp"]}, "frames.depth: bmp holds 8 bits a sample; choose"),
        ({"color": "native"}, "frames.color: native planes are shown as npy only; set format to"),
        ({"color": "native", "format": "npy", "unlisted": [], "crop": "1x1"}, "frames.color: nati"),
        ({"color": "native", "format": "npy", "order": "chw"}, "frames.color: native planes are"),
        ({"fps": 2, "stride": 2}, "frames.fps: frames are chosen by fps or by stride, not by both"),
        ({"alias": True, "format": "npy"}, "frames.alias: only images are served under another"),
        ({"extension": "npy"}, "frames.extension: npy is also the extension of another format;"),
        ({"layout": "nope"}, "frames.layout: there is no layout nope; framefs layouts lists them"),
        ({"file": "{stem}"}, "frames: {stem}: frames 0 and 1 of a clip would both be a; add {num"),
        ({"file": "{number"}, "frames: {number: braces do not match"),
    ],
)
def test_what_cannot_be_had_is_refused_in_a_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        frames(**settings)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        views({"views": {"good": {}, "bad": settings}})
    if "layout" not in settings:
        assert str(caught.value).startswith(message.replace("frames", "views.bad", 1))


def test_native_planes_alone_can_be_had() -> None:
    view = frames(color="native", format="npy", unlisted=[])
    assert view.formats == (Npy(),)


def test_every_setting_of_frames_reaches_the_view() -> None:
    """Changing any of them changes the view: none is read and forgotten."""
    others = {
        "layout": "npy",
        "directory": "{stem}",
        "file": "{index}",
        "start": 3,
        "digits": 2,
        "widen": "never",
        "format": "bmp",
        "extension": "x",
        "unlisted": ("bmp",),
        "quality": 3,
        "subsampling": "4:4:4",
        "order": "chw",
        "depth": 16,
        "color": "gray",
        "resize": 3,
        "crop": (3, 3, None, None),
        "range": (3, None),
        "stride": 3,
        "fps": Fraction(3),
    }
    base = Settings(frames=FramesSettings(unlisted=("jpg", "npy")))
    for name in FramesSettings.__struct_fields__:
        if name in ("alias", "filter"):
            continue  # what they change is something else that is set; tested above
        if name == "depth":
            base = Settings()
        frames_ = msgspec.structs.replace(base.frames, **{name: others[name]})
        assert views_of(Settings(frames=frames_)) != views_of(base), name
