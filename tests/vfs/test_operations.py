from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.vfs.fakes import Video, write_video
from vfs.errors import BadHandle, IsADirectory, NoSuchPath, OutdatedView, ReadOnly
from vfs.kernel import KernelView
from vfs.operations import Operations
from vfs.pages import PageCache
from vfs.tree import Tree

FRAME = "/a/000001.png"


@pytest.fixture
def operations(tree: Tree) -> Operations:
    return Operations(tree, KernelView(60), PageCache(patience=0))


def names(operations: Operations, handle: int, offset: int = 0) -> list[str]:
    return [entry.name for entry in operations.readdir(handle, offset, plus=True)]


def test_a_directory_is_read_in_pieces_and_again_from_the_start(
    operations: Operations, videos: Path
) -> None:
    write_video(videos / "a.mp4", Video(frames=3))
    frames = [f"00000{n}.png" for n in range(3)]
    handle = operations.opendir("/a")
    assert names(operations, handle) == [".", "..", *frames]
    assert names(operations, handle, 1) == ["..", *frames]
    assert names(operations, handle, 4) == frames[2:]
    assert names(operations, handle, 5) == []
    write_video(videos / "a.mp4", Video(frames=1))
    assert names(operations, handle, 2) == frames
    assert names(operations, handle) == [".", "..", "000000.png"]
    operations.releasedir(handle)
    with pytest.raises(BadHandle):
        names(operations, handle)


def test_attributes_of_a_replaced_version_are_not_listed(
    operations: Operations, videos: Path
) -> None:
    write_video(videos / "a.mp4", Video(frames=3))
    handle = operations.opendir("/a")
    write_video(videos / "a.mp4", Video(frames=3, width=100))
    entries = list(operations.readdir(handle, 0, plus=True))
    assert len(entries) == 5
    assert all(entry.attributes is None for entry in entries)


@pytest.mark.parametrize(
    "flags", [os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND]
)
def test_nothing_is_opened_for_writing(operations: Operations, videos: Path, flags: int) -> None:
    write_video(videos / "a.mp4")
    with pytest.raises(ReadOnly):
        operations.open(FRAME, flags)


def test_a_directory_is_not_opened_as_a_file(operations: Operations, videos: Path) -> None:
    write_video(videos / "a.mp4")
    with pytest.raises(IsADirectory):
        operations.open("/a", os.O_RDONLY)


def test_pages_are_kept_when_the_version_is_the_same(operations: Operations, videos: Path) -> None:
    path = write_video(videos / "a.mp4")

    def opened_and_read() -> tuple[bool, bool]:
        operations.getattr(FRAME)
        handle, opening = operations.open(FRAME, os.O_RDONLY)
        operations.read(handle, 0, 10)
        operations.release(handle)
        return opening.keep, opening.direct

    assert opened_and_read() == (False, False)
    assert opened_and_read() == (True, False)
    write_video(path, Video(seed=1))
    assert opened_and_read() == (False, False)
    assert opened_and_read() == (True, False)


def test_an_open_with_outdated_attributes_makes_the_kernel_ask_again(
    operations: Operations, videos: Path
) -> None:
    path = write_video(videos / "a.mp4", Video(width=10))
    before = operations.getattr(FRAME)
    write_video(path, Video(width=20))
    with pytest.raises(OutdatedView):
        operations.open(FRAME, os.O_RDONLY)
    assert operations.getattr(FRAME).size > before.size
    handle, _ = operations.open(FRAME, os.O_RDONLY)
    operations.release(handle)


def test_a_reader_of_an_older_version_does_not_shorten_the_newer(
    operations: Operations, videos: Path
) -> None:
    path = write_video(videos / "a.mp4", Video(width=10))
    size = operations.getattr(FRAME).size
    old, _ = operations.open(FRAME, os.O_RDONLY)
    head = bytes(operations.read(old, 0, 100))
    write_video(path, Video(width=20))
    operations.getattr(FRAME)
    new, opening = operations.open(FRAME, os.O_RDONLY)
    assert opening.direct
    # What lies inside is served from memory, the end is not told.
    assert bytes(operations.read(old, 0, 100)) == head
    with pytest.raises(OutdatedView):
        operations.read(old, size - 10, 4096)
    assert operations.read(new, size, 4096)
    for handle in (old, new):
        operations.release(handle)


def test_an_older_version_of_the_same_size_is_served_to_its_end(
    operations: Operations, videos: Path
) -> None:
    path = write_video(videos / "a.mp4")
    size = operations.getattr(FRAME).size
    old, _ = operations.open(FRAME, os.O_RDONLY)
    operations.read(old, 0, 100)
    write_video(path, Video(seed=1))
    operations.getattr(FRAME)
    assert len(operations.read(old, size - 10, 4096)) == 10


def test_a_removed_file_has_attributes_for_those_who_have_it_open(
    operations: Operations, videos: Path
) -> None:
    path = write_video(videos / "a.mp4")
    before = operations.getattr(FRAME)
    handle, _ = operations.open(FRAME, os.O_RDONLY)
    path.unlink()
    with pytest.raises(NoSuchPath):
        operations.getattr(FRAME)
    assert operations.getattr(FRAME, handle) == before


def test_a_handle_that_was_released_is_refused(operations: Operations, videos: Path) -> None:
    write_video(videos / "a.mp4")
    handle, _ = operations.open(FRAME, os.O_RDONLY)
    operations.release(handle)
    operations.release(handle)
    with pytest.raises(BadHandle):
        operations.read(handle, 0, 1)
