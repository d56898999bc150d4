from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from decoder.corpus import Fingerprint, Folder, Source
from tests.vfs.fakes import Video, make_index
from vfs.nodes import FolderNode, FrameNode, SourceNode
from vfs.kernel import Bits, KernelView

INDEX = make_index(Video(frames=100))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def source(number: int) -> Source:
    return Source("/videos/a.mp4", Fingerprint(number, 0))


def frame(version: int, number: int, extension: str = "png") -> FrameNode:
    path = f"/s/a/{number:06d}.{extension}"
    return FrameNode(path, "/s/a", "s/a.mp4", source(version), INDEX, number, extension)


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
    view.tell_frame(frame(1, 7))
    assert not view.is_outdated(frame(1, 7))
    assert not view.is_outdated(frame(1, 8))
    assert view.take_outdated() == []


def test_a_frame_told_in_another_version_is_outdated_until_it_is_told_again() -> None:
    view = KernelView(60)
    for number in (7, 8):
        view.tell_frame(frame(1, number))
    assert view.is_outdated(frame(2, 7))
    assert view.has_moved_on(frame(2, 7))
    view.tell_frame(frame(2, 7))
    assert not view.is_outdated(frame(2, 7))
    assert view.is_outdated(frame(2, 8))
    assert not view.has_moved_on(frame(2, 8))
    assert view.has_moved_on(frame(1, 7))


def test_what_is_outdated_is_handed_out_twice() -> None:
    view = KernelView(60)
    view.tell_frame(frame(1, 7))
    view.tell_frame(frame(1, 7, "npy"))
    view.tell_source(SourceNode("/s/a", "s/a.mp4", source(1)))
    view.outdate("/s/a", source(2))
    assert view.take_outdated() == []
    view.outdate("/s/a", source(1))
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
    view.tell_frame(frame(1, 7))
    view.tell_folder(FolderNode("/s", "s", Folder(5, (), ())))
    assert len(view) == 2
    clock.now = 59
    view.take_outdated()
    assert view.folders() == {"/s": 5}
    assert view.sources_in("/s") == [("/s/a", source(1))]
    clock.now = 67
    view.take_outdated()
    assert len(view) == 0


def test_listed_frames_count_as_told() -> None:
    view = KernelView(60)
    view.tell_frames(SourceNode("/s/a", "s/a.mp4", source(1)), 100, range(3))
    view.outdate("/s/a", source(1))
    assert sorted(view.take_outdated()) == ["/s/a", *(f"/s/a/00000{n}.png" for n in range(3))]


def test_what_is_new_is_to_be_checked_once() -> None:
    view = KernelView(60)
    view.tell_frame(frame(1, 7))
    assert view.take_unchecked() == [("/s/a", source(1))]
    view.tell_frame(frame(1, 8))
    assert view.take_unchecked() == []
