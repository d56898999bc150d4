"""LeRobot data sets made after the format's description, every frame with a barcode.

The barcode's version is the camera's place, its frame the step's number in the data set.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.clips import write_clip

CAMERAS = ("observation.images.front", "observation.images.wrist")
FPS = 20


def write_separate(
    root: Path,
    lengths: Sequence[int],
    *,
    version: str = "v2.1",
    chunks_size: int = 1000,
    **clip: Any,
) -> Path:
    """A data set with a video for each episode and camera, ``chunks_size`` episodes to a chunk."""
    video = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
    data = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    first = 0
    episodes = []
    for number, length in enumerate(lengths):
        names = {"episode_index": number, "episode_chunk": number // chunks_size}
        for place, camera in enumerate(CAMERAS):
            path = _within(root, video.format(**names, video_key=camera))
            write_clip(path, frames=length, version=place, fps=FPS, first=first, **clip)
        _write_rows(_within(root, data.format(**names)), [(number, length)], first)
        episodes.append({"episode_index": number, "tasks": ["move"], "length": length})
        first += length
    lines = "".join(f"{json.dumps(episode)}\n" for episode in episodes)
    _within(root, "meta/episodes.jsonl").write_text(lines)
    _write_info(root, version, lengths, data, video, {"chunks_size": chunks_size})
    return root


def write_concatenated(
    root: Path,
    lengths: Sequence[int],
    *,
    per_video: int = 3,
    per_data: int = 2,
    timestamps: Callable[[int, int], float] = lambda episode, step: step / FPS,
    **clip: Any,
) -> Path:
    """A data set of version 3.0 with up to ``per_video`` episodes in one video.

    Args:
        per_data: episodes with their rows in one file.
        timestamps: of a step of an episode.
        clip: arguments of `tests.clips.write_clip`.
    """
    video = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
    data = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    starts = [0, *itertools.accumulate(lengths)]
    rows: list[dict[str, Any]] = []
    for number, length in enumerate(lengths):
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": ["move"],
            "length": length,
            "dataset_from_index": starts[number],
            "dataset_to_index": starts[number + 1],
            "data/chunk_index": 0,
            "data/file_index": number // per_data,
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
        }
        begins = number - number % per_video
        start = (starts[number] - starts[begins]) / FPS
        for camera in CAMERAS:
            row |= {
                f"videos/{camera}/chunk_index": 0,
                f"videos/{camera}/file_index": number // per_video,
                f"videos/{camera}/from_timestamp": start,
                f"videos/{camera}/to_timestamp": start + length / FPS,
            }
        rows.append(row)
    for number in range(0, len(lengths), per_video):
        for place, camera in enumerate(CAMERAS):
            names = {"chunk_index": 0, "file_index": number // per_video, "video_key": camera}
            path = _within(root, video.format(**names))
            parts = range(number, min(number + per_video, len(lengths)))
            _write_video(path, [(starts[n], lengths[n]) for n in parts], place, clip)
    for number in range(0, len(lengths), per_data):
        path = _within(root, data.format(chunk_index=0, file_index=number // per_data))
        parts = range(number, min(number + per_data, len(lengths)))
        _write_rows(path, [(n, lengths[n]) for n in parts], starts[number], timestamps)
    pq.write_table(
        pa.Table.from_pylist(rows),
        _within(root, "meta/episodes/chunk-000/file-000.parquet"),
    )
    _write_info(root, "v3.0", lengths, data, video, {"chunks_size": 1000})
    return root


def _write_video(
    path: Path, parts: Sequence[tuple[int, int]], version: int, clip: Mapping[str, Any]
) -> None:
    """Encodes each part by itself and has FFmpeg concatenate the files, as LeRobot does."""
    with tempfile.TemporaryDirectory() as scratch:
        files = [
            write_clip(
                Path(scratch) / f"{first}.mp4",
                frames=length,
                first=first,
                version=version,
                fps=FPS,
                **clip,
            )
            for first, length in parts
        ]
        script = Path(scratch) / "parts.ffconcat"
        lines = "".join(f"file '{file.name}'\n" for file in files)
        script.write_text(f"ffconcat version 1.0\n{lines}")
        with (
            av.open(script, format="concat", options={"safe": "0"}) as source,
            av.open(path, "w") as target,
        ):
            stream = target.add_stream_from_template(source.streams.video[0])
            stream.time_base = source.streams.video[0].time_base
            for packet in source.demux(source.streams.video[0]):
                if packet.dts is not None:
                    packet.stream = stream
                    target.mux(packet)


def _write_rows(
    path: Path,
    episodes: Sequence[tuple[int, int]],
    first: int,
    timestamps: Callable[[int, int], float] = lambda episode, step: step / FPS,
) -> None:
    steps = [(number, step) for number, length in episodes for step in range(length)]
    table = pa.table(
        {
            "timestamp": np.array([timestamps(*step) for step in steps], np.float32),
            "frame_index": np.array([step for _, step in steps], np.int64),
            "episode_index": np.array([number for number, _ in steps], np.int64),
            "index": np.arange(first, first + len(steps)),
            "task_index": np.zeros(len(steps), np.int64),
        }
    )
    pq.write_table(table, path)


def _write_info(
    root: Path,
    version: str,
    lengths: Sequence[int],
    data: str,
    video: str,
    more: Mapping[str, Any],
) -> None:
    features: dict[str, Any] = {
        camera: {
            "dtype": "video",
            "shape": [96, 128, 3],
            "names": ["height", "width", "channels"],
        }
        for camera in CAMERAS
    }
    features |= {
        name: {"dtype": kind, "shape": [1], "names": None}
        for name, kind in (
            ("timestamp", "float32"),
            ("frame_index", "int64"),
            ("episode_index", "int64"),
            ("index", "int64"),
            ("task_index", "int64"),
        )
    }
    info = {
        "codebase_version": version,
        "robot_type": "none",
        "total_episodes": len(lengths),
        "total_frames": sum(lengths),
        "total_tasks": 1,
        "fps": FPS,
        "splits": {"train": f"0:{len(lengths)}"},
        "data_path": data,
        "video_path": video,
        "features": features,
        **more,
    }
    _within(root, "meta/info.json").write_text(json.dumps(info, indent=4))


def _within(root: Path, path: str) -> Path:
    result = root / path
    result.parent.mkdir(parents=True, exist_ok=True)
    return result
