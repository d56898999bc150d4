from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import config
from config import ConfigError, presets
from config.settings import FramesSettings

FOLDER = Path(config.__file__).parent / "layouts"

NAMES = (
    "default npy imagefolder mmaction2 tsn tsm ucf101 kinetics sthv1 jester sthv2-tsm davis "
    "youtube-vos sam2 epic-kitchens ava slowfast resnet3d lerobot-v2 lerobot-v3 cvat nerfstudio "
    "colmap"
).split()


def test_every_layout_has_its_names_and_no_other_has_them() -> None:
    names = [name for one in presets.presets() for name in one.names]
    assert sorted(names) == sorted(NAMES)
    assert presets.presets()[0].names == ("default",)
    assert len(list(FOLDER.iterdir())) == len(presets.presets())


@pytest.mark.parametrize("name", NAMES)
def test_a_layout_says_where_frames_are_and_nothing_about_pixels(name: str) -> None:
    one = presets.preset(name)
    assert name in one.names
    assert {"directory", "file", "start", "format", "unlisted"} <= set(one.settings)
    assert set(one.settings) <= {
        *("directory", "file", "start", "digits", "widen", "format", "unlisted"),
    }
    assert one.about
    assert len(one.about) < 100


def test_the_file_of_a_layout_is_named_after_its_first_name() -> None:
    for file in FOLDER.iterdir():
        assert yaml.safe_load(file.read_text())["names"][0] == file.stem


def test_what_is_set_goes_before_the_layout_and_that_before_the_default() -> None:
    frames = presets.completed(FramesSettings(layout="tsn", start=0))
    assert (frames.file, frames.start, frames.format) == ("img_{number:05d}", 0, "jpg")
    assert (frames.digits, frames.widen) == (6, "number")
    assert presets.completed(FramesSettings()).widen == "source"


def test_views_have_what_frames_have_and_their_own_before_it() -> None:
    frames = FramesSettings(depth=16, stride=2)
    made = presets.views(frames, {"a": {}, "b": {"layout": "davis", "depth": 8}})
    assert (made["a"].depth, made["a"].stride, made["a"].format) == (16, 2, "png")
    assert (made["b"].depth, made["b"].stride, made["b"].format) == (8, 2, "jpg")
    assert list(presets.views(frames, {})) == [""]


def test_an_unknown_layout_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no layout tsnn; did you mean tsn\? framefs layouts li"):
        presets.completed(FramesSettings(layout="tsnn"))
    with pytest.raises(ConfigError, match=r"views\.a: frames\.layout: there is no layout q;"):
        presets.views(FramesSettings(), {"a": {"layout": "q"}})


def test_only_the_default_has_other_files_beside_the_images() -> None:
    """Some readers take an array beside an image for their own cache of it."""
    beside = {one.names[0]: one.settings["unlisted"] for one in presets.presets()}
    assert beside.pop("default") == ("npy",)
    assert set(beside.values()) == {()}
