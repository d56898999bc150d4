"""LeRobot data sets as they lie on disk, in the versions 2.0, 2.1 and 3.0 of their format.

``meta/info.json`` names the cameras and says where files are. ``meta/episodes.jsonl`` (2.x) or
``meta/episodes/*/*.parquet`` (3.0) has the episodes. A video holds one episode (2.x) or several,
one after the other, each from a ``from_timestamp`` on (3.0). A row of ``data/`` belongs to each
step of an episode. LeRobot takes its ``timestamp``, adds ``from_timestamp`` and shows the frame of
the video that is nearest to this time, and none that is further away than 0.1 ms. So does this
module.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vfs import parquet
from vfs.clips import Clip
from vfs.errors import DataSetUnreadable
from vfs.parquet import reading
from vfs.steps import Steps

INFO = "meta/info.json"

_VERSIONS = ("v2.0", "v2.1", "v3.0")


@dataclass(frozen=True, slots=True)
class Take:
    """What one camera saw of an episode: the video's path in the data set, and from when on."""

    relpath: str
    start: float


@dataclass(frozen=True, slots=True)
class Episode:
    """One recording.

    Attributes:
        index: its number, from 0.
        length: steps, each with one frame of every camera.
        data: path of the file with its rows.
        takes: by camera.
    """

    index: int
    length: int
    data: str
    takes: Mapping[str, Take]


@dataclass(frozen=True, slots=True)
class LeRobotDataSet:
    """A data set.

    Attributes:
        root: its folder.
        version: of the format, such as "v3.0".
        fps: steps per second.
        cameras: names of the video features, as the data set orders them.
        episodes: in order of their numbers.
    """

    root: str
    version: str
    fps: float
    cameras: tuple[str, ...]
    episodes: tuple[Episode, ...]

    def clips(self) -> Iterator[Clip]:
        """One for each episode and camera: ``episode_000003`` in a folder of the camera's name."""
        for episode in self.episodes:
            name = f"episode_{episode.index:06d}"
            for camera in self.cameras:
                fields: dict[str, str | int] = {"camera": camera, "episode_index": episode.index}
                take = episode.takes[camera]
                span = Steps(
                    os.path.join(self.root, episode.data),
                    episode.index,
                    episode.length,
                    os.path.join(self.root, take.relpath),
                    take.start,
                )
                yield Clip(take.relpath, camera, name, fields, span)


def is_data_set(root: str) -> bool:
    """Whether the folder ``root`` says of itself that it is a LeRobot data set."""
    try:
        with open(os.path.join(root, INFO), "rb") as file:
            info = json.load(file)
    except (OSError, ValueError):
        return False
    return isinstance(info, dict) and {"codebase_version", "features"} <= info.keys()


def read(root: str) -> LeRobotDataSet:
    """The data set in the folder ``root``: its metadata, and not yet the rows of its episodes.

    Raises:
        DataSetUnreadable: it cannot be read, or is of a version or kind that has no videos to
            show. The message says what to do.
    """
    where = os.path.join(root, INFO)
    with reading(where):
        with open(where, "rb") as file:
            info = json.load(file)
        version = info["codebase_version"]
        if version not in _VERSIONS:
            raise DataSetUnreadable(
                f"{where}: version {version} of the LeRobot format is none of "
                f"{', '.join(_VERSIONS)}; convert the data set with LeRobot's own tools"
            )
        cameras = tuple(
            name for name, feature in info["features"].items() if feature["dtype"] == "video"
        )
        if not cameras:
            raise DataSetUnreadable(
                f"{where}: no feature of the data set is a video; there is nothing to show"
            )
        fps = float(info["fps"])
        if version == "v3.0":
            episodes = _concatenated(root, info, cameras)
        else:
            episodes = _separate(root, info, cameras)
    return LeRobotDataSet(root, version, fps, cameras, episodes)


def _separate(root: str, info: dict[str, Any], cameras: tuple[str, ...]) -> tuple[Episode, ...]:
    """The episodes of a data set that has a video for each."""
    parquet.require()  # said at once, not by the first frame
    where = os.path.join(root, "meta/episodes.jsonl")
    with reading(where):
        with open(where, "rb") as file:
            rows = [json.loads(line) for line in file if line.strip()]
        episodes = []
        for row in sorted(rows, key=lambda row: int(row["episode_index"])):
            number = int(row["episode_index"])
            names = {"episode_index": number, "episode_chunk": number // int(info["chunks_size"])}
            takes = {
                camera: Take(_path(info["video_path"], names | {"video_key": camera}), 0.0)
                for camera in cameras
            }
            data = _path(info["data_path"], names)
            episodes.append(Episode(number, int(row["length"]), data, takes))
    return _numbered(where, episodes)


def _concatenated(root: str, info: dict[str, Any], cameras: tuple[str, ...]) -> tuple[Episode, ...]:
    """The episodes of a data set that has several in one video."""
    wanted = ["episode_index", "length", "data/chunk_index", "data/file_index"]
    for camera in cameras:
        wanted += [
            f"videos/{camera}/{name}" for name in ("chunk_index", "file_index", "from_timestamp")
        ]
    where = os.path.join(root, "meta/episodes")
    episodes = []
    for path in _parquet_files(where):
        with reading(path):
            for row in parquet.table(path, wanted).to_pylist():
                takes = {}
                for camera in cameras:
                    prefix = f"videos/{camera}"
                    names = _file(row, prefix) | {"video_key": camera}
                    start = float(row[f"{prefix}/from_timestamp"])
                    takes[camera] = Take(_path(info["video_path"], names), start)
                data = _path(info["data_path"], _file(row, "data"))
                episodes.append(Episode(int(row["episode_index"]), int(row["length"]), data, takes))
    return _numbered(where, episodes)


def _file(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name: int(row[f"{prefix}/{name}"]) for name in ("chunk_index", "file_index")}


def _numbered(where: str, episodes: list[Episode]) -> tuple[Episode, ...]:
    """The episodes, whose numbers LeRobot takes for their places in the list."""
    for place, episode in enumerate(episodes):
        if episode.index != place:
            raise DataSetUnreadable(
                f"{where}: episode {episode.index} stands in place {place}; LeRobot would mistake "
                "one for another. Number the episodes from 0, in order and without a gap"
            )
    return tuple(episodes)


def _path(template: str, names: Mapping[str, Any]) -> str:
    path = posixpath.normpath(template.format(**names))
    if path.startswith(("/", "../")):
        raise ValueError(f"{path!r} leads out of the data set")
    return path


def _parquet_files(folder: str) -> list[str]:
    """The files in all folders in ``folder``, in the order in which LeRobot reads them."""
    paths = []
    with reading(folder):
        for chunk in os.scandir(folder):
            if chunk.is_dir():
                names = os.listdir(chunk.path)
                paths += [os.path.join(chunk.path, n) for n in names if n.endswith(".parquet")]
        if not paths:
            raise DataSetUnreadable(f"{folder}: there are no episodes; is the recording finished?")
    return sorted(paths, key=lambda path: path.split(os.sep))
