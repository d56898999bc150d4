"""The ways in which programs read files, on real mounts: column one of the reader matrix.

Every format is a view of one mount.
"""

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

import av
import cv2
import imageio.v3 as imageio
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from PIL import Image

from tests.mounting import ROOT, mounted
from tests.oracle import full_decode, full_frames

CLIP = ROOT / "sample" / "native264_Lift_frontview.mp4"
FRAMES = (0, 7, 150, 299)

VIEWS: dict[str, dict[str, Any]] = {
    "png": {"format": "png"},
    "jpg": {"format": "jpg"},
    "alias": {"format": "jpg", "alias": True},
    "bmp": {"format": "bmp"},
    "ppm": {"format": "ppm"},
    "webp": {"format": "webp"},
    "npy": {"format": "npy"},
    "gray.png": {"format": "png", "color": "gray"},
    "gray.bmp": {"format": "bmp", "color": "gray"},
    "gray.pgm": {"format": "ppm", "color": "gray"},
    "gray.jpg": {"format": "jpg", "color": "gray"},
    "gray.npy": {"format": "npy", "color": "gray"},
    "chw.npy": {"format": "npy", "order": "chw"},
    "native.npy": {"format": "npy", "color": "native"},
    "small.jpg": {"format": "jpg", "resize": 240},
}
IMAGES = [name for name in VIEWS if not name.endswith("npy")]
LOSSLESS = [name for name in IMAGES if not name.endswith("jpg")]


def extension(view: str) -> str:
    """Of the files of a view."""
    return "jpg" if view == "alias" else view.rpartition(".")[2]


@pytest.fixture(scope="module")
def config_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "formats.yaml"
    views = {name: {"unlisted": [], **settings} for name, settings in VIEWS.items()}
    path.write_text(yaml.safe_dump({"views": views}))
    return path


