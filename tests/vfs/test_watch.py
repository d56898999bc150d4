from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from decoder.corpus import Corpus
from tests.vfs.conftest import until
from tests.vfs.fakes import FakeService, Video, write_video
from vfs.kernel import KernelView
from vfs.nodes import FrameNode
from vfs.operations import Operations
from vfs.tree import Tree
from vfs.watch import Watcher

FRAME = "/s/a/000001.png"


class Kernel:
    """What has been invalidated."""

    def __init__(self, tree: Tree) -> None:
        self.view = KernelView(60)
        self.operations = Operations(tree, self.view)
        self.forgotten: list[str] = []
        self.watcher = Watcher(tree, self.view, self.forgotten.append, interval=0.01)

    def look(self) -> set[str]:
        """What two looks have had forgotten."""
        self.forgotten.clear()
        self.watcher.look()
        self.watcher.look()
        return set(self.forgotten)


@pytest.fixture
def kernel(tree: Tree) -> Kernel:
    return Kernel(tree)


def test_nothing_is_forgotten_while_nothing_changes(kernel: Kernel, videos: Path) -> None:
    write_video(videos / "s" / "a.mp4")
    for path in ("/", "/s", "/s/a", FRAME):
        kernel.operations.getattr(path)
    assert kernel.look() == set()
    assert kernel.look() == set()


def rewrite(path: Path) -> None:
    path.write_text(path.read_text() + " ")


@pytest.mark.parametrize(
    "change",
    [
        lambda path: write_video(path, Video(seed=1, padding=1)),
        rewrite,
        lambda path: path.unlink(),
        lambda path: path.rename(path.with_name("b.mp4")),
        lambda path: path.parent.rename(path.parent.with_name("t")),
        lambda path: write_video(path.with_suffix(".mkv")),
        lambda path: path.with_suffix("").mkdir(),
    ],
    ids=["replaced", "rewritten", "removed", "renamed", "folder renamed", "clash", "folder clash"],
)
@pytest.mark.parametrize("first_look", [True, False])
def test_whatever_changes_is_forgotten(
    kernel: Kernel, videos: Path, change: Callable[[Path], object], first_look: bool
) -> None:
    path = write_video(videos / "s" / "a.mp4")
    write_video(videos / "s" / "other.mp4")
    for asked in ("/s/a", FRAME, "/s/a/000003.npy", "/s/other/000000.png"):
        kernel.operations.getattr(asked)
    if first_look:
        assert kernel.look() == set()
    change(path)
    forgotten = kernel.look()
    assert {"/s/a", FRAME, "/s/a/000003.npy"} <= forgotten
    assert ("/s/other/000000.png" in forgotten) == (not path.parent.exists())
    assert kernel.look() == set()


def test_a_folder_in_which_something_appears_is_forgotten(kernel: Kernel, videos: Path) -> None:
    (videos / "s").mkdir()
    kernel.operations.getattr("/s")
    kernel.look()
    time.sleep(0.01)
    write_video(videos / "s" / "a.mp4")
    assert kernel.look() == {"/s"}


def test_a_late_reply_under_a_name_that_is_gone_is_forgotten(
    kernel: Kernel, tree: Tree, videos: Path
) -> None:
    path = write_video(videos / "s" / "a.mp4")
    node = tree.node(FRAME)
    assert isinstance(node, FrameNode)
    kernel.operations.getattr("/s")
    write_video(path.with_suffix(".mkv"))
    kernel.look()
    kernel.view.tell_frame(node.reel, node.position)
    assert FRAME in kernel.look()


def test_the_thread_looks_until_it_is_stopped(kernel: Kernel, videos: Path) -> None:
    path = write_video(videos / "s" / "a.mp4")
    kernel.operations.getattr(FRAME)
    kernel.watcher.start()
    path.unlink()
    until(lambda: FRAME in kernel.forgotten)
    assert kernel.watcher.stop()


def test_many_known_sources_cost_a_bounded_share_of_the_time(videos: Path) -> None:
    count = 3000
    for number in range(count):
        write_video(videos / f"{number}.mp4")
    kernel = Kernel(Tree(Corpus(str(videos)), FakeService()))
    for number in range(count):
        kernel.operations.getattr(f"/{number}")
    start = time.process_time()
    for _ in range(10):
        kernel.watcher.look()
    # A budget of 50 ms each, and what looking at the one folder costs.
    assert time.process_time() - start < 3
    # An overwritten file changes nothing in its folder, and is found all the same.
    os.truncate(videos / "1234.mp4", 1)
    time.sleep(0.25)
    until(lambda: "/1234" in kernel.look(), 5)
