from __future__ import annotations

import pytest

from cli.layouts import sample_path
from cli.views import views_of
from config import Settings, override, presets
from tests.cli.commands import FRAMEFS, run

PATHS = {
    "default": "train/clip/000000.png",
    "npy": "train/clip/000000.npy",
    "imagefolder": "train/clip_000000.png",
    "mmaction2": "train/clip/img_00001.jpg",
    "sthv1": "train/clip/00001.jpg",
    "sthv2-tsm": "train/clip/000001.jpg",
    "davis": "JPEGImages/480p/train/clip/00000.jpg",
    "youtube-vos": "JPEGImages/train/clip/00000.jpg",
    "sam2": "train/clip/00000.jpg",
    "epic-kitchens": "train/rgb_frames/clip/frame_0000000001.jpg",
    "ava": "train/clip/clip_000001.jpg",
    "resnet3d": "train/clip/image_00001.jpg",
    "lerobot-v2": "images/observation.images.top/episode_000003/frame_000000.png",
    "lerobot-v3": "images/observation.images.top/episode-000003/frame-000000.png",
    "cvat": "train/clip/images/frame_000000.png",
    "nerfstudio": "train/clip/images/frame_00001.png",
}


@pytest.mark.parametrize("name", [name for one in presets.presets() for name in one.names])
def test_the_first_frame_of_a_sample_is_where_loaders_look_for_it(name: str) -> None:
    view = views_of(override(Settings(), "frames.layout", name))[""]
    assert sample_path(view) == PATHS[presets.preset(name).names[0]]


def test_layouts_are_listed_with_a_path_each() -> None:
    done = run(*FRAMEFS, "layouts")
    assert done.returncode == 0
    for name, path in PATHS.items():
        aliases = ", ".join(presets.preset(name).names)
        assert f"{aliases}\n    {path}\n    {presets.preset(name).about}\n" in done.stdout
