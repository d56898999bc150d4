"""Trees of several views and layouts over fake videos."""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from decoder.corpus import Corpus
from decoder.errors import DecoderError
from decoder.index import SourceIndex
from tests.vfs.fakes import FakeService, Video, write_video
from tests.vfs.test_tree import content, names
from vfs.catalog import FixedClips
from vfs.clips import Clip, Clips
from vfs.errors import (
    ClipTooShort,
    FrameTooSmall,
    NoSuchPath,
    NotADirectory,
    NoTimestamps,
    VfsError,
    WrongLayout,
)
from vfs.formats import Bmp, Jpg, Npy, Png, Ppm, Webp
from vfs.layout import Layout, Widen
from vfs.nodes import FrameNode
from vfs.selection import Selection
from vfs.transform import Crop, Resize, Transform
from vfs.tree import Tree
from vfs.view import Samples, View


def tree_of(videos: Path, service: FakeService, clips: Clips | None = None, **views: View) -> Tree:
    """A tree with these views, or with the one that is called ``only`` at the root."""
    named = {"" if name == "only" else name: view for name, view in views.items()}
    return Tree(Corpus(str(videos), freshness=0), service, views=named, clips=clips)


def view(directory: str = "{parent}/{stem}", file: str = "{number}", **others: object) -> View:
    layout = {key: others.pop(key) for key in ("start", "digits", "widen") if key in others}
    return View(Layout.of(directory, file, **layout), **others)  # type: ignore[arg-type]


def files(tree: Tree, path: str = "/") -> Iterator[str]:
    """The paths of all files below ``path``, by listing alone."""
    for entry in tree.listing(path).entries():
        below = f"{path.rstrip('/')}/{entry.name}"
        if entry.directory:
            yield from files(tree, below)
        else:
            assert entry.attributes == tree.attributes(below)
            yield below


LAYOUTS: dict[str, tuple[View, list[str]]] = {
    "by folder": (view(), ["/a/x/000000.png", "/a/x/000001.png", "/b/c/y/000000.png"]),
    "from one": (
        view(file="img_{number:05d}", start=1),
        ["/a/x/img_00001.png", "/a/x/img_00002.png", "/b/c/y/img_00001.png"],
    ),
    "above": (
        view("JPEGImages/480p/{parent}/{stem}"),
        [f"/JPEGImages/480p/{name}" for name in ("a/x/000000.png", "a/x/000001.png")]
        + ["/JPEGImages/480p/b/c/y/000000.png"],
    ),
    "between": (
        view("{parent}/rgb/f/{stem}"),
        ["/a/rgb/f/x/000000.png", "/a/rgb/f/x/000001.png", "/b/c/rgb/f/y/000000.png"],
    ),
    "below": (
        view("{parent}/{stem}/images/all"),
        [
            *("/a/x/images/all/000000.png", "/a/x/images/all/000001.png"),
            "/b/c/y/images/all/000000.png",
        ],
    ),
    "shared": (
        view("{parent}", "{stem}_{number:03d}"),
        ["/a/x_000.png", "/a/x_001.png", "/b/c/y_000.png"],
    ),
    "shared below": (
        view("{parent}/all", "{number:03d}-{name}"),
        ["/a/all/000-x.mp4.png", "/a/all/001-x.mp4.png", "/b/c/all/000-y.mkv.png"],
    ),
    "flat": (view("{name}"), ["/x.mp4/000000.png", "/x.mp4/000001.png", "/y.mkv/000000.png"]),
    "flat above": (
        view("v/{stem}/i"),
        ["/v/x/i/000000.png", "/v/x/i/000001.png", "/v/y/i/000000.png"],
    ),
    "flat shared": (
        view("", "{stem}.{number:02d}"),
        ["/x.00.png", "/x.01.png", "/y.00.png"],
    ),
    "stem twice": (
        view(file="{stem}_{number:06d}", start=1),
        ["/a/x/x_000001.png", "/a/x/x_000002.png", "/b/c/y/y_000001.png"],
    ),
    "relpath": (
        view("{relpath}"),
        ["/a/x.mp4/000000.png", "/a/x.mp4/000001.png", "/b/c/y.mkv/000000.png"],
    ),
    "times": (
        view(file="{index}_{pts:04d}_{time_ms}"),
        [
            *("/a/x/000000_0000_000000.png", "/a/x/000001_0001_000033.png"),
            "/b/c/y/000000_0000_000000.png",
        ],
    ),
}


