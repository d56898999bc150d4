"""For each layout: a mount, and the folder that one would have extracted with the ffmpeg tool."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from config.presets import preset
from tests.clips import write_clip
from tests.mounting import mounted

VIDEOS: Mapping[str, int] = {"eat/v1.mp4": 11, "eat/v2.mp4": 9, "run/v3.mp4": 10}
"""The corpus: classes as folders, and how many frames each video has."""

FLAT: Mapping[str, int] = {"101.mp4": 11, "102.mp4": 9}
"""A corpus without classes, named by numbers."""

QUALITY = 95


@dataclass(frozen=True)
class Pair:
    """The same frames twice, in folders with the same names: mounted, and extracted."""

    mount: Path
    folder: Path

    def names(self) -> list[str]:
        """All files of the extracted folder, relative."""
        return files_below(self.folder)

    def both(self) -> tuple[Path, Path]:
        return self.mount, self.folder


def files_below(root: Path) -> list[str]:
    """The paths of all files below ``root``, relative and sorted."""
    return sorted(
        os.path.relpath(os.path.join(directory, name), root)
        for directory, _, names in os.walk(root)
        for name in names
    )


def write_corpus(root: Path, videos: Mapping[str, int]) -> Path:
    for version, (name, frames) in enumerate(videos.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_clip(path, frames=frames, version=version, b_frames=2, gop=6)
    return root


def extract(video: Path, template: str, start: int, target: Path) -> None:
    """Writes the frames of ``video`` by the ffmpeg tool, to ``template`` below ``target``.

    JPEGs are encoded by Pillow from the tool's PNGs, since the tool's own encoder is another one.
    """
    suffix = Path(template).suffix
    pattern = target / Path(template).with_suffix(".png")
    pattern.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            *("ffmpeg", "-v", "error", "-i", video, "-fps_mode", "passthrough"),
            *("-start_number", str(start), pattern),
        ],
        check=True,
    )
    if suffix == ".jpg":
        for png in pattern.parent.glob("*.png"):
            with Image.open(png) as image:
                image.save(png.with_suffix(".jpg"), quality=QUALITY, subsampling="4:2:0")
            png.unlink()


Pairs = Callable[..., Pair]


@pytest.fixture(scope="session")
def pairs(fuse: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pairs]:
    """(layout, directory, file, start, videos) -> Pair; each made once.

    Directory and file are templates with {parent} and {stem}, and %05d for the number.
    """
    if not shutil.which("ffmpeg"):
        pytest.skip("the ffmpeg tool is not installed")
    made: dict[str, Pair] = {}
    with ExitStack() as stack:

        def pair(
            layout: str,
            directory: str,
            file: str,
            start: int,
            videos: Mapping[str, int] = VIDEOS,
        ) -> Pair:
            key = preset(layout).names[0]  # a layout with several names is mounted once
            if key not in made:
                root = tmp_path_factory.mktemp(layout)
                corpus = write_corpus(root / "videos", videos)
                folder = root / "extracted"
                for name in videos:
                    parent, stem = os.path.dirname(name), Path(name).stem
                    place = directory.format(parent=parent, stem=stem)
                    frame = file.format(stem=stem)
                    extract(corpus / name, f"{place}/{frame}".lstrip("/"), start, folder)
                mount = stack.enter_context(mounted(corpus, "--layout", layout))
                made[key] = Pair(mount, folder)
            return made[key]

        yield pair


def arrays_equal(one: Path, other: Path) -> None:
    """Asserts that two image files hold the same samples."""
    with Image.open(one) as a, Image.open(other) as b:
        assert a.mode == b.mode
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
