from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from decoder.corpus import source_at
from encoder.corpus import (
    Root,
    check_place,
    fingerprint_text,
    planned,
    remaining,
    with_references,
    with_shares,
)
from encoder.errors import TargetFailed
from encoder.manifest import Manifest
from encoder.settings import Settings
from inspection.sources import find
from tests.encoder.test_manifest import outcome

SETTINGS = Settings.of_profile("compact", crf=20)


def files(folder: Path, *names: str, size: int = 10) -> Path:
    for n, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (size + n))
    return folder


def root(folder: Path, *, follow_symlinks: bool = False) -> Root:
    found = find(str(folder), extensions=["mp4", "mkv", "avi"], follow_symlinks=follow_symlinks)
    return Root(os.path.realpath(folder), tuple(found.sources))


def single(path: Path) -> Root:
    return Root(str(path.parent), (source_at(str(path)),), single=True)


def test_the_tree_is_mirrored_and_the_largest_comes_first(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "a/b/one.mkv", "a/two.mp4", "x.y.avi", "note.txt", ".h.mp4")
    work = planned([root(videos)], str(tmp_path / "out"), SETTINGS)
    assert [unit.target for unit in work.pending] == ["x.y.mp4", "a/two.mp4", "a/b/one.mp4"]
    assert all(unit.settings == SETTINGS for unit in work.pending)
    assert work.refused == []


def test_several_folders_and_videos_go_together(tmp_path: Path) -> None:
    one = files(tmp_path / "one", "a/b.mkv")
    two = files(tmp_path / "two", "a/c.mkv")
    roots = [root(one), root(two), root(one), single(files(tmp_path, "d.avi") / "d.avi")]
    work = planned(roots, str(tmp_path / "out"), SETTINGS)
    assert sorted(unit.target for unit in work.pending) == ["a/b.mp4", "a/c.mp4", "d.mp4"]
    assert work.refused == []


def test_two_that_would_be_one_file_are_refused_by_name(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "a.mkv", "a.mp4", "b.mp4")
    work = planned([root(videos)], str(tmp_path / "out"), SETTINGS)
    assert [unit.target for unit in work.pending] == ["b.mp4"]
    assert work.refused == [
        f"{videos}/a.mkv and {videos}/a.mp4: would both be a.mp4; rename one, or go one by one"
    ]


def test_a_file_where_others_need_a_folder_is_refused(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "a.mkv", "a.mp4/b.mkv")
    work = planned([root(videos)], str(tmp_path / "out"), SETTINGS)
    assert [unit.target for unit in work.pending] == ["a.mp4/b.mp4"]
    assert work.refused == [f"{videos}/a.mkv: a.mp4 is a folder for others; rename one of them"]


@pytest.mark.parametrize(
    "out", ["videos", "videos/new", "videos/new/er", "link", "videos/../videos"]
)
def test_results_in_the_tree_of_the_sources_are_refused(tmp_path: Path, out: str) -> None:
    videos = files(tmp_path / "videos", "a.mkv")
    (tmp_path / "link").symlink_to(videos)
    with pytest.raises(TargetFailed, match="lies in the tree of the sources"):
        check_place([root(videos)], str(tmp_path / out))


def test_results_that_are_a_file_are_refused(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "a.mkv")
    with pytest.raises(TargetFailed, match="not a folder"):
        check_place([root(videos)], str(videos / "a.mkv"))
    check_place([root(videos)], str(tmp_path / "new"))
    check_place([single(videos / "a.mkv")], str(videos))


def test_a_result_over_a_source_is_refused(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "a.mkv", "b.mp4")
    roots = [single(videos / "a.mkv"), single(videos / "b.mp4")]
    work = planned(roots, str(videos), SETTINGS)
    assert [unit.target for unit in work.pending] == ["a.mp4"]
    assert work.refused == [
        f"{videos}/b.mp4: {videos}/b.mp4 is itself a source; choose another folder for the results"
    ]


def test_a_folder_of_the_results_that_leads_back_is_refused(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "a/b.mkv")
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").symlink_to(videos / "a")
    work = planned([root(videos)], str(out), SETTINGS)
    assert work.pending == []
    assert work.refused[0].startswith(
        f"{videos}/a/b.mkv: {out}/a/b.mp4 lies in the tree of the sources, {videos}"
    )


def test_only_what_was_done_in_this_version_and_way_is_passed_over(tmp_path: Path) -> None:
    videos = files(
        tmp_path / "videos", "same.mkv", "changed.mkv", "other.mkv", "gone.mkv", "new.mkv"
    )
    out = tmp_path / "out"
    work = planned([root(videos)], str(out), SETTINGS)
    with Manifest(str(out)) as manifest:
        for unit in work.pending:
            if unit.target != "new.mp4":
                (out / unit.target).write_bytes(b"result")
                told = {"fingerprint": fingerprint_text(unit.source), "settings": SETTINGS}
                if unit.target == "changed.mp4":
                    told["fingerprint"] = "1-2"
                if unit.target == "other.mp4":
                    told["settings"] = SETTINGS.replaced(crf=21)
                manifest.begin(unit.target, unit.path)
                manifest.finish(unit.target, msgspec.structs.replace(outcome(6), **told))
        (out / "gone.mp4").unlink()
        left = remaining(work, manifest, str(out))
    assert [unit.target for unit, _ in left.done] == ["same.mp4"]
    assert sorted(unit.target for unit in left.pending) == [
        "changed.mp4", "gone.mp4", "new.mp4", "other.mp4",
    ]  # fmt: skip
    assert left.refused == []


def test_what_was_there_before_is_left_alone(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "a.mkv", "b.mkv")
    out = files(tmp_path / "out", "a.mp4")
    work = planned([root(videos)], str(out), SETTINGS)
    with Manifest(str(out)) as manifest:
        left = remaining(work, manifest, str(out))
    assert [unit.target for unit in left.pending] == ["b.mp4"]
    assert left.refused == [f"{videos}/a.mkv: {out}/a.mp4 is there and not from here; move it away"]


def test_references_are_found_by_name(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "s/a.mkv", "s/b.mkv", "s/c.mkv")
    folder = files(tmp_path / "lerobot", "s/a.mp4", "s/b.avi", "s/b.mp4", "s/c.txt")
    work = planned([root(videos)], str(tmp_path / "out"), SETTINGS)
    work = with_references(work, str(folder), ["mp4", "avi"])
    assert [unit.settings.like for unit in work.pending] == [f"{folder}/s/a.mp4"]
    assert sorted(work.refused) == [
        f"{videos}/s/b.mkv: {folder}/s/b.avi and {folder}/s/b.mp4 in {folder} to be like",
        f"{videos}/s/c.mkv: no video in {folder} to be like",
    ]


def test_shares_are_of_each_source(tmp_path: Path) -> None:
    videos = files(tmp_path / "videos", "a.mkv", "b.mkv", size=1000)
    work = with_shares(planned([root(videos)], str(tmp_path / "out"), SETTINGS), 0.25)
    assert [unit.settings.target_size for unit in work.pending] == [250, 250]