@pytest.fixture
def corpus(videos: Path) -> Path:
    write_video(videos / "a" / "x.mp4", Video(frames=2, seed=1))
    write_video(videos / "b" / "c" / "y.mkv", Video(frames=1, seed=2))
    return videos


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_a_layout_shows_is_found_under_the_names_it_lists(
    name: str, corpus: Path, service: FakeService
) -> None:
    shown, expected = LAYOUTS[name]
    tree = tree_of(corpus, service, only=shown)
    assert sorted(files(tree)) == expected
    for path in expected:
        node = tree.node(path)
        assert isinstance(node, FrameNode)
        assert len(content(tree, path)) == tree.attributes(path).size
        for unlisted in (f"{path}x", path.replace(".png", ".jpg"), f"{path.rpartition('/')[0]}/q"):
            with pytest.raises(NoSuchPath):
                tree.node(unlisted)
        with pytest.raises(NotADirectory):
            tree.node(f"{path}/below")
    assert content(tree, expected[1].replace(".png", ".npy"))[128:] == (
        Video(frames=2, seed=1).array(1, "rgb24").tobytes()
    )


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_name_is_found_without_listing_and_without_any_other_source(
    name: str, corpus: Path, service: FakeService
) -> None:
    shown, expected = LAYOUTS[name]
    tree = tree_of(corpus, service, only=shown)
    assert tree.attributes(expected[-1]).size
    assert service.indexed == {"y.mkv": 1}
    for path in (f"{expected[0]}.git", "/a/cover.jpg", "/none/000000.png"):
        with pytest.raises((VfsError, DecoderError)):
            tree.attributes(path)
    assert service.indexed == {"y.mkv": 1}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_beside_each_other_are_what_each_is_alone(
    name: str, corpus: Path, service: FakeService
) -> None:
    shown, expected = LAYOUTS[name]
    tree = tree_of(corpus, service, one=shown, other=view(formats=(Bmp(),)))
    assert names(tree, "/") == ["one", "other"]
    assert sorted(files(tree, "/one")) == [f"/one{path}" for path in expected]
    assert sorted(files(tree, "/other")) == [
        *("/other/a/x/000000.bmp", "/other/a/x/000001.bmp", "/other/b/c/y/000000.bmp")
    ]
    with pytest.raises(NoSuchPath):
        tree.node("/a/x/000000.png")


def test_no_other_spelling_of_fixed_directories_exists(corpus: Path, service: FakeService) -> None:
    tree = tree_of(corpus, service, only=view("o/{parent}/p/{stem}/q"))
    assert tree.attributes("/o/a/p/x/q/000000.png").size
    for path in ("/a", "/o/p", "/o/a/x", "/o/a/q", "/o/a/p/x/p", "/o/a/p/x/000000.png", "/o/b/p"):
        with pytest.raises((VfsError, DecoderError)):
            tree.attributes(path)
    assert names(tree, "/o/b") == ["c"]  # no clips there, and so nothing of the layout's


def test_directories_of_a_layout_look_like_others(corpus: Path, service: FakeService) -> None:
    tree = tree_of(corpus, service, only=view("o/{parent}/p/{stem}/q"))
    folder, source = (corpus / "a").stat().st_mtime_ns, (corpus / "a/x.mp4").stat().st_mtime_ns
    for path, mtime_ns, links in [
        ("/", corpus.stat().st_mtime_ns, 1),
        ("/o", corpus.stat().st_mtime_ns, 1),
        ("/o/a", folder, 1),
        ("/o/a/p", folder, 1),
        ("/o/a/p/x", source, 1),
        ("/o/a/p/x/q", source, 2),
    ]:
        attributes = tree.attributes(path)
        assert attributes.directory
        assert (attributes.mtime_ns, attributes.links) == (mtime_ns, links)


