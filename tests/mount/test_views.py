"""Real mounts of views: what readers get of every format, and layouts that programs walk."""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import cv2
import imageio.v3 as imageio
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from config import presets
from tests.clips import read_barcode, write_clip
from tests.mounting import mounted
from tests.oracle import full_decode
from tests.vfs.conftest import until

FRAMES = 12
SIZE = (192, 144)

VIEWS = """
views:
  png: {}
  alias: {layout: tsn, alias: true}
  jpg: {layout: tsn}
  jpeg: {format: jpg, extension: jpeg, quality: 85, subsampling: "4:4:4"}
  bmp: {format: bmp}
  graybmp: {format: bmp, color: gray}
  ppm: {format: ppm}
  pgm: {format: ppm, color: gray}
  webp: {format: webp}
  npy: {layout: npy}
  chw: {layout: npy, order: chw}
  planes: {layout: npy, color: native, unlisted: []}
  small: {resize: 72, filter: bicubic, crop: 64x64}
  every5: {layout: davis, stride: 5, unlisted: [npy]}
  half: {fps: 15}
  part: {range: "3:7", start: 100}
"""

LOSSLESS = {
    "png": "000000.png",
    "alias": "img_00001.jpg",
    "bmp": "000000.bmp",
    "ppm": "000000.ppm",
    "webp": "000000.webp",
}
GRAY = {"graybmp": "000000.bmp", "pgm": "000000.pgm"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for name in ("walk/one", "run/two"):
        (folder / name).parent.mkdir()
        write_clip(folder / f"{name}.mp4", frames=FRAMES, size=SIZE, version=len(name))
    return folder


@pytest.fixture(scope="module")
def views(fuse: None, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    file = tmp_path_factory.mktemp("settings") / "views.yaml"
    file.write_text(VIEWS)
    with mounted(corpus, "--config", str(file)) as mount:
        yield mount


@pytest.fixture(scope="module")
def expected(corpus: Path) -> list[NDArray[Any]]:
    return list(full_decode(corpus / "walk" / "one.mp4"))


def folder(views: Path, view: str) -> Path:
    inside = "JPEGImages/480p" if view == "every5" else "."
    return views / view / inside / "walk" / "one"


def listed(views: Path, view: str) -> list[Path]:
    return sorted(folder(views, view).iterdir())


def pillow(path: Path) -> NDArray[Any]:
    with Image.open(path) as image:
        return np.asarray(image.convert("L" if image.mode == "L" else "RGB"))


def cv2_imread(path: Path) -> NDArray[Any]:
    image: Any = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    return np.asarray(image[..., ::-1] if image.ndim == 3 else image)


def cv2_imdecode(path: Path) -> NDArray[Any]:
    image: Any = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
    return np.asarray(image[..., ::-1] if image.ndim == 3 else image)


def imageio_imread(path: Path) -> NDArray[Any]:
    return np.asarray(imageio.imread(path))


@pytest.mark.parametrize("reader", [pillow, cv2_imread, cv2_imdecode, imageio_imread])
@pytest.mark.parametrize("view", LOSSLESS)
def test_lossless_images_are_the_frames(
    view: str,
    reader: Callable[[Path], NDArray[Any]],
    views: Path,
    expected: list[NDArray[Any]],
) -> None:
    paths = listed(views, view)
    assert len(paths) == FRAMES
    assert paths[0].name == LOSSLESS[view]
    for path, frame in zip(paths, expected, strict=True):
        np.testing.assert_array_equal(reader(path), frame)


@pytest.mark.parametrize("reader", [pillow, cv2_imread, cv2_imdecode, imageio_imread])
@pytest.mark.parametrize("view", GRAY)
def test_gray_images(view: str, reader: Callable[[Path], NDArray[Any]], views: Path) -> None:
    for number, path in enumerate(listed(views, view)):
        gray = np.load(path.with_suffix(".npy"))
        np.testing.assert_array_equal(reader(path), gray)
        assert read_barcode(gray).frame == number


@pytest.mark.parametrize(
    ("view", "quality", "subsampling"), [("jpg", 95, "4:2:0"), ("jpeg", 85, "4:4:4")]
)
def test_a_jpeg_is_the_encoding_of_the_exact_frame(
    view: str,
    quality: int,
    subsampling: str,
    views: Path,
    expected: list[NDArray[Any]],
    tmp_path: Path,
) -> None:
    for path, frame in zip(listed(views, view), expected, strict=True):
        plain = tmp_path / "plain.jpg"
        Image.fromarray(frame).save(plain, quality=quality, subsampling=subsampling)
        for reader in (pillow, cv2_imread, cv2_imdecode, imageio_imread):
            np.testing.assert_array_equal(reader(path), reader(plain))
        # As Ultralytics looks whether a JPEG is whole.
        with open(path, "rb") as file:
            file.seek(-2, os.SEEK_END)
            assert file.read() == b"\xff\xd9"
        assert os.getxattr(path, "user.framefs.quality") == str(quality).encode()


@pytest.mark.parametrize("mode", [None, "r", "c"])
def test_arrays(mode: Any, views: Path, expected: list[NDArray[Any]]) -> None:
    for number, frame in enumerate(expected):
        name = f"{number:06d}.npy"
        loaded = np.load(folder(views, "npy") / name, mmap_mode=mode)
        np.testing.assert_array_equal(loaded, frame)
        first = np.load(folder(views, "chw") / name, mmap_mode=mode)
        np.testing.assert_array_equal(first, frame.transpose(2, 0, 1))
        assert first.flags.c_contiguous
        planes = np.load(folder(views, "planes") / name, mmap_mode=mode)
        assert planes.shape == (SIZE[1] * 3 // 2, SIZE[0])


def test_native_planes_are_those_of_the_decoder(views: Path, corpus: Path) -> None:
    with av.open(str(corpus / "walk" / "one.mp4")) as container:
        for number, frame in enumerate(container.decode(video=0)):
            planes = np.load(folder(views, "planes") / f"{number:06d}.npy")
            np.testing.assert_array_equal(planes, frame.to_ndarray(format="yuv420p"))


def test_sizes_selections_and_ranges(views: Path, expected: list[NDArray[Any]]) -> None:
    for number, path in enumerate(listed(views, "small")):
        resized = Image.fromarray(expected[number]).resize((96, 72), Image.Resampling.BICUBIC)
        np.testing.assert_array_equal(pillow(path), np.asarray(resized)[4:68, 16:80])
    for view, frames in [
        ("every5", {"00000.npy": 0, "00001.npy": 5, "00002.npy": 10}),
        ("half", {f"{n:06d}.npy": 2 * n for n in range(6)}),
        ("part", {f"{n + 100:06d}.npy": n + 3 for n in range(4)}),
    ]:
        assert [path.stem for path in listed(views, view)] == [name[:-4] for name in frames]
        for name, frame in frames.items():
            path = folder(views, view) / name
            np.testing.assert_array_equal(np.load(path), expected[frame])
            assert os.getxattr(path, "user.framefs.index") == str(frame).encode()


def raw(path: Path) -> bytes:
    return path.read_bytes()


def stat_then_read(path: Path) -> bytes:
    """As torchvision.io.read_file does."""
    size = path.stat().st_size
    with open(path, "rb", buffering=0) as file:
        content = file.read(size)
        assert file.read(1) == b""
    return content


def mapped(path: Path) -> bytes:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
        return bytes(view)


def copied(path: Path) -> bytes:
    target = Path(os.environ["PYTEST_SCRATCH"]) / path.name
    shutil.copyfile(path, target)
    return target.read_bytes()


def test_every_file_of_every_view_is_as_long_as_it_says(
    views: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_SCRATCH", str(tmp_path))
    for view in os.listdir(views):
        for path in listed(views, view)[::4]:
            size = path.stat().st_size
            contents = {read(path) for read in (raw, stat_then_read, mapped, copied)}
            assert [len(content) for content in contents] == [size], path


def image2(pattern: Path, start: int) -> list[NDArray[Any]]:
    """What FFmpeg's image2 demuxer reads: from one file to the next, until there is none."""
    with av.open(str(pattern), format="image2", options={"start_number": str(start)}) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


@pytest.mark.parametrize(
    ("view", "pattern", "start"),
    [
        ("png", "%06d.png", 0),
        ("bmp", "%06d.bmp", 0),
        ("ppm", "%06d.ppm", 0),
        ("webp", "%06d.webp", 0),
        ("jpg", "img_%05d.jpg", 1),
        ("part", "%06d.png", 100),
    ],
)
def test_image2_reads_a_folder_to_its_end_and_stops(
    view: str, pattern: str, start: int, views: Path, expected: list[NDArray[Any]]
) -> None:
    frames = image2(folder(views, view) / pattern, start)
    wanted = expected[3:7] if view == "part" else expected
    assert len(frames) == len(wanted)
    for number, (frame, exact) in enumerate(zip(frames, wanted, strict=True)):
        if view == "jpg":
            assert read_barcode(frame).frame == number
        else:
            np.testing.assert_array_equal(frame, exact)


def test_names_times_and_inodes_are_the_same_after_mounting_again(
    views: Path, corpus: Path, tmp_path: Path
) -> None:
    def facts(mount: Path) -> dict[str, tuple[int, int, int]]:
        found = {}
        for parent, _, names in os.walk(mount):
            for name in names:
                status = os.stat(os.path.join(parent, name))
                path = os.path.relpath(os.path.join(parent, name), mount)
                found[path] = (status.st_ino, status.st_mtime_ns, status.st_size)
        return found

    file = tmp_path / "views.yaml"
    file.write_text(VIEWS)
    with mounted(corpus, "--config", str(file)) as again:
        assert facts(again) == facts(views)


@pytest.mark.parametrize("name", [one.names[0] for one in presets.presets()])
def test_a_mount_has_the_files_of_its_layout_and_no_others(
    name: str, fuse: None, corpus: Path, expected: list[NDArray[Any]]
) -> None:
    if name.startswith("lerobot"):
        pytest.skip("its corpus is a LeRobot data set")
    paths = PATHS[name]
    with mounted(corpus, "--layout", name) as mount:
        for number in (0, 7, FRAMES - 1):
            path = mount / paths("walk", "one", number)
            assert path.is_file()
            if path.suffix == ".png":
                np.testing.assert_array_equal(pillow(path), expected[number])
            elif path.suffix == ".jpg":
                assert read_barcode(pillow(path)).frame == number
        for number in (-1, FRAMES):
            assert not (mount / paths("walk", "one", number)).exists()
        found = {str(path.relative_to(mount)) for path in mount.rglob("*") if path.is_file()}
        clips = [("walk", "one"), ("run", "two")]
        assert found == {paths(*clip, n) for clip in clips for n in range(FRAMES)}


PATHS: dict[str, Callable[[str, str, int], str]] = {
    "default": lambda c, v, n: f"{c}/{v}/{n:06d}.png",
    "npy": lambda c, v, n: f"{c}/{v}/{n:06d}.npy",
    "imagefolder": lambda c, v, n: f"{c}/{v}_{n:06d}.png",
    "mmaction2": lambda c, v, n: f"{c}/{v}/img_{n + 1:05}.jpg",
    "sthv1": lambda c, v, n: f"{c}/{v}/{n + 1:05d}.jpg",
    "sthv2-tsm": lambda c, v, n: f"{c}/{v}/{n + 1:06d}.jpg",
    "davis": lambda c, v, n: f"JPEGImages/480p/{c}/{v}/{n:05d}.jpg",
    "youtube-vos": lambda c, v, n: f"JPEGImages/{c}/{v}/{n:05d}.jpg",
    "sam2": lambda c, v, n: f"{c}/{v}/{n:05d}.jpg",
    "epic-kitchens": lambda c, v, n: f"{c}/rgb_frames/{v}/frame_{n + 1:010d}.jpg",
    "ava": lambda c, v, n: f"{c}/{v}/{v}_{n + 1:06d}.jpg",
    "resnet3d": lambda c, v, n: f"{c}/{v}/image_{n + 1:05d}.jpg",
    "cvat": lambda c, v, n: f"{c}/{v}/images/frame_{n:06d}.png",
    "nerfstudio": lambda c, v, n: f"{c}/{v}/images/frame_{n + 1:05d}.png",
}


def test_frames_that_share_a_directory_follow_their_videos(fuse: None, tmp_path: Path) -> None:
    """The watcher takes back what is outdated where clips have no directories of their own."""
    corpus = tmp_path / "corpus"
    (corpus / "walk").mkdir(parents=True)
    for name in ("one", "two"):
        write_clip(corpus / "walk" / f"{name}.mp4", frames=3, size=SIZE)
    with mounted(corpus, "--layout", "imagefolder") as mount:
        one, two = (mount / "walk" / f"{name}_000001.png" for name in ("one", "two"))
        before = {path: pillow(path).copy() for path in (one, two)}
        write_clip(corpus / "walk" / "new.mp4", frames=3, size=SIZE, version=9)
        os.replace(corpus / "walk" / "new.mp4", corpus / "walk" / "one.mp4")
        until(lambda: read_barcode(pillow(one)).version == 9, 5)
        np.testing.assert_array_equal(pillow(two), before[two])
        (corpus / "walk" / "one.mp4").unlink()
        until(lambda: not one.exists(), 5)
        assert sorted(os.listdir(mount / "walk")) == [f"two_00000{n}.png" for n in range(3)]
