from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from decoder.corpus import Corpus
from decoder.errors import (
    DecodeFailed,
    SourceChanged,
    SourceNotFound,
    SourceUnreadable,
)
from decoder.foresight import Outlook
from tests.vfs.fakes import FakeService, Video, write_video
from vfs.ahead import Ahead
from vfs.contents import Contents, OpenFrame
from vfs.errors import (
    IsADirectory,
    NoSuchAttribute,
    NoSuchPath,
    NotADirectory,
    NotSupported,
    WrongPixels,
)
from vfs.nodes import inode_of
from vfs.tree import Tree
from vfs.view import Samples, View


def names(tree: Tree, path: str) -> list[str]:
    return [entry.name for entry in tree.listing(path).entries()]


def content(tree: Tree, path: str) -> bytes:
    file = tree.open(tree.node(path))
    try:
        return bytes(tree.read(file, 0, file.size))
    finally:
        tree.release(file)


def test_the_tree_of_the_corpus_with_sources_as_directories(tree: Tree, videos: Path) -> None:
    write_video(videos / "a.mp4")
    write_video(videos / "a.mkv")
    write_video(videos / "sub" / "deep" / "b.mp4", Video(frames=3))
    (videos / "notes.txt").write_text("not shown")
    assert names(tree, "/") == ["a_mkv", "a_mp4", "sub"]
    assert names(tree, "/sub/deep") == ["b"]
    assert names(tree, "/sub/deep/b") == ["000000.png", "000001.png", "000002.png"]


@pytest.mark.parametrize("extension", ["png", "npy"])
@pytest.mark.parametrize("color", ["rgb", "gray"])
@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("bits", [8, 10])
def test_a_frame_has_the_size_told_before_and_the_pixels_of_the_service(
    videos: Path, extension: str, color: str, depth: int, bits: int
) -> None:
    service = FakeService()
    samples = Samples(color, depth)  # type: ignore[arg-type]
    tree = Tree(Corpus(str(videos)), service, views={"": View(samples=samples)})
    video = Video(bits=bits, seed=7)
    write_video(videos / "a.mp4", video)
    size = tree.attributes(f"/a/000003.{extension}").size
    assert not service.decoded
    data = content(tree, f"/a/000003.{extension}")
    assert len(data) == size
    deep = depth == 16 and bits == 10
    pixel_format = {"rgb": ("rgb24", "rgb48le"), "gray": ("gray", "gray16le")}[color][deep]
    if extension == "npy":
        expected = video.array(3, pixel_format)  # type: ignore[arg-type]
        np.testing.assert_array_equal(np.load(BytesIO(data)), expected)
    elif not deep:
        expected = video.array(3, pixel_format)  # type: ignore[arg-type]
        np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(data))), expected)


def test_attributes(tree: Tree, videos: Path) -> None:
    write_video(videos / "sub" / "a.mp4", mtime_ns=1_234_567_890_123_456_789)
    root, folder = tree.attributes("/"), tree.attributes("/sub")
    source, frame = tree.attributes("/sub/a"), tree.attributes("/sub/a/000000.png")
    assert [one.directory for one in (root, folder, source, frame)] == [True, True, True, False]
    assert [one.links for one in (root, folder, source, frame)] == [1, 1, 2, 1]
    assert root.inode == 1
    assert frame.inode == inode_of("/sub/a/000000.png")
    assert source.mtime_ns == frame.mtime_ns == 1_234_567_890_123_456_789
    assert folder.mtime_ns == (videos / "sub").stat().st_mtime_ns


def test_listed_attributes_and_inodes_are_those_of_stat(tree: Tree, videos: Path) -> None:
    write_video(videos / "a.mp4")
    for entry in tree.listing("/a").entries(4):
        attributes = tree.attributes(f"/a/{entry.name}")
        assert entry.attributes == attributes
        assert entry.inode == attributes.inode
    for entry in tree.listing("/").entries():
        assert entry.inode == tree.attributes(f"/{entry.name}").inode