def test_clips_that_share_a_directory_clash_by_their_stems(
    videos: Path, service: FakeService
) -> None:
    write_video(videos / "x.mp4", Video(frames=1, seed=1))
    write_video(videos / "x.mkv", Video(frames=1, seed=2))
    write_video(videos / "x_0.mkv", Video(frames=1, seed=3))
    (videos / "x").mkdir()
    tree = tree_of(videos, service, only=view("{parent}", "{stem}_{number:01d}"))
    assert set(names(tree, "/")) == {"x", "x_mkv_0.png", "x_mp4_0.png", "x_0_0.png"}
    assert content(tree, "/x_0_0.npy")[128:] == Video(seed=3).array(0, "rgb24").tobytes()


def test_a_listing_of_shared_frames_goes_on_from_anywhere(
    videos: Path, service: FakeService
) -> None:
    for number, frames in enumerate((3, 0, 1, 4)):
        write_video(videos / f"{number}.mp4", Video(frames=frames))
    (videos / "folder").mkdir()
    tree = tree_of(videos, service, only=view("{parent}", "{stem}_{number}"))
    listing = tree.listing("/")
    whole = list(listing.entries())
    assert len(whole) == len(listing) == 9
    for start in range(10):
        assert list(listing.entries(start)) == whole[start:]


def test_an_unreadable_source_is_left_out_of_a_shared_directory_and_named(
    corpus: Path, service: FakeService
) -> None:
    (corpus / "a" / "bad.mp4").write_text("{")
    tree = tree_of(corpus, service, only=view("{parent}", "{stem}_{number}"))
    assert names(tree, "/a") == ["x_000000.png", "x_000001.png"]
    assert b"bad.mp4: not a video" in tree.attribute("/a", "user.framefs.error")
    assert content(tree, "/a/x_000001.png")


def test_a_folder_named_like_the_layouts_own_is_hidden(corpus: Path, service: FakeService) -> None:
    write_video(corpus / "a" / "rgb" / "z.mp4")
    tree = tree_of(corpus, service, only=view("{parent}/rgb/{stem}"))
    assert names(tree, "/a") == ["rgb"]
    assert names(tree, "/a/rgb") == ["x"]


def test_selected_frames_have_their_numbers_and_keep_their_indexes(
    videos: Path, service: FakeService
) -> None:
    video = Video(frames=20, seed=5)
    write_video(videos / "x.mp4", video)
    tree = tree_of(
        videos,
        service,
        strided=view(file="{number:02d}", start=1, selection=Selection(2, 15, 4)),
        indexed=view(file="{index:02d}", selection=Selection(2, 15, 4)),
        timed=view(file="{number:02d}", selection=Selection(fps=Fraction(10))),
    )
    assert names(tree, "/strided/x") == ["01.png", "02.png", "03.png", "04.png"]
    assert names(tree, "/indexed/x") == ["02.png", "06.png", "10.png", "14.png"]
    assert len(names(tree, "/timed/x")) == 7
    for path, frame in [("strided/x/03", 10), ("indexed/x/10", 10), ("timed/x/03", 10)]:
        assert tree.attribute(f"/{path}.png", "user.framefs.index") == str(frame).encode()
        assert content(tree, f"/{path}.npy")[128:] == video.array(frame, "rgb24").tobytes()
    # One decoding for all of them.
    assert service.decoded == {("x.mp4", 10): 1}


