"""The ways in which programs read files, on real mounts: column one of the reader matrix."""

from __future__ import annotations

import hashlib
import mmap
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import imageio.v3 as imageio
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.mounting import ROOT, mounted
from tests.oracle import full_decode

CLIP = ROOT / "sample" / "native264_Lift_frontview.mp4"
FRAMES = (0, 7, 150, 299)


@pytest.fixture(scope="module")
def folder(fuse: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    corpus = tmp_path_factory.mktemp("corpus")
    shutil.copy2(CLIP, corpus / "clip.mp4")
    with mounted(corpus) as mount:
        yield mount / "clip"


@pytest.fixture(scope="module")
def expected() -> dict[int, NDArray[Any]]:
    return {n: frame for n, frame in enumerate(full_decode(CLIP)) if n in FRAMES}


def open_read(path: Path) -> bytes:
    return path.read_bytes()


def stat_then_read(path: Path) -> bytes:
    """As torchvision.io.read_file does: the size first, then one read of so many bytes."""
    size = path.stat().st_size
    assert size > 0
    with open(path, "rb", buffering=0) as file:
        content = file.read(size)
        assert file.read(1) == b""
    return content


def seek_to_end(path: Path) -> bytes:
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        return file.read(size)


def backwards_in_odd_pieces(path: Path) -> bytes:
    pieces = []
    with open(path, "rb", buffering=0) as file:
        end = path.stat().st_size
        while end:
            begin = max(0, end - 70_001)
            file.seek(begin)
            pieces.append(file.read(end - begin))
            end = begin
    return b"".join(reversed(pieces))


def np_fromfile(path: Path) -> bytes:
    return np.fromfile(path, np.uint8).tobytes()


def mmap_shared(path: Path) -> bytes:
    with open(path, "rb") as file:
        view = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
        with view:
            return bytes(view)


def mmap_private(path: Path) -> bytes:
    with open(path, "rb") as file:
        view = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
        with view:
            view[0] = view[0]  # a page of one's own
            return bytes(view)


def copyfile(path: Path) -> bytes:
    target = Path(os.environ["PYTEST_SCRATCH"]) / path.name
    shutil.copyfile(path, target)
    return target.read_bytes()


@pytest.mark.parametrize("suffix", [".png", ".npy"])
@pytest.mark.parametrize(
    "reader",
    [
        open_read,
        stat_then_read,
        seek_to_end,
        backwards_in_odd_pieces,
        np_fromfile,
        mmap_shared,
        mmap_private,
        copyfile,
    ],
)
def test_every_way_of_reading_gives_the_same_bytes(
    reader: Callable[[Path], bytes],
    suffix: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTEST_SCRATCH", str(tmp_path))
    for number in FRAMES:
        path = folder / f"{number:06d}{suffix}"
        size = path.stat().st_size
        content = reader(path)
        assert len(content) == size
        assert content == path.read_bytes()


def pillow(path: Path) -> NDArray[Any]:
    with Image.open(path) as image:
        return np.asarray(image)


def cv2_imread(path: Path) -> NDArray[Any]:
    image = cv2.imread(str(path))
    assert image is not None
    return image[..., ::-1]


def cv2_imdecode(path: Path) -> NDArray[Any]:
    image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return image[..., ::-1]


def imageio_imread(path: Path) -> NDArray[Any]:
    return np.asarray(imageio.imread(path))


@pytest.mark.parametrize("reader", [pillow, cv2_imread, cv2_imdecode, imageio_imread])
def test_png_through_image_libraries(
    reader: Callable[[Path], NDArray[Any]], folder: Path, expected: dict[int, NDArray[Any]]
) -> None:
    for number in FRAMES:
        np.testing.assert_array_equal(reader(folder / f"{number:06d}.png"), expected[number])


@pytest.mark.parametrize("mode", [None, "r", "c"])
def test_npy_through_numpy(mode: Any, folder: Path, expected: dict[int, NDArray[Any]]) -> None:
    for number in FRAMES:
        array = np.load(folder / f"{number:06d}.npy", mmap_mode=mode)
        np.testing.assert_array_equal(array, expected[number])


def checksums(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


@pytest.fixture(scope="module")
def few(fuse: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clip that is quick to copy whole."""
    from tests.clips import write_clip

    corpus = tmp_path_factory.mktemp("few")
    write_clip(corpus / "few.mp4", frames=12)
    with mounted(corpus) as mount:
        yield mount / "few"


def test_tar(few: Path, tmp_path: Path) -> None:
    archive = tmp_path / "few.tar"
    subprocess.run(["tar", "-cf", archive, "-C", few.parent, "few"], check=True)
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    assert checksums(tmp_path / "few") == checksums(few)


def test_cp_archive_keeps_times_and_contents(few: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-a", few, tmp_path / "copy"], check=True)
    assert checksums(tmp_path / "copy") == checksums(few)
    for path in few.iterdir():
        assert (tmp_path / "copy" / path.name).stat().st_mtime_ns == path.stat().st_mtime_ns


@pytest.mark.skipif(not shutil.which("rsync"), reason="rsync is not installed")
def test_rsync_with_checksums_finds_nothing_to_do_the_second_time(
    few: Path, tmp_path: Path
) -> None:
    command = ["rsync", "-rtc", "--itemize-changes", f"{few}/", str(tmp_path / "copy")]
    subprocess.run(command, check=True)
    assert checksums(tmp_path / "copy") == checksums(few)
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert again.stdout == ""
