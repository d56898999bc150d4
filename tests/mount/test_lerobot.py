"""LeRobot data sets, mounted: every step of every episode and camera is the file of its number."""

from __future__ import annotations

import errno
import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from tests.cli.commands import FRAMEFS, MOUNT, run, the_line
from tests.clips import Barcode, read_barcode
from tests.lerobot_sets import CAMERAS, write_concatenated, write_separate
from tests.mounting import mounted

LENGTHS = (7, 12, 5, 9)
STARTS = (0, *itertools.accumulate(LENGTHS))


def barcode(path: Path) -> Barcode:
    with Image.open(path) as image:
        return read_barcode(np.asarray(image))


@pytest.mark.parametrize(
    ("version", "layout", "name"),
    [
        ("v2.1", "lerobot-v2", "images/{camera}/episode_{episode:06d}/frame_{step:06d}.png"),
        ("v3.0", "lerobot-v3", "images/{camera}/episode-{episode:06d}/frame-{step:06d}.png"),
        ("v3.0", "default", "{camera}/episode_{episode:06d}/{step:06d}.png"),
    ],
)
def test_steps_are_numbered_frames(
    version: str, layout: str, name: str, fuse: None, tmp_path: Path
) -> None:
    write = write_concatenated if version == "v3.0" else write_separate
    data_set = write(tmp_path / "set", LENGTHS, b_frames=2, gop=8)
    shown = set()
    with mounted(data_set, "--layout", layout) as mount:
        for place, camera in enumerate(CAMERAS):
            for episode, length in enumerate(LENGTHS):
                for step in range(length):
                    path = name.format(camera=camera, episode=episode, step=step)
                    assert barcode(mount / path) == Barcode(place, STARTS[episode] + step)
                    shown.add(path)
        files = {str(path.relative_to(mount)) for path in mount.rglob("*") if path.is_file()}
        assert files == shown


def test_an_episode_that_does_not_fit_its_video_says_so(fuse: None, tmp_path: Path) -> None:
    data_set = write_concatenated(
        tmp_path / "set", LENGTHS, timestamps=lambda episode, step: step / (20 + (episode == 1))
    )
    with mounted(data_set) as mount:
        good, bad = (mount / CAMERAS[0] / f"episode_{number:06d}" for number in (0, 1))
        assert barcode(good / "000006.png") == Barcode(0, 6)
        with pytest.raises(OSError):
            list(bad.iterdir())
        reason = os.getxattr(bad, "user.framefs.error").decode()
        assert "no frame is shown at" in reason
        with pytest.raises(OSError) as caught:
            (bad / "000000.png").stat()
        assert caught.value.errno == errno.EIO


def test_metadata_that_cannot_be_followed_is_said_at_once(tmp_path: Path) -> None:
    data_set = write_concatenated(tmp_path / "set", [4])
    info = data_set / "meta" / "info.json"
    info.write_text(json.dumps(json.loads(info.read_text()) | {"codebase_version": "v9"}))
    target = tmp_path / "mnt"
    target.mkdir()
    assert "convert the data set" in the_line(run(*MOUNT, data_set, target), 1)


def test_lists_are_of_episodes(tmp_path: Path) -> None:
    data_set = write_concatenated(tmp_path / "set", LENGTHS)
    index = tmp_path / "index.sqlite"
    command = ("list", data_set, "--as", "jsonl", "--layout", "lerobot-v3", "--index", index)
    result = run(*FRAMEFS, *command)
    assert result.returncode == 0, result
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) == 2 * sum(LENGTHS)
    assert rows[LENGTHS[0]]["file_name"] == f"images/{CAMERAS[0]}/episode-000001/frame-000000.png"
    assert rows[LENGTHS[0]]["time"] == LENGTHS[0] / 20
