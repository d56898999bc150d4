"""Every refusal before anything is mounted: exit status 1, one line, its own words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import MOUNT, run, the_line

pytestmark = pytest.mark.usefixtures("fuse")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    (folder / "inner").mkdir(parents=True)
    (folder / "clip.mp4").write_bytes(b"")
    return folder


@pytest.fixture
def mountpoint(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "mnt"
    folder.mkdir()
    yield folder
    folder.rmdir()


def refusal(source: Path | str, mountpoint: Path | str, *options: str) -> str:
    return the_line(run(*MOUNT, source, mountpoint, *options), 1)


def test_a_missing_corpus(tmp_path: Path, mountpoint: Path) -> None:
    missing = tmp_path / "none"
    assert refusal(missing, mountpoint) == f"{missing}: there is no such corpus; check the path"


def test_a_corpus_that_is_a_file(source: Path, mountpoint: Path) -> None:
    clip = source / "clip.mp4"
    assert refusal(clip, mountpoint) == (
        f"{clip}: the corpus is a file; name the folder that holds the videos"
    )


def test_a_missing_mount_point(source: Path, tmp_path: Path) -> None:
    missing = tmp_path / "none"
    assert refusal(source, missing) == (
        f"{missing}: there is no such mount point; make it with mkdir -p {missing}"
    )


def test_a_mount_point_that_is_no_directory(source: Path) -> None:
    clip = source / "clip.mp4"
    assert refusal(source, clip) == f"{clip}: the mount point is not a directory"
    below = clip / "deeper"
    assert refusal(source, below) == f"{below}: a part of this path is not a directory"


def test_a_mount_point_with_something_in_it(source: Path, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "letter.txt").write_text("hello")
    assert refusal(source, full) == (
        f"{full}: the mount point is not empty; choose an empty folder, "
        "or hide what is in it with -o nonempty"
    )


def test_over_the_corpus_itself(source: Path, tmp_path: Path) -> None:
    message = f"{source}: mounting over the corpus itself would hide it; choose a folder elsewhere"
    assert refusal(source, source) == message
    link = tmp_path / "link"
    link.symlink_to(source)
    assert refusal(link, f"{source}/") == message
    assert refusal(source, source, "-o", "nonempty") == message


def test_inside_the_corpus(source: Path) -> None:
    inner = source / "inner"
    assert refusal(source, inner) == (
        f"{inner}: the mount point lies inside the corpus {source}, which would show itself; "
        "choose a folder elsewhere"
    )


def test_around_the_corpus(source: Path, tmp_path: Path) -> None:
    assert refusal(source, tmp_path) == (
        f"{tmp_path}: the mount would hide the corpus {source}, which lies inside it; "
        "choose a folder elsewhere"
    )


def test_a_sibling_whose_name_begins_alike_is_no_part_of_the_corpus(source: Path) -> None:
    missing = source.with_name("videos-frames")
    assert "there is no such mount point" in refusal(source, missing)


def test_a_log_that_cannot_be_written(source: Path, mountpoint: Path) -> None:
    target = "/none/framefs.log"
    for foreground in ([], ["-f"]):
        assert refusal(source, mountpoint, "-o", f"logging.target={target}", *foreground) == (
            f"logging.target: {target} cannot be written (No such file or directory)"
        )
