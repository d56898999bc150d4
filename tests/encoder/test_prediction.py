from __future__ import annotations

import ctypes
import multiprocessing
from pathlib import Path

import pytest

from decoder.corpus import Fingerprint, Source, source_at
from encoder.corpus import Unit
from encoder.prediction import FRAMES, SOURCES, Sampled, SampleJob, prediction, sample_of, spread
from encoder.settings import Settings
from encoder.unit import transcode
from engines import Pulse
from tests.clips import write_clip

SETTINGS = Settings.of_profile("fast")


def units(*sizes: int) -> list[Unit]:
    return [
        Unit(Source(f"/{n}.mkv", Fingerprint(size, 1)), f"{n}.mp4", SETTINGS)
        for n, size in enumerate(sizes)
    ]


def sampled(path: Path, settings: Settings) -> Sampled | str:
    unit = Unit(source_at(str(path)), "clip.mp4", settings)
    return SampleJob()(unit, Pulse(multiprocessing.RawArray(ctypes.c_uint64, 4)))


def test_samples_are_spread_from_the_largest_to_the_smallest() -> None:
    few = units(*range(SOURCES, 0, -1))
    assert spread(few) == few
    many = units(*range(1000, 0, -1))
    chosen = spread(many)
    assert len(chosen) == len(set(chosen)) == SOURCES
    assert (chosen[0], chosen[-1]) == (many[0], many[-1])


def test_what_was_not_sampled_shrinks_as_the_samples_do() -> None:
    all_of_them = units(1000, 500, 250)
    samples = [
        Sampled(all_of_them[0], frames=100, taken=50, bytes=200, psnr=40, ssim=1),  # 400 in all
        Sampled(all_of_them[2], frames=10, taken=10, bytes=225, psnr=40, ssim=1),
    ]
    found = prediction(all_of_them, samples)
    assert (found.bytes_in, found.units) == (1750, 3)
    assert found.bytes_out == pytest.approx(400 + 225 + 500 * (625 / 1250))


def test_samples_are_spread_over_a_source() -> None:
    assert sample_of(FRAMES) == list(range(FRAMES))
    for count in (FRAMES + 1, 300, 100_000):
        numbers = sample_of(count)
        assert len(numbers) == FRAMES
        assert (numbers[0], numbers[-1]) == (0, count - 1)
        assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("pix_fmt", ["yuv420p", "rgb24", "yuv444p"])
def test_what_a_sample_says_of_its_source(tmp_path: Path, pix_fmt: str) -> None:
    codec, suffix = ("rawvideo", "nut") if pix_fmt == "rgb24" else ("libx264", "mkv")
    clip = write_clip(
        tmp_path / f"clip.{suffix}", frames=200, size=(64, 48), codec=codec, pix_fmt=pix_fmt
    )
    sample = sampled(clip, SETTINGS)
    assert isinstance(sample, Sampled), sample
    assert (sample.frames, sample.taken) == (200, FRAMES)
    whole = transcode(str(clip), str(tmp_path / "whole.mp4"), SETTINGS)
    assert sample.predicted == pytest.approx(whole.bytes_out, rel=0.15)
    assert sorted(path.name for path in tmp_path.iterdir()) == [clip.name, "whole.mp4"]


def test_a_sample_of_what_is_no_video(tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").write_bytes(b"no video" * 100)
    reason = sampled(tmp_path / "clip.mp4", SETTINGS)
    assert isinstance(reason, str)
    assert reason.startswith(f"{tmp_path}/clip.mp4: ")
