"""Lists, read as the loaders that they are for read them."""

from __future__ import annotations

import csv
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotations.folders import FrameFile, FrameFolder, numbered
from annotations.formats import FORMATS


def folder(path: str, label: str | None, count: int) -> FrameFolder:
    def files() -> Iterator[FrameFile]:
        for n in range(count):
            yield FrameFile(f"{path}/img_{n + 1:05d}.jpg", 48 + n, 64, n / 4 if n else None)

    return FrameFolder(path, label, count, files)


FOLDERS = [
    folder("run/b", "run", 3),
    folder("run/c", "run", 4),
    folder("eat/a", "eat", 2),
    folder("loose", None, 1),
]


def text(name: str, folders: list[FrameFolder] = FOLDERS) -> str:
    classes = numbered(one.label for one in folders)
    return "".join(FORMATS[name](folders, classes))


def test_classes_are_numbered_as_torchvision_numbers_them() -> None:
    assert numbered(["b", None, "a", "B", "a"]) == {"B": 0, "a": 1, "b": 2}


def test_mmaction2_rawframes() -> None:
    """As RawframeDataset.load_data_list does, without offsets."""
    entries = []
    for line in text("mmaction2").splitlines():
        frame_dir, total_frames, *labels = line.strip().split()
        entries.append((os.path.join("/mnt", frame_dir), int(total_frames), list(map(int, labels))))
    assert entries == [
        ("/mnt/run/b", 3, [1]),
        ("/mnt/run/c", 4, [1]),
        ("/mnt/eat/a", 2, [0]),
        ("/mnt/loose", 1, [-1]),
    ]


def test_tsm() -> None:
    """As TSNDataSet._parse_list does, which leaves out videos of less than three frames."""
    rows = [line.strip().split(" ") for line in text("tsm").splitlines()]
    records = [(row[0], int(row[1]), int(row[2])) for row in rows if int(row[1]) >= 3]
    assert records == [("run/b", 3, 1), ("run/c", 4, 1)]


def test_slowfast() -> None:
    """As slowfast.datasets.utils.load_image_lists does."""
    lines = iter(text("slowfast").splitlines())
    assert next(lines).startswith("original_vido_id")
    paths: dict[str, list[str]] = defaultdict(list)
    labels: dict[str, list[list[int]]] = defaultdict(list)
    for line in lines:
        row = line.split()
        assert len(row) == 5
        paths[row[0]].append(os.path.join("/mnt", row[3]))
        frame_labels = row[-1].replace('"', "")
        labels[row[0]].append([int(x) for x in frame_labels.split(",")] if frame_labels else [])
    assert list(paths) == ["run/b", "run/c", "eat/a", "loose"]
    assert paths["eat/a"] == ["/mnt/eat/a/img_00001.jpg", "/mnt/eat/a/img_00002.jpg"]
    assert labels["run/b"] == [[1], [1], [1]]
    assert labels["loose"] == [[]]


def test_coco_through_its_own_reader(tmp_path: Path) -> None:
    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    path = tmp_path / "instances.json"
    path.write_text(text("coco"))
    read = coco.COCO(str(path))
    images = read.loadImgs(read.getImgIds())
    assert [image["file_name"] for image in images] == [
        file.path for one in FOLDERS for file in one.files()
    ]
    assert [category["name"] for category in read.loadCats(read.getCatIds())] == ["eat", "run"]


def test_coco_is_complete_json() -> None:
    document = json.loads(text("coco"))
    assert [image["id"] for image in document["images"]] == list(range(1, 11))
    assert document["images"][3] == {
        "id": 4,
        "file_name": "run/c/img_00001.jpg",
        "height": 48,
        "width": 64,
        "video_id": 2,
        "frame_id": 0,
    }
    assert document["videos"][1] == {"id": 2, "name": "run/c", "length": 4}
    assert document["categories"] == [{"id": 1, "name": "eat"}, {"id": 2, "name": "run"}]
    assert json.loads(text("coco", []))["images"] == []


def test_imagefolder_csv() -> None:
    rows = list(csv.DictReader(text("imagefolder-csv").splitlines()))
    assert rows[0] == {"file_name": "run/b/img_00001.jpg", "label": "run"}
    assert rows[-1] == {"file_name": "loose/img_00001.jpg", "label": ""}
    assert len(rows) == 10
    (awkward,) = csv.DictReader(text("imagefolder-csv", [folder('a "b", c', None, 1)]).splitlines())
    assert awkward == {"file_name": 'a "b", c/img_00001.jpg'}


def test_jsonl() -> None:
    rows: list[dict[str, Any]] = [json.loads(line) for line in text("jsonl").splitlines()]
    assert len(rows) == 10
    assert rows[1] == {
        "file_name": "run/b/img_00002.jpg",
        "label": "run",
        "video": "run/b",
        "frame": 1,
        "time": 0.25,
        "height": 49,
        "width": 64,
    }
    assert rows[0]["time"] is None
    assert "label" not in json.loads(text("jsonl", [folder("a", None, 1)]))
