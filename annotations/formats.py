"""The formats of lists. Each gives the text of a list piece by piece, as its folders come."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from annotations.folders import FrameFolder, number_of

Format: TypeAlias = Callable[[Iterable[FrameFolder], Mapping[str, int]], Iterator[str]]
"""(folders, number of each class) -> pieces of text, to be written one after the other."""


def counted_folders(folders: Iterable[FrameFolder], classes: Mapping[str, int]) -> Iterator[str]:
    """A line ``path frames label`` for each folder: lists of mmaction2's rawframes, TSN and TSM."""
    for folder in folders:
        yield f"{folder.path} {folder.count} {number_of(folder, classes)}\n"


def slowfast(folders: Iterable[FrameFolder], classes: Mapping[str, int]) -> Iterator[str]:
    """PySlowFast's frame lists: a line for each frame, the frames of a video numbered from 0.

    A video without a class has the empty list of labels, written as two quotation marks.
    """
    yield "original_vido_id video_id frame_id path labels\n"
    for number, folder in enumerate(folders):
        label = '""' if folder.label is None else f'"{classes[folder.label]}"'
        for frame, file in enumerate(folder.files()):
            yield f"{folder.path} {number} {frame} {file.path} {label}\n"


def coco(folders: Iterable[FrameFolder], classes: Mapping[str, int]) -> Iterator[str]:
    """COCO's JSON: images and the videos that they are of, no annotations yet.

    Numbers of images, videos and categories begin with 1, those of the frames of a video with 0.
    """
    yield '{"info": {"description": "frames of videos, listed by framefs"},\n"images": ['
    videos: list[dict[str, Any]] = []
    image = 0
    for video, folder in enumerate(folders, 1):
        videos.append({"id": video, "name": folder.path, "length": folder.count})
        for frame, file in enumerate(folder.files()):
            image += 1
            entry = {
                "id": image,
                "file_name": file.path,
                "height": file.height,
                "width": file.width,
                "video_id": video,
                "frame_id": frame,
            }
            yield f"{',' if image > 1 else ''}\n{json.dumps(entry)}"
    categories = [{"id": number + 1, "name": name} for name, number in classes.items()]
    for name, rows in (("videos", videos), ("annotations", []), ("categories", categories)):
        yield f'],\n"{name}": ['
        yield ",".join(f"\n{json.dumps(row)}" for row in rows)
    yield "]}\n"


def imagefolder_csv(folders: Iterable[FrameFolder], classes: Mapping[str, int]) -> Iterator[str]:
    """``metadata.csv`` of an image folder of Hugging Face's: ``file_name`` and ``label``.

    Without any class there is no column for it.
    """
    yield _csv_row("file_name", "label") if classes else _csv_row("file_name")
    for folder in folders:
        for file in folder.files():
            yield _csv_row(file.path, folder.label or "") if classes else _csv_row(file.path)


def jsonl(folders: Iterable[FrameFolder], classes: Mapping[str, int]) -> Iterator[str]:
    """A JSON object a line and frame, which is Hugging Face's ``metadata.jsonl`` as well.

    With the directory as ``video``, the frame's number in it from 0, and its time in seconds.
    """
    for folder in folders:
        for frame, file in enumerate(folder.files()):
            entry: dict[str, Any] = {"file_name": file.path}
            if classes:
                entry["label"] = folder.label
            entry |= {
                "video": folder.path,
                "frame": frame,
                "time": file.time,
                "height": file.height,
                "width": file.width,
            }
            yield f"{json.dumps(entry)}\n"


def _csv_row(*cells: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


FORMATS: Mapping[str, Format] = {
    "mmaction2": counted_folders,
    "tsm": counted_folders,
    "slowfast": slowfast,
    "coco": coco,
    "imagefolder-csv": imagefolder_csv,
    "jsonl": jsonl,
}

COUNTING = frozenset({"mmaction2", "tsm"})
"""Formats that tell of directories and how many frames are in them."""

SPACED = frozenset({"mmaction2", "tsm", "slowfast"})
"""Formats in which spaces separate what a line says: paths must have none."""
