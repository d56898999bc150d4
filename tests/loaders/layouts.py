"""The layouts, and what the loaders that they are for expect, from these loaders' own sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.loaders.conftest import FLAT, VIDEOS


class Expected(NamedTuple):
    """Templates of directory and file name, the first number, and a corpus to try it with."""

    directory: str
    file: str
    start: int
    videos: Mapping[str, int] = VIDEOS


IMG = Expected("{parent}/{stem}", "img_%05d.jpg", 1)
FIVE = Expected("{stem}", "%05d.jpg", 1, FLAT)
FRAMES_LIST = Expected("{stem}", "{stem}_%06d.jpg", 1, FLAT)

EXPECTED: Mapping[str, Expected] = {
    "default": Expected("{parent}/{stem}", "%06d.png", 0),
    "imagefolder": Expected("{parent}", "{stem}_%06d.png", 0),
    "mmaction2": IMG,
    "tsn": IMG,
    "tsm": IMG,
    "ucf101": IMG,
    "kinetics": IMG,
    "sthv1": FIVE,
    "jester": FIVE,
    "sthv2-tsm": Expected("{stem}", "%06d.jpg", 1, FLAT),
    "davis": Expected("JPEGImages/480p/{stem}", "%05d.jpg", 0, FLAT),
    "youtube-vos": Expected("JPEGImages/{stem}", "%05d.jpg", 0, FLAT),
    "sam2": Expected("{stem}", "%05d.jpg", 0, FLAT),
    "epic-kitchens": Expected("{parent}/rgb_frames/{stem}", "frame_%010d.jpg", 1),
    "ava": FRAMES_LIST,
    "slowfast": FRAMES_LIST,
    "resnet3d": Expected("{parent}/{stem}", "image_%05d.jpg", 1),
    "cvat": Expected("{stem}/images", "frame_%06d.png", 0, FLAT),
    "nerfstudio": Expected("{stem}/images", "frame_%05d.png", 1, FLAT),
    "colmap": Expected("{stem}/images", "frame_%05d.png", 1, FLAT),
}
