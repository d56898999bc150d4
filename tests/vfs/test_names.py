from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfs.errors import WrongLayout
from vfs.layout import Layout, Widen
from vfs.names import Column, FrameNames

EXTENSIONS = ("png", "npy")


def named(
    file: str,
    count: int,
    *,
    start: int = 0,
    digits: int = 6,
    widen: Widen = "source",
    directory: str = "{parent}/{stem}",
    columns: Mapping[str, Column] | None = None,
) -> FrameNames:
    layout = Layout.of(directory, file, start=start, digits=digits, widen=widen)
    given = {"number": range(start, start + count), "index": range(count), **(columns or {})}
    return FrameNames(layout, {"stem": "clip"}, EXTENSIONS, given.__getitem__, "clip.mp4")


@pytest.mark.parametrize(
    ("count", "digits"), [(18, 6), (1_000_000, 6), (1_000_001, 7), (10_000_001, 8)]
)
def test_digits_widen_for_all_frames_of_a_long_source(count: int, digits: int) -> None:
    names = named("{number}", count)
    assert names.parse(f"{17:0{digits}d}.png") == (17, 0)
    assert names.parse(f"{17:0{digits + 1}d}.png") is None
    assert names.parse(f"{count - 1:0{digits}d}.npy") == (count - 1, 1)
    assert names.parse(f"{count:0{digits}d}.png") is None


def test_or_for_the_numbers_alone_that_need_it() -> None:
    names = named("img_{number:05d}", 100_000, start=1, widen="number")
    assert names.name(0) == "img_00001.png"
    assert names.name(99_999) == "img_100000.png"
    assert names.parse("img_100000.png") == (99_999, 0)
    assert names.parse("img_000001.png") is None
    # As Python, C and ffmpeg write them.
    assert [names.name(n, 0) for n in (0, 9_998, 99_999)] == [
        f"img_{n + 1:05}.png" for n in (0, 9_998, 99_999)
    ]


def test_or_the_source_is_refused() -> None:
    assert named("{number:05d}", 100_000, widen="never").name(99_999) == "99999.png"
    with pytest.raises(WrongLayout, match=r"clip\.mp4: 100001 frames need 6 digits, and who reads"):
        named("{number:05d}", 100_001, widen="never")


@pytest.mark.parametrize(
    "name",
    [
        *("17.png", "0000017.png", "000017.jpg", "000017.PNG", "000017", "000017.png.", ".png"),
        *("-00017.png", "+00017.png", "0_0017.png", " 00017.png", "000017.png\n", "٠٠٠٠١٧.png"),
        "9" * 300 + ".png",
        "9" * 19 + ".png",
    ],
)
def test_other_spellings_of_a_frame_do_not_exist(name: str) -> None:
    assert named("{number}", 100).parse(name) is None
    times = {"pts": np.arange(100) * 512}
    assert named("{pts}", 100, columns=times).parse(name) is None


def test_every_field_of_a_name_must_be_right() -> None:
    columns: dict[str, Column] = {"pts": np.array([-512, 0, 512]), "time_ms": np.array([0, 3, 7])}
    names = named("{stem}_{number:03d}@{pts}_{time_ms:02d}%{index}", 3, start=1, columns=columns)
    assert names.name(0) == "clip_001@-00512_00%000000.png"
    assert names.name(2, 1) == "clip_003@000512_07%000002.npy"
    assert names.parse("clip_003@000512_07%000002.npy") == (2, 1)
    for wrong in (
        "clip_003@000512_07%000001.npy",
        "clip_003@000511_07%000002.npy",
        "clip_003@000512_08%000002.npy",
        "clop_003@000512_07%000002.npy",
        "clip_000@-00512_00%000000.png",
        "clip_004@000512_07%000002.npy",
    ):
        assert names.parse(wrong) is None


def test_frames_that_would_have_one_name_are_refused_with_the_two() -> None:
    times: dict[str, Column] = {"pts": np.array([0, 512, 1024, 512])}
    with pytest.raises(WrongLayout, match=r"frames 1 and 3 would be the same.* pts 512; name"):
        named("{pts}", 4, columns=times)
    # With a number in it they are told apart.
    names = named("{pts}-{number}", 4, columns=times)
    assert names.parse("000512-000003.png") == (3, 0)
    assert names.parse("000512-000001.png") == (1, 0)
    repeated: dict[str, Column] = {"index": np.array([0, 0, 1, 1])}
    with pytest.raises(WrongLayout, match=r"frames 0 and 1 would be the same.* index 0; name"):
        named("{index}", 4, columns=repeated)


def test_a_clip_without_frames_has_no_names() -> None:
    assert named("{number}", 0).count == 0
    assert named("{number}", 0).parse("000000.png") is None


FILES = (
    *("{number}", "img_{number:05d}", "{stem}{number:03d}x"),
    *("{index}_{number}", "a{pts}", "{pts}-{index:02d}"),
)


@given(
    st.sampled_from(FILES),
    st.integers(1, 10**8),
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.sampled_from(["source", "number"]),
    st.data(),
)
def test_parsing_is_the_inverse_of_naming(
    file: str, count: int, start: int, digits: int, widen: Widen, data: st.DataObject
) -> None:
    columns: dict[str, Column] = {"pts": range(-7, -7 + 3 * count, 3)}
    names = named(file, count, start=start, digits=digits, widen=widen, columns=columns)
    one, other = data.draw(st.lists(st.integers(0, count - 1), min_size=2, max_size=2))
    choice = data.draw(st.integers(0, 1))
    assert names.parse(names.name(one, choice)) == (one, choice)
    assert (names.name(one) == names.name(other)) == (one == other)
    if widen == "source" and "pts" not in file:
        # Names in order are frames in order.
        assert (names.name(one) < names.name(other)) == (one < other)


@given(
    st.sampled_from(FILES),
    st.from_regex(r"[a-z_]{0,5}-?[0-9]{1,9}[_x-]?[0-9]{0,9}\.(png|npy)", fullmatch=True),
    st.integers(1, 10**8),
    st.integers(0, 1000),
)
def test_naming_is_the_inverse_of_parsing(file: str, name: str, count: int, start: int) -> None:
    columns: dict[str, Column] = {"pts": range(0, 512 * count, 512)}
    names = named(file, count, start=start, columns=columns)
    parsed = names.parse(name)
    if parsed is not None:
        assert names.name(*parsed) == name


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=50, unique=True))
def test_timestamps_in_any_order_lead_back_to_their_frames(pts: list[int]) -> None:
    names = named("{pts}", len(pts), columns={"pts": np.array(pts)})
    for position in range(len(pts)):
        assert names.parse(names.name(position)) == (position, 0)
