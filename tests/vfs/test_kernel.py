from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from decoder.corpus import Fingerprint, Source
from tests.vfs.fakes import Video, make_index
from vfs.catalog import FixedClips
from vfs.clips import Clip, ClipFolder
from vfs.kernel import Bits, KernelView
from vfs.layout import Layout
from vfs.naming import Named
from vfs.nodes import Branch, ClipNode, FolderNode, FrameNode
from vfs.reel import Place, Reel
from vfs.view import View

INDEX = make_index(Video(frames=100))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def source(number: int) -> Source:
    return Source("/videos/a.mp4", Fingerprint(number, 0))


BRANCH = Branch(0, View(), "", FixedClips([], 0), None)
NAMED = Named(Clip("s/a.mp4", "s", "a.mp4"), "a", "a", "a.mp4")
PLACE = Place("/s", "a", ("/s/a",))
EXTENSIONS = ["png", "npy"]


def clip(version: int) -> ClipNode:
    return ClipNode("/s/a", BRANCH, NAMED, PLACE, source(version), 0)


def frame(version: int, number: int, extension: str = "png") -> FrameNode:
    reel = Reel(BRANCH.view, PLACE, NAMED, source(version), INDEX)
    path = f"/s/a/{number:06d}.{extension}"
    return FrameNode(path, BRANCH, reel, number, EXTENSIONS.index(extension))


def tell(view: KernelView, node: FrameNode) -> None:
    view.tell_frame(node.reel, node.position, node.choice)


@given(st.sets(st.integers(0, 5000)), st.sets(st.integers(0, 5000)), st.integers(0, 6000))
def test_bits_are_a_set(first: set[int], second: set[int], probe: int) -> None:
    one, other = Bits(), Bits()
    for number in first:
        one.add(number)
    for number in second:
        other.add(number)
    assert set(one) == first
    assert bool(one) == bool(first)
    one.update(other)
    assert set(one) == first | second
    assert (probe in one) == (probe in first | second)
    assert set(other) == second


def test_nothing_is_outdated_while_nothing_changes() -> None:
    view = KernelView(60)
    tell(view, frame(1, 7))
    assert not view.is_outdated(frame(1, 7))
    assert not view.is_outdated(frame(1, 8))
    assert view.take_outdated() == []


def test_a_frame_told_in_another_version_is_outdated_until_it_is_told_again() -> None:
    view = KernelView(60)
    for number in (7, 8):
        tell(view, frame(1, number))
    assert view.is_outdated(frame(2, 7))
    assert view.has_moved_on(frame(2, 7))
    tell(view, frame(2, 7))
    assert not view.is_outdated(frame(2, 7))
    assert view.is_outdated(frame(2, 8))
    assert not view.has_moved_on(frame(2, 8))
    assert view.has_moved_on(frame(1, 7))


def test_what_is_outdated_is_handed_out_twice() -> None:
    view = KernelView(60)
    tell(view, frame(1, 7))
    tell(view, frame(1, 7, "npy"))
    view.tell_clip(clip(1))
    view.outdate(PLACE, source(2))
    assert view.take_outdated() == []
    view.outdate(PLACE, source(1))
    assert view.is_outdated(frame(2, 7))
    expected = ["/s/a", "/s/a/000007.npy", "/s/a/000007.png"]
    assert sorted(view.take_outdated()) == expected
    assert sorted(view.take_outdated()) == expected
    assert view.take_outdated() == []
    assert len(view) == 0
    assert not view.is_outdated(frame(2, 7))


def test_the_record_lasts_as_long_as_the_kernel_believes() -> None:
    clock = Clock()
    view = KernelView(60, clock)
    tell(view, frame(1, 7))
    view.tell_folder(FolderNode("/s", BRANCH, "s", ClipFolder(5, frozenset(), ())))
    assert len(view) == 2
    clock.now = 59
    view.take_outdated()
    assert view.folders() == {"/s": 5}
    assert view.clips_in("/s") == [(PLACE, source(1))]
    clock.now = 67
    view.take_outdated()
    assert len(view) == 0


def test_listed_frames_count_as_told() -> None:
    view = KernelView(60)
    reel = frame(1, 0).reel
    for position in range(3):
        view.tell_frame(reel, position)
    view.outdate(PLACE, source(1))
    assert sorted(view.take_outdated()) == ["/s/a", *(f"/s/a/00000{n}.png" for n in range(3))]


def test_what_is_new_is_to_be_checked_once() -> None:
    view = KernelView(60)
    tell(view, frame(1, 7))
    assert view.take_unchecked() == [(PLACE, source(1))]
    tell(view, frame(1, 8))
    assert view.take_unchecked() == []


def test_clips_that_share_a_directory_leave_it_alone() -> None:
    view = KernelView(60)
    shared = View(Layout.of("{parent}", "{stem}_{number}"))
    for stem in ("a", "b"):
        named = Named(Clip(f"s/{stem}.mp4", "s", f"{stem}.mp4"), stem, stem, f"{stem}.mp4")
        reel = Reel(shared, Place("/s", stem, ()), named, source(1), INDEX)
        view.tell_frame(reel, 4)
        view.tell_frame(reel, 4, 1)
    view.outdate(Place("/s", "a", ()), source(1))
    assert sorted(view.take_outdated()) == ["/s/a_000004.npy", "/s/a_000004.png"]
    assert view.clips_in("/s") == [(Place("/s", "b", ()), source(1))]