def test_views_of_different_samples_share_what_was_decoded(
    videos: Path, service: FakeService
) -> None:
    video = Video(frames=3, height=40, width=60, bits=10)
    write_video(videos / "x.mp4", video)
    native = View(samples=Samples("native"), formats=(Npy(),))
    tree = tree_of(
        videos,
        service,
        rgb=View(),
        deep=View(samples=Samples("rgb", 16)),
        gray=View(samples=Samples("gray"), formats=(Ppm("pgm"),)),
        native=native,
        small=View(transform=Transform(Resize(20), Crop(16, 16))),
        jpg=View(formats=(Jpg(),)),
    )
    for path in ("rgb/x/000001.png", "deep/x/000001.npy", "gray/x/000001.pgm"):
        assert len(content(tree, f"/{path}")) == tree.attributes(f"/{path}").size
    for path, expected in [
        ("rgb", video.array(1, "rgb24")),
        ("deep", video.array(1, "rgb48le")),
        ("native", video.array(1, "gray16le")),
        ("small", small(video)),
    ]:
        loaded = np.load(io.BytesIO(content(tree, f"/{path}/x/000001.npy")))
        np.testing.assert_array_equal(loaded, expected)
    assert content(tree, "/jpg/x/000001.jpg") == bytes(Jpg().encode(video.array(1, "rgb24")))
    assert service.decoded == {("x.mp4", 1): 1}


def test_files_of_one_frame_that_are_open_in_several_views_are_kept_apart(
    videos: Path, service: FakeService
) -> None:
    write_video(videos / "x.mp4", Video(height=40, width=60))
    cropped = View(transform=Transform(None, Crop(16, 16)))
    gray = View(samples=Samples("gray"))
    tree = tree_of(videos, service, whole=View(), cropped=cropped, gray=gray)
    stems = [f"/{name}/x/000001" for name in ("whole", "cropped", "gray")]
    paths = [f"{name}.{extension}" for name in stems for extension in ("png", "npy")]
    opened = [tree.open(tree.node(path)) for path in paths]
    contents = [bytes(tree.read(file, 0, file.size)) for file in opened]
    assert len(set(contents)) == 6
    assert contents == [content(tree, path) for path in paths]
    for file in opened:
        tree.release(file)
    assert service.decoded == {("x.mp4", 1): 1}


def small(video: Video) -> NDArray[Any]:
    resized = Image.fromarray(video.array(1, "rgb24")).resize((30, 20), Image.Resampling.BILINEAR)
    return np.asarray(resized)[2:18, 7:23]


FORMATS = [Png(), Png("jpg"), Npy(), Npy("chw"), Jpg(), Jpg(50, "4:4:4"), Bmp(), Ppm(), Webp()]


@pytest.mark.parametrize("form", FORMATS, ids=repr)
@pytest.mark.parametrize(
    "transform", [Transform(), Transform(Resize(17)), Transform(None, Crop(9, 7))], ids=repr
)
def test_every_size_is_told_before_decoding(
    form: Png, transform: Transform, videos: Path, service: FakeService
) -> None:
    write_video(videos / "x.mp4", Video(frames=2, height=33, width=47))
    tree = tree_of(videos, service, only=View(formats=(form,), transform=transform))
    (path, _) = files(tree)
    size = tree.attributes(path).size
    assert not service.decoded
    assert len(content(tree, path)) == size


def test_the_quality_of_a_jpeg_is_told(videos: Path, service: FakeService) -> None:
    write_video(videos / "x.mp4", Video(height=64, width=64))  # noise
    tree = tree_of(videos, service, only=View(formats=(Jpg(95), Png())))
    path = "/x/000000.jpg"
    assert "user.framefs.quality" in tree.attribute_names(path)
    assert not service.decoded
    assert 50 < int(tree.attribute(path, "user.framefs.quality")) < 95
    assert "user.framefs.quality" not in tree.attribute_names("/x/000000.png")
    assert tree.cache_stats["files"].size == 0


