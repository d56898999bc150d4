"""Data sets on disk to clips: every step gets the frame that shows it."""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow as pa
import pyarrow.parquet as pq

from decoder import FrameReader
from decoder.corpus import source_at
from decoder.index import SourceIndex
from decoder.indexing import index_source
from tests.clips import Barcode, read_barcode, write_clip
from tests.lerobot_sets import CAMERAS, FPS, write_concatenated, write_separate
from vfs import lerobot
from vfs.clips import Clip
from vfs.errors import DataSetUnreadable
from vfs.steps import first_frame

LENGTHS = (7, 12, 1, 9, 5)


def clips_of(root: Path) -> list[Clip]:
    return list(lerobot.read(str(root)).clips())


def index_of(root: Path, clip: Clip) -> SourceIndex:
    return index_source(source_at(str(root / clip.relpath)))


def shown(root: Path) -> list[tuple[Mapping[str, str | int], list[Barcode]]]:
    """The fields of each clip, and what its frames say of themselves."""
    result = []
    for clip in clips_of(root):
        with FrameReader(str(root / clip.relpath)) as reader:
            frames = reader.read(clip.frames(reader.index))
        result.append((clip.fields, [read_barcode(frame) for frame in frames]))
    return result


def expected() -> list[tuple[Mapping[str, str | int], list[Barcode]]]:
    result: list[tuple[Mapping[str, str | int], list[Barcode]]] = []
    first = 0
    for number, length in enumerate(LENGTHS):
        for place, camera in enumerate(CAMERAS):
            steps = [Barcode(place, first + step) for step in range(length)]
            result.append(({"camera": camera, "episode_index": number}, steps))
        first += length
    return result


@pytest.mark.parametrize("b_frames", [0, 2])
def test_episodes_in_one_video_one_after_the_other(tmp_path: Path, b_frames: int) -> None:
    write_concatenated(tmp_path, LENGTHS, b_frames=b_frames, gop=4)
    assert lerobot.is_data_set(str(tmp_path))
    assert shown(tmp_path) == expected()


@pytest.mark.parametrize("version", ["v2.0", "v2.1"])
def test_a_video_for_each_episode(tmp_path: Path, version: str) -> None:
    write_separate(tmp_path, LENGTHS, version=version, chunks_size=2)
    found = lerobot.read(str(tmp_path))
    assert (found.version, found.fps, found.cameras) == (version, FPS, CAMERAS)
    assert shown(tmp_path) == expected()


def test_frames_are_found_by_their_times_not_counted(tmp_path: Path) -> None:
    # the second video of the file begins a frame later than the first one ends
    write_concatenated(tmp_path, [5, 5], per_video=1)
    video = tmp_path / clips_of(tmp_path)[0].relpath
    write_clip(video, frames=11, fps=FPS)
    edit(tmp_path, lambda row: row | {f"videos/{CAMERAS[0]}/file_index": 0} | after(6, row))
    first, _, second, _ = clips_of(tmp_path)
    assert first.relpath == second.relpath
    assert first.frames(index_of(tmp_path, first)) == range(5)
    assert second.frames(index_of(tmp_path, second)) == range(6, 11)


def after(frames: int, row: dict[str, Any]) -> dict[str, float]:
    start = frames / FPS if row["episode_index"] else 0.0
    return {f"videos/{CAMERAS[0]}/from_timestamp": start}


def edit(root: Path, change: Any) -> None:
    path = root / "meta/episodes/chunk-000/file-000.parquet"
    rows = [change(row) for row in pq.read_table(path).to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows), path)


def edit_info(root: Path, **changes: Any) -> None:
    path = root / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("timestamps", "complaint"),
    [
        (lambda _, step: step / FPS + 0.00016, "no frame is shown at 0.000160 s"),
        (lambda _, step: (step + 2) / FPS, "no frame is shown at 0.250000 s"),
        (lambda _, step: max(step - 1, 0) / FPS, "do not follow each other"),
    ],
)
def test_steps_without_frames_of_their_own_are_refused(
    tmp_path: Path, timestamps: Any, complaint: str
) -> None:
    write_concatenated(tmp_path, [5], timestamps=timestamps)
    clip = clips_of(tmp_path)[0]
    with pytest.raises(DataSetUnreadable, match=complaint):
        clip.frames(index_of(tmp_path, clip))


def test_a_deviation_below_the_tolerance_is_none(tmp_path: Path) -> None:
    write_concatenated(tmp_path, [5, 6], timestamps=lambda _, step: step / FPS + 0.00009)
    clips = clips_of(tmp_path)
    assert clips[2].frames(index_of(tmp_path, clips[2])) == range(5, 11)


def test_late_in_a_long_video_single_precision_is_no_obstacle() -> None:
    shown_at = np.arange(200_000) / 30
    wanted = shown_at[150_000] + (np.arange(500) / 30).astype(np.float32)
    assert first_frame(shown_at, wanted.astype(np.float64)) == 150_000


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"codebase_version": "v1.6"}, "convert the data set"),
        ({"features": {}}, "there is nothing to show"),
        ({"video_path": None}, "cannot be read"),
        ({"video_path": "../{video_key}/{chunk_index}/{file_index}.mp4"}, "leads out of"),
        ({"video_path": "videos/{episode}.mp4"}, "'episode' is missing"),
        ({"fps": "many"}, "cannot be read"),
    ],
)
def test_info_that_cannot_be_followed(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    write_concatenated(tmp_path, [2])
    edit_info(tmp_path, **change)
    with pytest.raises(DataSetUnreadable, match=complaint):
        lerobot.read(str(tmp_path))


def test_metadata_that_is_damaged_or_missing(tmp_path: Path) -> None:
    write_concatenated(tmp_path, [4, 5])
    clip = clips_of(tmp_path)[0]
    index = index_of(tmp_path, clip)
    rows = tmp_path / "data/chunk-000/file-000.parquet"
    whole = rows.read_bytes()
    rows.write_bytes(whole[:-8])  # as while it is being recorded
    with pytest.raises(DataSetUnreadable, match=r"file-000\.parquet: cannot be read"):
        clip.frames(index)
    rows.unlink()
    with pytest.raises(DataSetUnreadable, match=r"file-000\.parquet"):
        clip.frames(index)
    rows.write_bytes(whole)
    assert clip.frames(index) == range(4)
    edit(tmp_path, lambda row: row | {"length": 6})
    clip = clips_of(tmp_path)[0]
    with pytest.raises(DataSetUnreadable, match="should have the steps 0 to 5"):
        clip.frames(index)
    edit(tmp_path, lambda row: row | {"episode_index": 1 - row["episode_index"]})
    with pytest.raises(DataSetUnreadable, match="stands in place"):
        lerobot.read(str(tmp_path))
    (tmp_path / "meta/episodes/chunk-000/file-000.parquet").unlink()
    with pytest.raises(DataSetUnreadable, match="is the recording finished"):
        lerobot.read(str(tmp_path))


def test_what_is_no_data_set(tmp_path: Path) -> None:
    assert not lerobot.is_data_set(str(tmp_path))
    (tmp_path / "meta").mkdir()
    for content in ("{}", "[]", "{", '{"codebase_version": "v3.0"}'):
        (tmp_path / "meta/info.json").write_text(content)
        assert not lerobot.is_data_set(str(tmp_path))


def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_separate(tmp_path, [2])
    there = builtins.__import__

    def missing(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return there(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(DataSetUnreadable, match=r"pip install 'framefs\[lerobot\]'"):
        lerobot.read(str(tmp_path))
