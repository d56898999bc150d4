"""The benchmark's own filesystems, mounted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.mount import filesystems
from bench.mount.filesystems import FilesystemFailed
from bench.mount.limited import TokenBucket

pytestmark = pytest.mark.usefixtures("fuse")


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_bytes_come_at_the_rate_whatever_is_asked_for_at_once() -> None:
    clock = Clock()
    bucket = TokenBucket(1000, clock, clock.sleep)
    for size in (1, 99, 400, 1500):
        bucket.take(size)
    assert clock.now == pytest.approx(102)
    clock.now += 50
    bucket.take(500)
    assert clock.now == pytest.approx(152.5), "a pause saves nothing up"


def test_a_limited_folder_shows_what_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    content = os.urandom(300_000)
    (folder / "sub" / "file").write_bytes(content)
    target = tmp_path / "mnt"
    with filesystems.limited(folder, target, tmp_path, 1 << 40):
        assert os.listdir(target) == ["sub"]
        assert (target / "sub" / "file").read_bytes() == content
        # The kernel keeps what it has read: what changes unseen behind it is not seen.
        with open(folder / "sub" / "file", "r+b") as file:
            file.write(bytes(300_000))
        assert (target / "sub" / "file").read_bytes() == content
        own, shown = (folder / "sub" / "file").stat(), (target / "sub" / "file").stat()
        assert (own.st_size, own.st_mode) == (shown.st_size, shown.st_mode)
        with pytest.raises(FileNotFoundError):
            (target / "other").stat()
        with pytest.raises(OSError):
            (target / "new").write_text("")
    assert os.listdir(target) == []


def test_images_from_memory(tmp_path: Path) -> None:
    images = [tmp_path / f"{n}.png" for n in range(3)]
    for n, image in enumerate(images):
        image.write_bytes(os.urandom(200_000 + n))
    target = tmp_path / "mnt"
    with filesystems.memory(images, target, tmp_path):
        for n in (0, 4, 299):
            assert (target / "clip" / f"{n:06d}.png").read_bytes() == images[n % 3].read_bytes()


def test_a_filesystem_that_does_not_come_up_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(FilesystemFailed, match="there is no such corpus"),
        filesystems.framefs(tmp_path / "nothing", tmp_path / "mnt", tmp_path),
    ):
        pass
