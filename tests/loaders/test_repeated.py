"""Loaders that come as repositories and not as packages: the calls by which they find and read
frames, repeated from their sources.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from config.presets import preset, presets
from tests.cli.commands import FRAMEFS, run
from tests.loaders.conftest import (
    FLAT,
    VIDEOS,
    Pair,
    Pairs,
    arrays_equal,
    files_below,
    write_corpus,
)
from tests.loaders.layouts import EXPECTED

DISTINCT = [name for name in EXPECTED if preset(name).names[0] == name]


@pytest.fixture(params=DISTINCT)
def pair(request: pytest.FixtureRequest, pairs: Pairs) -> Pair:
    return pairs(request.param, *EXPECTED[request.param])


def test_every_layout_has_the_names_and_images_of_an_extracted_folder(pair: Pair) -> None:
    assert files_below(pair.mount) == pair.names()
    for name in pair.names():
        arrays_equal(pair.mount / name, pair.folder / name)


def test_every_layout_but_those_of_data_sets_is_tried_and_other_names_mean_the_same() -> None:
    untried = {name for one in presets() for name in one.names} - EXPECTED.keys()
    assert untried == {"npy", "lerobot-v2", "lerobot-v3"}
    for name, expected in EXPECTED.items():
        assert EXPECTED[preset(name).names[0]] == expected


def test_nothing_but_directories_and_regular_files_is_listed(pair: Pair) -> None:
    """COLMAP takes all regular files below a folder, and what else there is by its type."""
    for directory, folders, names in os.walk(pair.mount):
        for entry in os.scandir(directory):
            assert entry.is_dir() == (entry.name in folders)
            mode = entry.stat().st_mode
            assert stat.S_ISDIR(mode) if entry.is_dir() else stat.S_ISREG(mode)
        assert sorted(names) == sorted(names, key=lambda name: list(map(int, numbers(name))))


def numbers(name: str) -> list[str]:
    return re.findall(r"\d+", name)


def test_ffmpeg_reads_each_directory_to_its_end_and_stops(pair: Pair) -> None:
    """The image2 demuxer looks for numbers with access(2), from the first one on."""
    for directory, _, names in os.walk(pair.mount):
        for head in sorted({name[: place(name)] for name in names}):
            own = sorted(name for name in names if name.startswith(head))
            digits = numbers(own[0])[-1]
            tail = own[0][place(own[0]) + len(digits) :]
            pattern = f"{directory}/{head}%0{len(digits)}d{tail}"
            result = subprocess.run(
                [
                    *("ffmpeg", "-v", "error", "-start_number", str(int(digits)), "-i", pattern),
                    *("-map", "0:v", "-f", "framemd5", "-"),
                ],
                check=True,
                capture_output=True,
                text=True,
            )
            lines = [line for line in result.stdout.splitlines() if not line.startswith("#")]
            assert len(lines) == len(own)


def place(name: str) -> int:
    """Where the number of the frame begins."""
    return name.rindex(numbers(name)[-1])


def listed(form: str, videos: dict[str, int], folder: Path, *options: str) -> list[str]:
    """The lines of a list that framefs writes of a corpus with these videos."""
    corpus = write_corpus(folder / "videos", videos)
    output = folder / "list.txt"
    index = folder / "index.sqlite"
    result = run(
        *(*FRAMEFS, "list", corpus, "--as", form, "--output", output, "--index", index), *options
    )
    assert result.returncode == 0, result
    return output.read_text().splitlines()


@pytest.mark.parametrize(
    ("layout", "template"),
    [
        ("tsm", "img_{:05d}.jpg"),
        ("jester", "{:05d}.jpg"),
        ("sthv1", "{:05d}.jpg"),
        ("sthv2-tsm", "{:06d}.jpg"),
    ],
)
def test_tsn_and_tsm(layout: str, template: str, pairs: Pairs, tmp_path: Path) -> None:
    """TSNDataSet: looks for frame 1 with os.path.exists, reads ``offsets + 1`` with Pillow."""
    expected = EXPECTED[layout]
    pair = pairs(layout, *expected)
    lines = listed("tsm", dict(expected.videos), tmp_path, "--layout", layout)
    records = [line.strip().split(" ") for line in lines]
    records = [record for record in records if int(record[1]) >= 3]
    assert [int(record[1]) for record in records] == list(expected.videos.values())
    loaded = []
    for root in pair.both():
        images = []
        for path, count, _ in records:
            assert os.path.exists(os.path.join(root, path, template.format(1)))
            average = int(count) // 3  # segments
            for index in np.array([average // 2 + n * average for n in range(3)]) + 1:
                with Image.open(os.path.join(root, path, template.format(index))) as image:
                    images.append(np.asarray(image.convert("RGB")))
            # one frame too many is no frame: it must not be there
            assert not os.path.exists(os.path.join(root, path, template.format(int(count) + 1)))
        loaded.append(np.stack(images))
    np.testing.assert_array_equal(loaded[0], loaded[1])


def test_slowfast(pairs: Pairs, tmp_path: Path) -> None:
    """retry_load_images: reads the bytes of the paths in the list, decodes them with OpenCV."""
    pair = pairs("slowfast", *EXPECTED["slowfast"])
    lines = listed("slowfast", dict(FLAT), tmp_path)
    assert lines[0].startswith("original_vido_id")
    rows = [line.split() for line in lines[1:]]
    assert [row[3] for row in rows] == pair.names()
    loaded = []
    for root in pair.both():
        images = []
        for row in rows:
            content = (root / row[3]).read_bytes()
            image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
            assert image is not None
            images.append(image)
        loaded.append(np.stack(images))
    np.testing.assert_array_equal(loaded[0], loaded[1])


def davis(root: Path) -> Iterator[Path]:
    """davis2017: the JPEGs of a sequence by a sorted glob."""
    for sequence in sorted((root / "JPEGImages" / "480p").iterdir()):
        yield from sorted(sequence.glob("*.jpg"))


def cutie(root: Path) -> Iterator[Path]:
    """VideoReader of XMem and Cutie: all that is listed, sorted; the mask has its first five."""
    images = root / "JPEGImages" / "480p"
    for video in sorted(os.listdir(images)):
        for name in sorted(os.listdir(images / video)):
            yield images / video / f"{name[:-4]}.jpg"


def resnet3d(root: Path) -> Iterator[Path]:
    """3D-ResNets-PyTorch: the number of entries, then each number whose file exists."""
    for video in sorted(root.glob("*/*")):
        for number in range(1, len(list(video.iterdir())) + 1):
            path = video / f"image_{number:05d}.jpg"
            if path.exists():
                yield path


def nerfstudio(root: Path) -> Iterator[Path]:
    """ns-process-data: all that is not hidden, by extension, sorted."""
    known = (".jpg", ".jpeg", ".png", ".tif", ".tiff")
    yield from sorted(p for p in root.glob("**/[!.]*") if p.suffix.lower() in known)


@pytest.mark.parametrize(
    ("layout", "reader"),
    [
        ("davis", davis),
        ("davis", cutie),
        ("resnet3d", resnet3d),
        ("default", nerfstudio),
        ("mmaction2", nerfstudio),
    ],
)
def test_readers_that_list(
    layout: str, reader: Callable[[Path], Iterator[Path]], pairs: Pairs
) -> None:
    pair = pairs(layout, *EXPECTED[layout])
    found, expected = ([p.relative_to(root) for p in reader(root)] for root in pair.both())
    assert found == expected
    assert len(found) == len(pair.names())
    for name in found:
        arrays_equal(pair.mount / name, pair.folder / name)


def test_copies_have_the_size_that_was_declared(pair: Pair, tmp_path: Path) -> None:
    """nerfstudio copies images before it reads them."""
    for name in pair.names()[:4]:
        target = tmp_path / "copy"
        shutil.copy(pair.mount / name, target)
        assert target.stat().st_size == (pair.mount / name).stat().st_size
        arrays_equal(target.rename(target.with_suffix(Path(name).suffix)), pair.folder / name)


def test_a_list_names_what_a_mount_shows(pairs: Pairs, tmp_path: Path) -> None:
    pair = pairs("mmaction2", *EXPECTED["mmaction2"])
    lines: list[Any] = [line.split() for line in listed("mmaction2", dict(VIDEOS), tmp_path)]
    for path, count, label in lines:
        assert len(list((pair.mount / path).iterdir())) == int(count)
        assert ["eat", "run"][int(label)] == path.split("/")[0]