@pytest.mark.parametrize(
    "path",
    [
        *("/b", "/a/000010.png", "/a/0.png", "/a/000000.jpg", "/a/x/y", "/notes.txt", "/a.mp4"),
        *("/a/0000000.png", "/sub/b", "/sub/a/000000.png", "/.hidden", "/a/.git"),
    ],
)
def test_what_is_not_there(tree: Tree, videos: Path, path: str) -> None:
    write_video(videos / "a.mp4", Video(frames=10))
    write_video(videos / ".hidden.mp4")
    (videos / "sub").mkdir()
    (videos / "notes.txt").touch()
    with pytest.raises((NoSuchPath, SourceNotFound)):
        tree.attributes(path)


def test_a_frame_is_no_directory_and_a_directory_no_frame(tree: Tree, videos: Path) -> None:
    write_video(videos / "a.mp4")
    with pytest.raises(NotADirectory):
        tree.node("/a/000000.png/x")
    with pytest.raises(NotADirectory):
        tree.listing("/a/000000.png")
    for path in ("/", "/a"):
        with pytest.raises(IsADirectory):
            tree.open(tree.node(path))


def test_a_look_up_indexes_nothing_but_its_own_source(
    tree: Tree, videos: Path, service: FakeService
) -> None:
    for name in ("a", "b", "c"):
        write_video(videos / f"{name}.mp4")
    tree.listing("/")
    tree.attributes("/b")
    assert not service.indexed
    with pytest.raises(NoSuchPath):
        tree.attributes("/b/cover.jpg")
    assert not service.indexed
    tree.attributes("/b/000003.png")
    assert service.indexed == {"b.mp4": 1}
    assert not service.decoded


def test_a_slow_index_holds_up_its_own_frames_only(
    tree: Tree, videos: Path, service: FakeService
) -> None:
    write_video(videos / "a.mp4")
    write_video(videos / "b.mp4")
    tree.attributes("/b/000000.png")
    service.indexing.clear()
    service.go_on.clear()
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(tree.attributes, "/a/000000.png")
        assert service.indexing.wait(10)
        assert names(tree, "/") == ["a", "b"]
        assert tree.attributes("/a").directory
        assert tree.attribute_names("/a") == []
        assert content(tree, "/b/000000.png")
        assert not waiting.done()
        service.go_on.set()
        assert waiting.result(10).size


def test_a_source_that_is_replaced_while_it_is_indexed_is_indexed_again(
    tree: Tree, videos: Path, service: FakeService
) -> None:
    write_video(videos / "a.mp4", Video(frames=5, width=8))
    service.go_on.clear()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(tree.node, "/a/000004.png")
        assert service.indexing.wait(10)
        write_video(videos / "a.mp4", Video(frames=5, width=80))
        service.go_on.set()
        node = waiting.result(10)
    assert tree.node_attributes(node) == tree.attributes("/a/000004.png")


def test_a_source_that_is_removed_while_it_is_indexed_is_not_there(
    tree: Tree, videos: Path, service: FakeService
) -> None:
    path = write_video(videos / "a.mp4")
    service.go_on.clear()
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(tree.attributes, "/a/000004.png") for _ in range(4)]
        assert service.indexing.wait(10)
        path.unlink()
        service.go_on.set()
        for one in waiting:
            with pytest.raises((NoSuchPath, SourceNotFound)):
                one.result(10)


def test_an_unreadable_source_is_told_apart_from_its_siblings(tree: Tree, videos: Path) -> None:
    (videos / "bad.mp4").write_text("{")
    write_video(videos / "good.mp4")
    assert names(tree, "/") == ["bad", "good"]
    assert tree.attributes("/bad").directory
    for ask in (tree.listing, tree.attributes):
        with pytest.raises(SourceUnreadable):
            ask("/bad" if ask == tree.listing else "/bad/000000.png")
    assert tree.attribute_names("/bad") == ["user.framefs.error"]
    assert b"bad.mp4: not a video" in tree.attribute("/bad", "user.framefs.error")
    assert content(tree, "/good/000000.png")
    assert tree.attribute_names("/good") == []
    with pytest.raises(NoSuchAttribute):
        tree.attribute("/good", "user.framefs.error")


