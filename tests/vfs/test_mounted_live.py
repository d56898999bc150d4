"""What readers of a real mount see while the corpus changes below them."""

from __future__ import annotations

import errno
import mmap
import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.vfs.conftest import Mount, MountFactory, until
from tests.vfs.fakes import Video, write_video

OLD = Video(seed=1, width=200, height=100)
NEW = Video(seed=2, width=200, height=100, padding=1)
LARGER = Video(seed=3, width=300, height=150)
MTIME = 1_600_000_000_000_000_000


@pytest.fixture
def mounted(library: str, mount: MountFactory, videos: Path) -> Mount:
    write_video(videos / "sub" / "a.mp4", OLD, mtime_ns=MTIME)
    return mount(library)


def frame_path(mounted: Mount, extension: str = "npy", number: int = 1) -> Path:
    return mounted.root / "sub" / "a" / f"{number:06d}.{extension}"


def shows(path: Path, video: Video, number: int = 1) -> bool:
    return np.array_equal(np.load(path), video.array(number, "rgb24"))


def exists(path: Path) -> Callable[[], bool]:
    return path.exists


def test_a_replaced_source_with_equal_time_and_equal_frame_size(
    mounted: Mount, videos: Path
) -> None:
    path = frame_path(mounted)
    for _ in range(3):
        assert shows(path, OLD)
    write_video(videos / "sub" / "a.mp4", NEW, mtime_ns=MTIME)
    until(lambda: shows(path, NEW))
    for _ in range(20):
        assert shows(path, NEW)
    assert shows(frame_path(mounted, number=2), NEW, 2)


@pytest.mark.parametrize("change", [(OLD, LARGER), (LARGER, OLD)])
def test_a_replaced_source_with_another_frame_size(
    mounted: Mount, videos: Path, change: tuple[Video, Video]
) -> None:
    before, after = change
    source, path = videos / "sub" / "a.mp4", frame_path(mounted)
    write_video(source, before)
    until(lambda: shows(path, before))
    size = path.stat().st_size
    write_video(source, after)
    # Opening alone notices it, with no time for anything else to.
    assert shows(path, after)
    until(lambda: path.stat().st_size != size)
    # Attributes that the kernel believed in without an open are forgotten as well.
    write_video(source, before)
    until(lambda: path.stat().st_size == size)
    until(lambda: path.stat().st_mtime_ns == source.stat().st_mtime_ns)


def test_a_source_written_in_place(mounted: Mount, videos: Path) -> None:
    path, source = frame_path(mounted), videos / "sub" / "a.mp4"
    assert shows(path, OLD)
    path.stat()
    other = write_video(videos / "other.mp4", NEW)
    with open(source, "r+b") as file:
        file.truncate()
        file.write(other.read_bytes())
    until(lambda: path.stat().st_mtime_ns == source.stat().st_mtime_ns)
    assert shows(path, NEW)


def test_sources_that_come_and_go(mounted: Mount, videos: Path) -> None:
    directory, path = mounted.root / "sub" / "b", mounted.root / "sub" / "b" / "000001.npy"
    assert not path.exists()
    source = write_video(videos / "sub" / "b.mp4", NEW)
    until(exists(path))
    assert shows(path, NEW)
    assert "b" in os.listdir(mounted.root / "sub")
    assert len(os.listdir(directory)) == NEW.frames
    source.unlink()
    until(lambda: not path.exists())
    until(lambda: not directory.exists())
    assert "b" not in os.listdir(mounted.root / "sub")
    write_video(source, OLD)
    until(lambda: path.exists() and shows(path, OLD))


def test_a_clash_renames_the_source_under_the_mount(mounted: Mount, videos: Path) -> None:
    path = frame_path(mounted)
    assert shows(path, OLD)
    clash = write_video(videos / "sub" / "a.mkv", NEW)
    until(lambda: not path.exists())
    assert sorted(os.listdir(mounted.root / "sub")) == ["a_mkv", "a_mp4"]
    assert shows(mounted.root / "sub" / "a_mp4" / "000001.npy", OLD)
    clash.unlink()
    until(lambda: path.exists() and shows(path, OLD))


def test_a_renamed_folder(mounted: Mount, videos: Path) -> None:
    path = frame_path(mounted)
    assert shows(path, OLD)
    (videos / "sub").rename(videos / "other")
    until(lambda: not path.exists())
    until(exists(mounted.root / "other"))
    assert shows(mounted.root / "other" / "a" / "000001.npy", OLD)


def test_a_listing_of_many_frames_is_forgotten_as_a_whole(
    library: str, mount: MountFactory, videos: Path
) -> None:
    source = write_video(videos / "a.mp4", Video(frames=5000))
    mounted = mount(library)
    paths = [entry.path for entry in os.scandir(mounted.root / "a")]
    before = os.stat(paths[0]).st_size
    assert all(os.stat(path).st_size == before for path in paths)
    write_video(source, Video(frames=5000, width=64))
    time.sleep(1)
    assert before not in {os.stat(path).st_size for path in paths}