@pytest.fixture(scope="module")
def root(fuse: None, config_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    corpus = tmp_path_factory.mktemp("corpus")
    shutil.copy2(CLIP, corpus / "clip.mp4")
    with mounted(corpus, "--config", str(config_file)) as mount:
        yield mount


def paths(root: Path, view: str) -> dict[int, Path]:
    """The files of the frames that are looked at."""
    return {n: root / view / "clip" / f"{n:06d}.{extension(view)}" for n in FRAMES}


@pytest.fixture(scope="module")
def expected() -> dict[int, NDArray[Any]]:
    return {n: frame for n, frame in enumerate(full_decode(CLIP)) if n in FRAMES}


@pytest.fixture(scope="module")
def gray() -> dict[int, NDArray[Any]]:
    shown = (frame for n, frame in enumerate(full_frames(CLIP)) if n in FRAMES)
    return {n: frame.array("gray") for n, frame in zip(FRAMES, shown, strict=True)}


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


READERS = [
    open_read,
    stat_then_read,
    seek_to_end,
    backwards_in_odd_pieces,
    np_fromfile,
    mmap_shared,
    mmap_private,
    copyfile,
]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("reader", READERS)
def test_every_way_of_reading_gives_the_same_bytes(
    reader: Callable[[Path], bytes],
    view: str,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTEST_SCRATCH", str(tmp_path))
    for path in paths(root, view).values():
        size = path.stat().st_size
        content = reader(path)
        assert len(content) == size
        assert content == path.read_bytes()


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_listed_is_there_with_its_size(view: str, root: Path) -> None:
    with os.scandir(root / view / "clip") as entries:
        listed = {entry.name: entry.stat().st_size for entry in entries}
    assert len(listed) == 300
    for path in paths(root, view).values():
        assert listed[path.name] == len(path.read_bytes())


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


@pytest.mark.parametrize("view", LOSSLESS)
@pytest.mark.parametrize("reader", [pillow, cv2_imread, cv2_imdecode, imageio_imread])
def test_images_through_image_libraries(
    reader: Callable[[Path], NDArray[Any]],
    view: str,
    root: Path,
    expected: dict[int, NDArray[Any]],
    gray: dict[int, NDArray[Any]],
) -> None:
    for number, path in paths(root, view).items():
        image = reader(path)
        frame = gray[number] if view.startswith("gray") else expected[number]
        if image.ndim > frame.ndim:  # OpenCV has three channels of all images
            frame = np.repeat(frame[..., None], 3, axis=2)
        np.testing.assert_array_equal(image, frame)


@pytest.mark.parametrize("view", ["jpg", "gray.jpg"])
@pytest.mark.parametrize("reader", [pillow, cv2_imread, cv2_imdecode, imageio_imread])
def test_jpeg_is_that_of_the_exact_frame(
    reader: Callable[[Path], NDArray[Any]],
    view: str,
    root: Path,
    expected: dict[int, NDArray[Any]],
    gray: dict[int, NDArray[Any]],
    tmp_path: Path,
) -> None:
    for number, path in paths(root, view).items():
        frame = gray[number] if view.startswith("gray") else expected[number]
        own = tmp_path / path.name
        Image.fromarray(frame).save(own, quality=95, subsampling="4:2:0")
        np.testing.assert_array_equal(reader(path), reader(own))
        assert path.read_bytes().endswith(b"\xff\xd9")


@pytest.mark.parametrize("mode", [None, "r", "c"])
@pytest.mark.parametrize("view", ["npy", "gray.npy", "chw.npy", "native.npy"])
def test_npy_through_numpy(
    mode: Any,
    view: str,
    root: Path,
    expected: dict[int, NDArray[Any]],
    gray: dict[int, NDArray[Any]],
) -> None:
    native = {n: frame.native for n, frame in enumerate(full_frames(CLIP)) if n in FRAMES}
    for number, path in paths(root, view).items():
        frame = expected[number]
        if view == "gray.npy":
            frame = gray[number]
        elif view == "chw.npy":
            frame = frame.transpose(2, 0, 1)
        elif view == "native.npy":
            frame = native[number].to_ndarray()
        np.testing.assert_array_equal(np.load(path, mmap_mode=mode), frame)


def checksums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def few(fuse: None, config_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clip that is quick to copy whole, in all formats."""
    from tests.clips import write_clip

    corpus = tmp_path_factory.mktemp("few") / "videos"
    corpus.mkdir()
    write_clip(corpus / "few.mp4", frames=12)
    with mounted(corpus, "--config", str(config_file), mountpoint=corpus.parent / "few") as mount:
        yield mount


@pytest.mark.parametrize("view", [name for name in IMAGES if name != "alias"])
def test_ffmpeg_image2(view: str, few: Path) -> None:
    """Looks for one number after the other with access(2); the codec follows from the extension."""
    folder = few / view / "few"
    with av.open(f"{folder}/%06d.{extension(view)}", format="image2") as container:
        frames = list(container.decode(video=0))
    assert len(frames) == 12
    if view in LOSSLESS:
        shown = frames[-1].to_ndarray(format="gray" if view.startswith("gray") else "rgb24")
        np.testing.assert_array_equal(shown, pillow(folder / f"000011.{extension(view)}"))


def test_tar(few: Path, tmp_path: Path) -> None:
    archive = tmp_path / "few.tar"
    subprocess.run(["tar", "-cf", archive, "-C", few.parent, "few"], check=True)
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    assert checksums(tmp_path / "few") == checksums(few)


def test_cp_archive_keeps_times_and_contents(few: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-a", few, tmp_path / "copy"], check=True)
    assert checksums(tmp_path / "copy") == checksums(few)
    for name in checksums(few):
        assert (tmp_path / "copy" / name).stat().st_mtime_ns == (few / name).stat().st_mtime_ns


@pytest.mark.skipif(not shutil.which("rsync"), reason="rsync is not installed")
def test_rsync_with_checksums_finds_nothing_to_do_the_second_time(
    few: Path, tmp_path: Path
) -> None:
    command = ["rsync", "-rtc", "--itemize-changes", f"{few}/", str(tmp_path / "copy")]
    subprocess.run(command, check=True)
    assert checksums(tmp_path / "copy") == checksums(few)
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert again.stdout == ""
