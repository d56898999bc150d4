"""LeRobot's own writer and reader of data sets, against a mount of what was written.

Versions 2.1 and 3.0 of the format are written by different releases of the package; the older one
is found where FRAMEFS_LEROBOT21 says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.loaders.lerobot_script import CAMERAS, LENGTHS
from tests.mounting import ROOT, mounted

pytest.importorskip("lerobot", reason="lerobot is not installed")

pytestmark = pytest.mark.timeout(600)  # importing the package takes its time, twice a test


@pytest.fixture(params=["v2.1", "v3.0 h264", "v3.0 libsvtav1", "v3.0 h264 streamed"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, Path]:
    """(version, data set, what LeRobot's reader reads of it): a file of arrays by global index."""
    version, *options = request.param.split()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    if version == "v2.1":
        older = os.environ.get("FRAMEFS_LEROBOT21")
        if not older:
            pytest.skip("FRAMEFS_LEROBOT21 names no folder with lerobot 0.3")
        environment["PYTHONPATH"] = f"{older}:{ROOT}"
    root, read = tmp_path / "set", tmp_path / "read.npz"
    script = [sys.executable, "-m", "tests.loaders.lerobot_script"]
    subprocess.run([*script, root, read, *options], cwd=ROOT, env=environment, check=True)
    return version, root, read


def steps() -> list[tuple[int, int, int]]:
    """(index in the data set, episode, step) of all steps."""
    pairs = [(episode, step) for episode, length in enumerate(LENGTHS) for step in range(length)]
    return [(index, *pair) for index, pair in enumerate(pairs)]


def image(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as opened:
        return np.asarray(opened)


def test_every_index_gives_the_frame_that_lerobot_gives(
    written: tuple[str, Path, Path], fuse: None
) -> None:
    version, root, read = written
    layout = "lerobot-v2" if version == "v2.1" else "lerobot-v3"
    dash = "_" if version == "v2.1" else "-"
    expected = np.load(read)
    with mounted(root, "--layout", layout) as mount:
        for place, camera in enumerate(CAMERAS):
            for index, episode, step in steps():
                name = f"images/{camera}/episode{dash}{episode:06d}/frame{dash}{step:06d}.png"
                np.testing.assert_array_equal(
                    image(mount / name), expected[camera][index], err_msg=f"{name} {place}"
                )
        for episode, length in enumerate(LENGTHS):
            folder = mount / "images" / CAMERAS[0] / f"episode{dash}{episode:06d}"
            assert len(list(folder.iterdir())) == length