def test_an_open_file_is_never_a_mix(mounted: Mount, videos: Path) -> None:
    path = frame_path(mounted)
    expected = path.read_bytes()
    with open(path, "rb", buffering=0) as file:
        head = file.read(1000)
        write_video(videos / "sub" / "a.mp4", NEW, mtime_ns=MTIME)
        until(lambda: shows(path, NEW))
        with open(path, "rb") as newer:
            content = newer.read()
        assert content != expected
        rest = file.read()
        assert head + rest == expected
        assert path.read_bytes() == content
    until(lambda: path.read_bytes() == content)
    assert np.load(path, mmap_mode="r").tobytes() == NEW.array(1, "rgb24").tobytes()


def test_a_mapped_old_version_does_not_reach_readers_of_the_new(
    mounted: Mount, videos: Path
) -> None:
    path = frame_path(mounted)
    with open(path, "rb") as file:
        view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    old = view[:]
    write_video(videos / "sub" / "a.mp4", NEW, mtime_ns=MTIME)
    until(lambda: shows(path, NEW))
    for _ in range(5):
        assert view[:] == old
        assert shows(path, NEW)
    view.close()
    until(lambda: np.array_equal(np.load(path, mmap_mode="r"), NEW.array(1, "rgb24")))


def test_an_unread_version_that_is_gone_is_stale(mounted: Mount, videos: Path) -> None:
    path = frame_path(mounted)
    with open(path, "rb", buffering=0) as file:
        write_video(videos / "sub" / "a.mp4", NEW)
        with pytest.raises(OSError, match=os.strerror(errno.ESTALE)):
            file.read(10)
    # At once: an open never gives a version that is gone.
    assert shows(path, NEW)


def test_a_removed_file_that_is_open_can_be_read_to_its_end(mounted: Mount, videos: Path) -> None:
    path = frame_path(mounted)
    with open(path, "rb", buffering=0) as file:
        head = file.read(100)
        (videos / "sub" / "a.mp4").unlink()
        until(lambda: not path.exists())
        array = np.frombuffer((head + file.read())[128:], np.uint8)
        assert os.fstat(file.fileno()).st_size == 128 + array.size
    np.testing.assert_array_equal(array.reshape(100, 200, 3), OLD.array(1, "rgb24"))


def test_readers_under_constant_change_see_whole_versions_only(
    library: str, mount: MountFactory, videos: Path
) -> None:
    """Each file that can be read to its end equals one version, and not one long gone."""
    versions = [
        Video(seed=seed, frames=4, width=100 + 40 * (seed % 2), padding=seed) for seed in range(6)
    ]
    source = write_video(videos / "a.mp4", versions[0])
    mounted = mount(library)
    known = {
        (number, video.array(number, "rgb24").tobytes()): video.seed
        for video in versions
        for number in range(4)
    }
    replaced: list[tuple[float, int]] = [(0.0, 0)]
    over = threading.Event()
    faults: list[str] = []
    complete: list[int] = []

    def read() -> None:
        dice = random.Random(threading.get_ident())
        while not over.is_set():
            number = dice.randrange(4)
            began = time.monotonic()
            try:
                array = np.load(mounted.root / "a" / f"{number:06d}.npy")
            except (OSError, ValueError, EOFError):
                continue  # replaced while it was read, which the reader is told
            seed = known.get((number, array.tobytes()))
            # Versions that were replaced more than a second before this reading began.
            gone = {one for when, one in replaced[:-1] if _end(replaced, when) < began - 1}
            recent = {one for when, one in replaced if _end(replaced, when) >= began - 1}
            if seed is None or (seed in gone and seed not in recent):
                faults.append(f"frame {number}: version {seed}, not one of {recent}")
            else:
                complete.append(seed)

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    dice = random.Random(1)
    end = time.monotonic() + 8
    while time.monotonic() < end:
        time.sleep(dice.choice([0.02, 0.3, 0.9, 1.6]))
        video = dice.choice(versions)
        with suppress(FileNotFoundError):
            if dice.random() < 0.2:
                source.unlink()
                time.sleep(0.05)
        write_video(source, video, mtime_ns=MTIME if dice.random() < 0.3 else None)
        replaced.append((time.monotonic(), video.seed))
    over.set()
    for reader in readers:
        reader.join(30)
    assert faults == []
    assert len(complete) > 100
    assert mounted.unmount() == 0


def _end(replaced: list[tuple[float, int]], when: float) -> float:
    """When the version that came at ``when`` was replaced."""
    later = [other for other, _ in replaced if other > when]
    return min(later, default=float("inf"))