@pytest.mark.parametrize(
    ("shown", "kind", "message"),
    [
        (view(file="{pts}"), NoTimestamps, "not every frame has a timestamp; name frames by"),
        (View(transform=Transform(None, Crop(33, 3))), FrameTooSmall, "33x3 at .* of 32x24"),
        (view(file="{number:01d}", widen="never"), WrongLayout, "11 frames need 2 digits, and"),
        (
            view(file="{index}", selection=Selection(fps=Fraction(60))),
            WrongLayout,
            "frames 0 and 1 would be the same, since both have the index 0; name frames by",
        ),
    ],
)
def test_a_clip_that_cannot_be_shown_says_why(
    shown: View, kind: type[VfsError], message: str, videos: Path, service: FakeService
) -> None:
    write_video(videos / "x.mp4", Video(frames=11, timestamps=kind is not NoTimestamps))
    write_video(videos / "good.mp4", Video(frames=1, height=99, width=99))
    tree = tree_of(videos, service, only=shown)
    assert tree.attributes("/x").directory
    with pytest.raises(kind, match=message):
        tree.listing("/x")
    extension = "0.png" if kind is WrongLayout and "widen" in repr(shown) else "000000.png"
    with pytest.raises((kind, NoSuchPath)):
        tree.attributes(f"/x/{extension}")
    assert tree.attribute_names("/x") == ["user.framefs.error"]
    assert tree.attribute("/x", "user.framefs.error")
    if kind is not WrongLayout:
        assert len(names(tree, "/good")) == 1


class Slice:
    """A span by numbers."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def frames(self, index: SourceIndex) -> range:
        return range(self.first, self.first + self.count)


def test_clips_that_are_parts_of_videos(videos: Path, service: FakeService) -> None:
    """As of a data set that keeps several episodes in one video."""
    video = Video(frames=10, seed=3)
    write_video(videos / "videos" / "top" / "file-000.mp4", video)
    parts = [(0, 4), (4, 5), (9, 3)]
    clips = FixedClips(
        [
            Clip(
                *("videos/top/file-000.mp4", "top", f"episode_{number:06d}"),
                {"episode_index": number},
                Slice(first, count),
            )
            for number, (first, count) in enumerate(parts)
        ],
        1_000,
    )
    tree = tree_of(
        videos,
        service,
        clips,
        frames=view("images/{parent}/episode-{episode_index:06d}", "frame-{number:06d}"),
        plain=view(),
        indexed=view(file="{index}", selection=Selection(stride=2)),
    )
    assert names(tree, "/indexed/top/episode_000001") == [f"00000{n}.png" for n in (0, 2, 4)]
    assert names(tree, "/frames/images/top") == [f"episode-00000{n}" for n in range(3)]
    assert names(tree, "/plain/top") == [f"episode_00000{n}" for n in range(3)]
    assert len(names(tree, "/plain/top/episode_000000")) == 4
    path = "/frames/images/top/episode-000001/frame-000002.npy"
    assert content(tree, path)[128:] == video.array(6, "rgb24").tobytes()
    assert tree.attribute(path, "user.framefs.index") == b"6"
    assert content(tree, "/plain/top/episode_000001/000002.npy") == content(tree, path)
    with pytest.raises(NoSuchPath):
        tree.attributes("/frames/images/top/episode-000001/frame-000005.png")
    with pytest.raises(ClipTooShort, match=r"frames 9 to 11 of .* are wanted, and it has 10"):
        tree.listing("/frames/images/top/episode-000002")
    assert tree.attributes("/frames/images").mtime_ns == 1_000


def test_names_and_inodes_are_those_of_another_tree(corpus: Path) -> None:
    for shown, expected in LAYOUTS.values():
        one, other = (tree_of(corpus, FakeService(), only=shown) for _ in range(2))
        assert sorted(files(other)) == expected
        for path in expected:
            assert one.attributes(path) == other.attributes(path)


def test_digits_are_those_of_the_source(videos: Path, service: FakeService) -> None:
    write_video(videos / "x.mp4", Video(frames=12))
    shown: list[tuple[Widen, str]] = [("source", "01"), ("number", "1")]
    for widen, first in shown:
        tree = tree_of(videos, service, only=view(file="{number:01d}", start=1, widen=widen))
        listed = names(tree, "/x")
        assert (listed[0], listed[-1]) == (f"{first}.png", "12.png")
