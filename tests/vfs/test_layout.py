from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfs import layout
from vfs.layout import Naming


def shown(folders: list[str], videos: list[str]) -> dict[str, str]:
    return dict(Naming(folders, videos).sources())


@pytest.mark.parametrize(
    ("folders", "videos", "expected"),
    [
        ([], ["a.mp4", "b.mkv"], {"a": "a.mp4", "b": "b.mkv"}),
        ([], ["a.mkv", "a.mp4"], {"a_mkv": "a.mkv", "a_mp4": "a.mp4"}),
        (["a"], ["a.mp4"], {"a_mp4": "a.mp4"}),
        ([], ["a.b.mp4"], {"a.b": "a.b.mp4"}),
        # Others do not suffer from a clash that they have no part in.
        (
            [],
            ["a.mkv", "a.mp4", "a_mp4.avi"],
            {"a_mkv": "a.mkv", "a.mp4": "a.mp4", "a_mp4": "a_mp4.avi"},
        ),
        (["a", "a_mp4"], ["a.mp4"], {"a.mp4": "a.mp4"}),
        (["a", "a_mp4", "a.mp4"], ["a.mp4"], {"a.mp4~2": "a.mp4"}),
        ([], ["a.MP4", "a.mp4"], {"a_MP4": "a.MP4", "a_mp4": "a.mp4"}),
    ],
)
def test_sources_are_named_by_stem_and_keep_the_extension_on_a_clash(
    folders: list[str], videos: list[str], expected: dict[str, str]
) -> None:
    assert shown(folders, videos) == expected


names = st.text(alphabet="ab_.~2", min_size=1, max_size=6)
video_names = st.builds(lambda stem, ext: f"{stem}.{ext}", names, st.sampled_from(["a", "b", "ab"]))


@given(st.lists(names, unique=True), st.lists(video_names, unique=True), st.randoms())
def test_shown_names_are_unique_complete_and_independent_of_the_order(
    folders: list[str], videos: list[str], random: object
) -> None:
    naming = Naming(folders, videos)
    by_name = dict(naming.sources())
    assert sorted(by_name.values()) == sorted(videos)
    assert not set(by_name) & set(folders)
    assert all(naming.video(name) == video for name, video in by_name.items())
    assert naming.video("no such name") is None
    assert shown(folders[::-1], sorted(videos, key=hash)) == by_name


def test_names_that_are_not_utf8_survive() -> None:
    name = b"\xff\xfe.mp4".decode("utf-8", "surrogateescape")
    assert shown([], [name]) == {name[:-4]: name}


@pytest.mark.parametrize(
    ("count", "digits"), [(18, 6), (1_000_000, 6), (1_000_001, 7), (10_000_001, 8)]
)
def test_digits_widen_for_all_frames_of_a_long_source(count: int, digits: int) -> None:
    assert layout.digits(count) == digits
    assert layout.parse_frame_name(f"{17:0{digits}d}.png", count) == (17, "png")
    assert layout.parse_frame_name(f"{17:0{digits + 1}d}.png", count) is None
    assert layout.parse_frame_name(f"{count - 1:0{digits}d}.npy", count) == (count - 1, "npy")
    assert layout.parse_frame_name(f"{count:0{digits}d}.png", count) is None


@pytest.mark.parametrize(
    "name",
    [
        *("17.png", "0000017.png", "000017.jpg", "000017.PNG", "000017", "000017.png.", ".png"),
        *("-00017.png", "+00017.png", "0_0017.png", " 00017.png", "000017.png\n", "٠٠٠٠١٧.png"),
        "9" * 300 + ".png",
    ],
)
def test_other_spellings_of_a_frame_do_not_exist(name: str) -> None:
    assert layout.parse_frame_name(name, 100) is None


@given(st.integers(1, 10**8), st.data())
def test_parsing_is_the_inverse_of_naming(count: int, data: st.DataObject) -> None:
    frame = data.draw(st.integers(0, count - 1))
    extension = data.draw(st.sampled_from(layout.EXTENSIONS))
    name = layout.frame_name(frame, layout.digits(count), extension)
    assert layout.parse_frame_name(name, count) == (frame, extension)


@given(st.from_regex(r"[0-9]{5,9}\.(png|npy)", fullmatch=True), st.integers(1, 10**8))
def test_naming_is_the_inverse_of_parsing(name: str, count: int) -> None:
    parsed = layout.parse_frame_name(name, count)
    if parsed is not None:
        frame, extension = parsed
        assert layout.frame_name(frame, layout.digits(count), extension) == name