def test_extended_attributes_of_a_frame(tree: Tree, videos: Path) -> None:
    write_video(videos / "a.mp4")
    path = "/a/000007.png"
    values = {name: tree.attribute(path, name) for name in tree.attribute_names(path)}
    assert values == {
        "user.framefs.pts": b"7",
        "user.framefs.time": b"7/30",
        "user.framefs.picture_type": b"I",
        "user.framefs.source": os.fsencode(videos / "a.mp4"),
        "user.framefs.index": b"7",
    }
    assert Fraction(values["user.framefs.time"].decode()) == Fraction(7, 30)
    with pytest.raises(NoSuchAttribute):
        tree.attribute(path, "user.other")
    with pytest.raises(NotSupported):
        tree.attribute(path, "security.selinux")


def test_a_frame_without_timestamp_has_no_such_attributes(tree: Tree, videos: Path) -> None:
    write_video(videos / "a.mp4", Video(timestamps=False))
    assert "user.framefs.pts" not in tree.attribute_names("/a/000000.png")
    with pytest.raises(NoSuchAttribute):
        tree.attribute("/a/000000.png", "user.framefs.time")


def test_a_damaged_frame_spoils_nothing_else_and_tells_why(tree: Tree, videos: Path) -> None:
    write_video(videos / "a.mp4", Video(broken_frame=4))
    with pytest.raises(DecodeFailed):
        content(tree, "/a/000004.png")
    assert content(tree, "/a/000003.png")
    assert b"frame 4" in tree.attribute("/a/000004.png", "user.framefs.error")
    assert "user.framefs.error" not in tree.attribute_names("/a/000003.png")


def test_reading_in_pieces_gives_the_same_bytes_from_one_decoding(
    tree: Tree, videos: Path, service: FakeService
) -> None:
    write_video(videos / "a.mp4", Video(width=400, height=300))
    file = tree.open(tree.node("/a/000001.png"))
    pieces = [bytes(tree.read(file, offset, 10_007)) for offset in range(0, file.size, 10_007)]
    assert not tree.read(file, file.size, 100)
    assert not tree.read(file, file.size + 5, 100)
    tree.release(file)
    assert b"".join(pieces) == content(tree, "/a/000001.png")
    content(tree, "/a/000001.npy")
    assert service.decoded == {("a.mp4", 1): 1}


def test_many_readers_of_one_frame_decode_it_once(
    tree: Tree, videos: Path, service: FakeService
) -> None:
    write_video(videos / "a.mp4")
    start = threading.Barrier(16)

    def read(_: int) -> bytes:
        start.wait()
        return content(tree, "/a/000001.png")

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(read, range(16)))) == 1
    assert service.decoded == {("a.mp4", 1): 1}


def test_closed_files_hold_no_memory_beyond_the_decoded_frames(
    videos: Path, service: FakeService
) -> None:
    tree = Tree(Corpus(str(videos)), service, cache_bytes=100_000)
    write_video(videos / "a.mp4", Video(width=100, height=100, frames=30))
    for frame in range(30):
        content(tree, f"/a/{frame:06d}.png")
    assert tree.cache_stats["frames"].size <= 100_000
    assert tree.cache_stats["files"].size == 0


def test_a_frame_larger_than_the_cache_is_still_decoded_once_a_reading(
    videos: Path, service: FakeService
) -> None:
    tree = Tree(Corpus(str(videos)), service, cache_bytes=0)
    write_video(videos / "a.mp4", Video(width=400, height=300))
    file = tree.open(tree.node("/a/000001.png"))
    for offset in range(0, file.size, 100_000):
        tree.read(file, offset, 100_000)
    assert service.decoded["a.mp4", 1] == 1


def test_an_open_file_keeps_to_its_version(tree: Tree, videos: Path) -> None:
    path = write_video(videos / "a.mp4", Video(seed=1))
    first = content(tree, "/a/000001.png")
    begun, unread = tree.open(tree.node("/a/000001.png")), tree.open(tree.node("/a/000002.png"))
    head = bytes(tree.read(begun, 0, 100))
    write_video(path, Video(seed=2))
    assert not tree.is_present(begun.node.reel)
    assert head + bytes(tree.read(begun, 100, begun.size)) == first
    with pytest.raises(SourceChanged):
        tree.read(unread, 0, 100)
    assert content(tree, "/a/000001.png") != first


