"""The clips of a tree against a walk through its directories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.views import views_of
from config import Settings, override, presets
from decoder.corpus import Corpus
from decoder.errors import DecoderError
from tests.vfs.fakes import FakeService, Video, write_video
from vfs.catalog import FixedClips
from vfs.clips import Clip
from vfs.nodes import join
from vfs.tree import Tree
from vfs.view import View

LAYOUTS = [one.names[0] for one in presets.presets()]


def walked(tree: Tree, path: str = "/") -> Iterator[str]:
    """All files that listings name."""
    for entry in tree.listing(path).entries():
        inside = join(path, entry.name)
        if entry.directory:
            yield from walked(tree, inside)
        else:
            yield inside


def told(tree: Tree) -> Iterator[str]:
    """All files of all clips, in the order of the inventory."""
    for listed in tree.inventory():
        reel = tree.reel(listed)
        for position in range(len(reel)):
            yield join(listed.place.files, reel.names.name(position))


def episode(number: int) -> Clip:
    name = f"episode_{number:06d}"
    return Clip("b.mp4", "top", name, {"camera": "top", "episode_index": number})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_has_the_files_that_a_walk_finds(
    layout: str, videos: Path, service: FakeService
) -> None:
    for name in ("b.mp4", "a.mkv", "a.mp4", "deep/er/c.mp4", "deep/d.mp4", "z/e.mp4"):
        (videos / name).parent.mkdir(parents=True, exist_ok=True)
        write_video(videos / name, Video(frames=3))
    corpus = Corpus(str(videos), freshness=0)
    clips = None
    if layout.startswith("lerobot"):
        clips = FixedClips([episode(n) for n in range(2)], 0)
    view = views_of(override(Settings(), "frames.layout", layout))[""]
    tree = Tree(corpus, service, views={"": view}, clips=clips)
    files = list(told(tree))
    assert len(files) == (6 if clips else 18)
    assert sorted(files) == sorted(walked(tree))


def test_clips_come_in_the_order_of_their_paths(videos: Path, service: FakeService) -> None:
    for name in ("b.mp4", "a-1/x.mp4", "a/x.mp4", "a.mp4"):
        (videos / name).parent.mkdir(parents=True, exist_ok=True)
        write_video(videos / name, Video(frames=1))
    tree = Tree(Corpus(str(videos), freshness=0), service, views={"two": View(), "one": View()})
    paths = [listed.path for listed in tree.inventory()]
    below = ["a/x", "a-1/x", "a_mp4", "b"]
    assert paths == [f"/{view}/{path}" for view in ("one", "two") for path in below]


def test_nothing_is_asked_of_videos(videos: Path, service: FakeService) -> None:
    write_video(videos / "a.mp4", Video(frames=1))
    (videos / "b.mp4").write_bytes(b"no video")
    tree = Tree(Corpus(str(videos), freshness=0), service)
    one, other = tree.inventory()
    assert len(tree.reel(one)) == 1
    with pytest.raises(DecoderError):
        tree.reel(other)
