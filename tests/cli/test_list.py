"""The real command: lists of a corpus, and what a mount with the same layout shows of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.commands import FRAMEFS, ROOT, run, the_line
from tests.clips import write_clip
from tests.mounting import mounted

VIDEOS: Mapping[str, int] = {"eat/b.mp4": 5, "eat/a.mp4": 4, "run/c.mp4": 6, "loose.mp4": 3}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    root = tmp_path / "videos"
    for name, frames in VIDEOS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_clip(path, frames=frames)
    return root


def listed(corpus: Path, form: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    index = corpus.parent / "index.sqlite"
    return run(*FRAMEFS, "list", corpus, "--as", form, "--index", index, *arguments)


def test_folders_with_counts_and_labels(corpus: Path) -> None:
    result = listed(corpus, "mmaction2")
    assert result.returncode == 0, result
    assert result.stdout.splitlines() == ["eat/a 4 0", "eat/b 5 0", "loose 3 -1", "run/c 6 1"]
    assert result.stderr == ""
    assert listed(corpus, "mmaction2").stdout == result.stdout


@pytest.mark.parametrize(
    ("form", "layout", "arguments"),
    [
        ("slowfast", "slowfast", ()),
        ("coco", "default", ()),
        ("coco", "sam2", ("--layout", "sam2")),
        ("jsonl", "imagefolder", ()),
        ("jsonl", "default", ("-o", "frames.stride=2")),
    ],
)
def test_paths_are_those_of_a_mount(
    form: str, layout: str, arguments: tuple[str, ...], fuse: None, corpus: Path
) -> None:
    result = listed(corpus, form, *arguments)
    assert result.returncode == 0, result
    text = result.stdout
    if form == "slowfast":
        paths = [line.split()[3] for line in text.splitlines()[1:]]
    elif form == "coco":
        paths = [image["file_name"] for image in json.loads(text)["images"]]
    else:
        paths = [json.loads(line)["file_name"] for line in text.splitlines()]
    options = ("-o", "frames.stride=2") if "frames.stride=2" in arguments else ()
    if options:
        layout = "imagefolder"
    with mounted(corpus, "--layout", layout, *options) as mount:
        shown = {str(p.relative_to(mount)) for p in mount.rglob("*") if p.is_file()}
        assert set(paths) == shown
        assert len(paths) == len(shown)


def test_sizes_are_those_of_the_view(corpus: Path) -> None:
    document = json.loads(listed(corpus, "coco", "-o", "frames.resize=48").stdout)
    assert {(image["width"], image["height"]) for image in document["images"]} == {(64, 48)}
    assert [video["length"] for video in document["videos"]] == [4, 5, 3, 6]


def test_prefix_and_output(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "train.txt"
    result = listed(corpus, "tsm", "--prefix", "frames/train", "--output", output)
    assert (result.returncode, result.stdout) == (0, "")
    assert output.read_text().splitlines()[0] == "frames/train/eat/a 4 0"
    assert [path.name for path in tmp_path.glob("train.txt*")] == ["train.txt"]
    missing = listed(corpus, "tsm", "--output", tmp_path / "no" / "file")
    assert "cannot be written" in the_line(missing, 1)


def test_what_cannot_be_read_is_named_and_left_out(corpus: Path) -> None:
    (corpus / "eat" / "broken.mp4").write_bytes(b"no video")
    write_clip(corpus / "two words.mp4", frames=2)
    result = listed(corpus, "mmaction2")
    assert result.returncode == 1
    assert result.stdout.splitlines() == ["eat/a 4 0", "eat/b 5 0", "loose 3 -1", "run/c 6 1"]
    broken, spaced = sorted(result.stderr.splitlines())
    assert "eat/broken.mp4" in broken
    assert "two words: a path with a space cannot be said in a list for mmaction2" in spaced
    document = json.loads(listed(corpus, "coco").stdout)
    assert [video["name"] for video in document["videos"]] == [
        *("eat/a", "eat/b", "loose", "run/c", "two words"),
    ]


def test_classes_keep_their_numbers(corpus: Path, tmp_path: Path) -> None:
    classes = tmp_path / "classes.txt"
    assert listed(corpus, "tsm", "--classes", classes).returncode == 0
    assert classes.read_text() == "eat\nrun\n"
    other = tmp_path / "other"
    (other / "run").mkdir(parents=True)
    write_clip(other / "run" / "d.mp4", frames=3)
    assert listed(other, "tsm", "--classes", classes).stdout == "run/d 3 1\n"
    (other / "run").rename(other / "sit")
    assert "there is no class sit" in the_line(listed(other, "tsm", "--classes", classes), 1)


def test_wrong_use(corpus: Path, tmp_path: Path) -> None:
    assert "--as" in the_line(run(*FRAMEFS, "list", corpus), 2)
    assert "no layout" in the_line(listed(corpus, "coco", "--layout", "nothing"), 2)
    result = listed(corpus, "mmaction2", "--layout", "imagefolder")
    assert result.returncode == 1
    assert "this layout has none for a video" in result.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "there is no video in it" in the_line(listed(empty, "coco"), 1)


def test_a_reader_that_has_enough(corpus: Path, tmp_path: Path) -> None:
    write_clip(corpus / "long.mp4", frames=3000, size=(32, 24), gop=250)
    index = str(tmp_path / "index.sqlite")
    command = [*FRAMEFS, "list", str(corpus), "--as", "jsonl", "--index", index]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "eat/a_000000.png" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
