from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.check import Reference, UnsuitableClip, frame_count, psnr
from bench.worker import digest
from tests.clips import write_clip
from tests.oracle import full_decode

ASKED = (3, 4, 5, 30)


@pytest.fixture(scope="module")
def frames(clip: Path) -> list[NDArray[np.uint8]]:
    return list(full_decode(clip))


@pytest.fixture(scope="module")
def reference(clip: Path) -> Reference:
    return Reference(str(clip), ASKED, least=40)


def noisy(image: NDArray[np.uint8], amount: int) -> NDArray[np.uint8]:
    noise = np.random.default_rng(1).integers(-amount, amount + 1, image.shape)
    return np.clip(image.astype(int) + noise, 0, 255).astype(np.uint8)


def test_frames_are_counted(clip: Path) -> None:
    assert frame_count(str(clip)) == 70


def test_psnr_of_a_constant_difference() -> None:
    black = np.zeros((4, 4, 3), np.uint8)
    assert psnr(black, black) == math.inf
    assert psnr(black, black + 255) == 0
    assert psnr(black, black + 1) == pytest.approx(48.13, abs=0.01)


def test_the_same_bytes_are_exact(reference: Reference, frames: list[NDArray[np.uint8]]) -> None:
    for n in ASKED:
        assert reference.is_exact(n, digest(frames[n]))
        assert reference.judge(n, frames[n]).kind == "exact"
    assert not reference.is_exact(3, digest(frames[4]))


def test_other_rounding_is_close(reference: Reference, frames: list[NDArray[np.uint8]]) -> None:
    verdict = reference.judge(4, noisy(frames[4], 1))
    assert verdict.kind == "close"
    assert verdict.right
    assert 45 < verdict.psnr < 60


def test_a_damaged_picture_is_wrong(reference: Reference, frames: list[NDArray[np.uint8]]) -> None:
    verdict = reference.judge(4, noisy(frames[4], 40))
    assert verdict.kind == "wrong"
    assert not verdict.right
    assert verdict.shows is None


@pytest.mark.parametrize("shown", [5, 6, 30])
def test_another_frame_is_wrong_and_named(
    reference: Reference, frames: list[NDArray[np.uint8]], shown: int
) -> None:
    assert reference.judge(4, frames[shown]).shows == shown
    assert reference.judge(4, noisy(frames[shown], 1)).shows == shown


def test_a_neighbour_that_is_much_like_the_right_frame_is_wrong(
    clip: Path, frames: list[NDArray[np.uint8]]
) -> None:
    """Where next to nothing moves, a neighbour has many dB, too: it must lose the comparison."""
    everything_passes = Reference(str(clip), ASKED, least=1)
    verdict = everything_passes.judge(4, noisy(frames[5], 1))
    assert verdict.psnr > 1
    assert (verdict.kind, verdict.shows) == ("wrong", 5)


def test_another_size_is_wrong(reference: Reference, frames: list[NDArray[np.uint8]]) -> None:
    assert not reference.judge(4, frames[4][:-2]).right


def test_a_clip_that_stands_still_can_be_judged(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "still.mp4", frames=12, options={"qp": "0"})
    still = Reference(str(path), range(12), least=40)
    image = next(full_decode(path))
    still._images = dict.fromkeys(range(12), image)
    assert still.judge(5, noisy(image, 1)).kind == "close"


def test_what_is_no_video_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.mp4"
    path.write_text("no video")
    with pytest.raises(UnsuitableClip, match="cannot be decoded"):
        frame_count(str(path))