def test_equal_time_and_frame_size_do_not_hide_a_replacement(tree: Tree, videos: Path) -> None:
    path = write_video(videos / "a.mp4", Video(seed=1), mtime_ns=10**18)
    first = content(tree, "/a/000001.png")
    write_video(path, Video(seed=2, padding=1), mtime_ns=10**18)
    assert content(tree, "/a/000001.png") != first


def test_pixels_that_the_index_does_not_promise_are_not_served(
    tree: Tree, videos: Path, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(videos / "a.mp4")
    monkeypatch.setattr(service, "array", lambda *_: np.zeros((3, 3, 3), np.uint8))
    with pytest.raises(WrongPixels, match=r"frame 0 of .*a\.mp4"):
        content(tree, "/a/000000.png")


def test_a_clash_that_comes_and_goes_renames_the_source(tree: Tree, videos: Path) -> None:
    write_video(videos / "a.mp4")
    assert names(tree, "/") == ["a"]
    (videos / "a").mkdir()
    assert names(tree, "/") == ["a", "a_mp4"]
    assert names(tree, "/a") == []
    with pytest.raises(NoSuchPath):
        tree.attributes("/a/000000.png")
    assert tree.attributes("/a_mp4/000000.png").size
    (videos / "a").rmdir()
    assert tree.attributes("/a/000000.png").size


def test_a_source_that_becomes_a_folder(tree: Tree, videos: Path) -> None:
    path = write_video(videos / "a.mp4")
    assert tree.attributes("/a/000000.png").size
    path.unlink()
    path.mkdir()
    write_video(path / "b.mp4")
    assert names(tree, "/") == ["a.mp4"]
    assert tree.attributes("/a.mp4/b/000000.png").size
    with pytest.raises(NoSuchPath):
        tree.attributes("/a/000000.png")


def test_names_that_are_not_utf8_or_very_long(tree: Tree, videos: Path) -> None:
    odd = os.fsdecode(b"\xff\xe9")
    long = "x" * 251
    for stem in (odd, long):
        write_video(Path(f"{videos}/short"), Video()).rename(f"{videos}/{stem}.mp4")
    assert set(names(tree, "/")) == {odd, long}
    for stem in (odd, long):
        assert tree.attributes(f"/{stem}/000000.png").inode > 1
        source = tree.attribute(f"/{stem}/000000.png", "user.framefs.source")
        assert source == os.fsencode(f"{videos}/{stem}.mp4")


def test_usage_is_that_of_the_corpus_and_nothing_is_free(tree: Tree, videos: Path) -> None:
    held = os.statvfs(videos)
    usage = tree.usage()
    assert usage.block_size == held.f_frsize
    assert abs(usage.blocks - (held.f_blocks - held.f_bfree)) < 10_000


@pytest.mark.parametrize("late", [False, True])
def test_a_file_that_is_made_ahead_too_late_is_not_kept(
    tree: Tree,
    service: FakeService,
    videos: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    late: bool,
) -> None:
    """Its reader has made it and gone: before the making began, or (``late``) just after."""
    write_video(videos / "a.mp4")
    waiting: list[Callable[[], object]] = []

    def keep(_: object, _key: object, make: Callable[[], object]) -> bool:
        waiting.append(make)
        return True

    monkeypatch.setattr(Ahead, "make", keep)
    monkeypatch.setattr(service, "announce", lambda *_: Outlook(1, stride=1, ahead=1))
    content(tree, "/a/000000.png")
    assert len(waiting) == 1
    if late:
        # The reader comes when the thread has seen that it has not.
        made = Contents._content

        def delayed(self: Contents, file: OpenFrame) -> memoryview:
            monkeypatch.setattr(Contents, "_content", made)
            content(tree, "/a/000001.png")
            return made(self, file)

        monkeypatch.setattr(Contents, "_content", delayed)
    else:
        content(tree, "/a/000001.png")
    waiting[0]()
    assert tree.cache_stats["files"].size == 0
