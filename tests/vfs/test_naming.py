from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfs.clips import Clip
from vfs.naming import Naming
from vfs.template import Template

STEM = Template.parse("{stem}")


def naming(folders: list[str], videos: list[str], template: str = "{stem}") -> Naming:
    clips = [Clip(name, "", name) for name in videos]
    return Naming(folders, clips, Template.parse(template))


def shown(folders: list[str], videos: list[str], template: str = "{stem}") -> dict[str, str]:
    return {one.shown: one.clip.name for one in naming(folders, videos, template).clips()}


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
def test_clips_are_named_by_stem_and_keep_the_extension_on_a_clash(
    folders: list[str], videos: list[str], expected: dict[str, str]
) -> None:
    assert shown(folders, videos) == expected


@pytest.mark.parametrize(
    ("template", "folders", "expected"),
    [
        ("{name}", [], {"a.mkv": "a.mkv", "a.mp4": "a.mp4"}),
        ("{name}", ["a.mp4"], {"a.mkv": "a.mkv", "a.mp4~2": "a.mp4"}),
        ("v-{stem}", ["a"], {"v-a_mkv": "a.mkv", "v-a_mp4": "a.mp4"}),
    ],
)
def test_a_clash_is_one_of_the_names_that_the_template_makes(
    template: str, folders: list[str], expected: dict[str, str]
) -> None:
    assert shown(folders, ["a.mkv", "a.mp4"], template) == expected


def test_what_fields_of_a_file_mean_follows_the_name_of_the_clip() -> None:
    named = naming([], ["a.mkv", "a.mp4"]).named("a_mp4")
    assert named is not None
    assert named.values == {"stem": "a_mp4", "name": "a.mp4"}


def test_fields_of_a_data_set_name_its_clips() -> None:
    clips = [Clip("v.mp4", "top", f"e{n}", {"episode": n}) for n in (3, 4)]
    made = Naming((), clips, Template.parse("episode_{episode:06d}"))
    assert [one.shown for one in made.clips()] == ["episode_000003", "episode_000004"]


def test_clips_with_the_same_name_in_different_folders_are_told_apart() -> None:
    clips = [Clip(f"{folder}/a.mp4", folder, "a.mp4") for folder in ("x", "y", "z")]
    names = [one.shown for one in Naming((), clips, STEM).clips()]
    assert len(set(names)) == 3
    assert set(names) == {one.shown for one in Naming((), clips[::-1], STEM).clips()}
    fixed = Template.parse("{episode}")
    same = [Clip("v.mp4", folder, "e", {"episode": 1}) for folder in ("x", "y")]
    assert len({one.shown for one in Naming((), same, fixed).clips()}) == 2


names = st.text(alphabet="ab_.~2", min_size=1, max_size=6)
video_names = st.builds(lambda stem, ext: f"{stem}.{ext}", names, st.sampled_from(["a", "b", "ab"]))


@given(
    st.lists(names, unique=True),
    st.lists(video_names, unique=True),
    st.sampled_from(["{stem}", "{name}", "x{stem}"]),
)
def test_shown_names_are_unique_complete_and_independent_of_the_order(
    folders: list[str], videos: list[str], template: str
) -> None:
    made = naming(folders, videos, template)
    by_name = {one.shown: one for one in made.clips()}
    assert sorted(one.clip.name for one in by_name.values()) == sorted(videos)
    assert not set(by_name) & set(folders)
    assert all(made.named(name) is one for name, one in by_name.items())
    assert made.named("no such name") is None
    again = shown(folders[::-1], sorted(videos, key=hash), template)
    assert again == {name: one.clip.name for name, one in by_name.items()}


def test_names_that_are_not_utf8_survive() -> None:
    name = b"\xff\xfe.mp4".decode("utf-8", "surrogateescape")
    assert shown([], [name]) == {name[:-4]: name}
