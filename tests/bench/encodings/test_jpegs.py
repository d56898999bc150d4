from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.encodings import jpegs
from tests.clips import picture


@pytest.fixture(scope="module")
def frames() -> list[NDArray[np.uint8]]:
    return [picture(n) for n in range(31)]


def test_the_quality_is_the_one_nearest_to_the_psnr(
    frames: list[NDArray[np.uint8]], tmp_path: Path
) -> None:
    reached = {}
    for psnr in (28.0, 31.0):
        quality, found = jpegs.write(frames, tmp_path / f"{psnr}", psnr)
        reached[quality] = found
        assert found == pytest.approx(psnr, abs=1.5)
    assert len(reached) == 2
    assert max(reached) == max(reached, key=lambda quality: reached[quality])


def test_files_are_the_frames_in_order_and_an_older_folder_is_replaced(
    frames: list[NDArray[np.uint8]], tmp_path: Path
) -> None:
    folder = tmp_path / "jpeg"
    jpegs.write(frames, folder, 36.0)
    jpegs.write(frames[:5], folder, 36.0)
    files = sorted(folder.iterdir())
    assert len(files) == 5
    for file, frame in zip(files, frames, strict=False):
        difference = np.abs(jpegs.decoded(file.read_bytes()).astype(int) - frame)
        assert difference.mean() < 6
    assert [entry.name for entry in tmp_path.iterdir()] == ["jpeg"]
