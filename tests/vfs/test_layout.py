from __future__ import annotations

from pathlib import Path

import pytest

from decoder.corpus import Corpus
from tests.vfs.fakes import write_video
from vfs.catalog import CorpusClips, FixedClips, walk
from vfs.clips import Clip
from vfs.collisions import check
from vfs.errors import WrongLayout
from vfs.layout import Layout


@pytest.mark.parametrize(
    ("directory", "parts"),
    [
        ("{parent}/{stem}", ((), False, (), "{stem}", ())),
        ("{relpath}", ((), False, (), "{name}", ())),
        ("JPEGImages/480p/{parent}/{stem}", (("JPEGImages", "480p"), False, (), "{stem}", ())),
        ("{parent}/rgb_frames/{stem}", ((), False, ("rgb_frames",), "{stem}", ())),
        ("/a/{parent}/b/c/v_{name}/d/", (("a",), False, ("b", "c"), "v_{name}", ("d",))),
        ("{parent}", ((), False, (), None, ())),
        ("{parent}/all", ((), False, ("all",), None, ())),
        ("{stem}", ((), True, (), "{stem}", ())),
        ("a/{stem}/b", (("a",), True, (), "{stem}", ("b",))),
        ("", ((), True, (), None, ())),
        ("a/b", (("a", "b"), True, (), None, ())),
    ],
)
def test_the_parts_of_a_directory(directory: str, parts: tuple[object, ...]) -> None:
    layout = Layout.of(directory, "{stem}_{number}")
    clip = None if layout.clip is None else layout.clip.text
    assert (layout.above, layout.flat, layout.between, clip, layout.below) == parts


@pytest.mark.parametrize(
    ("directory", "file", "message"),
    [
        ("{parent}/{stem}", "img", "frames 0 and 1 of a clip would both be img; add {number:06d}"),
        ("{parent}", "{number}", "frame 0 of a.mp4 and of b.mp4 would both be 0"),
        ("", "{index}", "frame 0 of a.mp4 and of b.mp4 would both be 0"),
        ("{parent}", "{stem}{number}", 'would both be "a1000002"'),
        ("{parent}", "{stem}7{number}", 'would both be "a717000002"'),
        ("{parent}", "{number}{stem}", 'would both be "1000001a"'),
        (
            "{parent}/{stem}",
            "{number}{index}",
            "{number}{index} is ambiguous: 11 with 1",
        ),
        ("{parent}", "{stem}_{name}_{number}", "have one of {stem} and {name}, once"),
        ("{parent}/{number}", "{number}", "{number} belongs to the file"),
        ("{stem}/{parent}", "{number}", "{parent} goes once, and before the clip"),
        ("{parent}/{parent}/{stem}", "{number}", "{parent} goes once, and before the clip"),
        ("a{parent}/{stem}", "{number}", "{parent} stands alone between two /"),
        ("{stem}/{name}", "{number}", "both {stem} and {name} name a clip"),
        ("../{stem}", "{number}", ".. is no name for a directory"),
        ("{parent}/{stem}", "a/{number}", "a file name has no /"),
        ("{parent}/{stem}", "{parent}_{number}", "{parent} and {relpath} belong to the directory"),
    ],
)
def test_a_layout_under_which_frames_would_meet_is_refused_with_an_example(
    directory: str, file: str, message: str
) -> None:
    with pytest.raises(WrongLayout) as caught:
        Layout.of(directory, file)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def clips(videos: Path) -> CorpusClips:
    write_video(videos / "a" / "x.mp4")
    write_video(videos / "b" / "y.mp4")
    return CorpusClips(Corpus(str(videos), freshness=0))


def test_the_clips_of_a_corpus_are_its_videos(clips: CorpusClips) -> None:
    folders = dict(walk(clips))
    assert list(folders) == ["", "a", "b"]
    assert folders["a"].clips == (Clip("a/x.mp4", "a", "x.mp4"),)


def test_without_the_folders_namesakes_would_meet(clips: CorpusClips, videos: Path) -> None:
    flat = Layout.of("{stem}", "{number}")
    check(flat, clips)
    write_video(videos / "b" / "x.mkv")
    with pytest.raises(WrongLayout, match=r"a/x\.mp4 and b/x\.mkv would both be x; add \{parent\}"):
        check(flat, clips)
    check(Layout.of("{parent}/{stem}", "{number}"), clips)
    check(Layout.of("{name}", "{number}"), clips)
    with pytest.raises(WrongLayout, match=r"a/x\.mp4 and b/x\.mkv would both be x"):
        check(Layout.of("", "{stem}_{number}"), clips)


def test_a_fixed_directory_may_not_meet_a_folder(clips: CorpusClips, videos: Path) -> None:
    layout = Layout.of("{parent}/rgb/{stem}", "{number}")
    (videos / "rgb").mkdir()
    check(layout, clips)  # the root has no clips, and so no directory rgb
    (videos / "a" / "rgb").mkdir()
    with pytest.raises(WrongLayout, match=r"of a/ into a directory rgb/, .* of that name: a/rgb"):
        check(layout, clips)


def test_fields_that_clips_do_not_have_are_refused(clips: CorpusClips) -> None:
    layout = Layout.of("{parent}/episode_{episode:06d}", "{number}")
    with pytest.raises(WrongLayout, match=r"there is no field \{episode\} in this corpus; there"):
        check(layout, clips)
    episodes = [Clip("v.mp4", "top", f"e{n}", {"episode": n}) for n in range(3)]
    check(layout, FixedClips(episodes, 0))


def test_listed_clips_lie_in_their_folders() -> None:
    listed = [Clip("v.mp4", "a/b", "one"), Clip("v.mp4", "a", "two"), Clip("w.mp4", "", "three")]
    clips = FixedClips(listed, 7)
    folders = {
        path: (set(folder.folders), [clip.name for clip in folder.clips])
        for path, folder in walk(clips)
    }
    assert folders == {"": ({"a"}, ["three"]), "a": ({"b"}, ["two"]), "a/b": (set(), ["one"])}
    assert clips.folder("a").mtime_ns == 7
