"""Intervals that FFmpeg's libraries do not reach, by programs of their own."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import pytest

from decoder import FrameReader
from decoder.plan import plan
from encoder.ddra import LONGEST_STOCK
from encoder.errors import EncodingFailed, SettingsError
from encoder.external import program
from encoder.settings import Settings
from encoder.unit import transcode
from inspection.anatomy import pictures_of_frames
from tests.clips import read_barcode, write_clip

ENCODERS = {"fast": "libx264", "compact": "libx265"}


def test_without_a_program_the_script_is_named(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(SettingsError, match=r"scripts/build-encoders\.sh"):
        transcode(str(clip), str(tmp_path / "new.mp4"), Settings.of_profile("fast", interval=32))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "script", ["#!/bin/sh\necho 'no such option' >&2\nexit 3\n", "#!/bin/sh\nexec cat >/dev/null\n"]
)
def test_a_program_that_gives_up_is_told_of(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    folder = tmp_path / "data" / "framefs" / "encoders"
    folder.mkdir(parents=True)
    (folder / "x264").write_text(script)
    (folder / "x264").chmod(0o755)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with pytest.raises(EncodingFailed):
        transcode(str(clip), str(tmp_path / "new.mp4"), Settings.of_profile("fast", interval=32))
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.parametrize(
    ("size", "fps"), [((48, 64), 30), ((64, 48), 30), ((64, 64), Fraction(1, 2)), ((64, 64), 400)]
)
def test_what_the_program_of_x265_would_not_open_is_refused_in_words(
    tmp_path: Path, size: tuple[int, int], fps: Fraction
) -> None:
    source = write_clip(tmp_path / "source.mp4", size=size, fps=fps)
    with pytest.raises(SettingsError, match="64x64 and more, and 1 to 300 a second"):
        transcode(
            str(source), str(tmp_path / "new.mp4"), Settings.of_profile("compact", interval=32)
        )


@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv444p", "yuv420p10le"])
@pytest.mark.parametrize("profile", ["fast", "compact"])
@pytest.mark.parametrize("interval", [32, 64])
def test_long_intervals_keep_the_bound(
    tmp_path: Path, profile: str, pix_fmt: str, interval: int
) -> None:
    if program(ENCODERS[profile], 10 if "10" in pix_fmt else 8) is None:
        pytest.skip("scripts/build-encoders.sh has not been run")
    source = write_clip(tmp_path / "source.mp4", frames=150, pix_fmt=pix_fmt)
    target = tmp_path / "new.mp4"
    settings = Settings.of_profile(
        profile, interval=interval, segment=interval + 1, anchors="fixed"
    )
    outcome = transcode(str(source), str(target), settings)
    assert (outcome.bound, outcome.interval) == (3, interval)
    with FrameReader(str(target)) as reader:
        shown = reader.read(range(150))
    assert [read_barcode(samples).frame for samples in shown] == list(range(150))


@pytest.mark.parametrize("profile", ["fast", "compact"])
@pytest.mark.parametrize("interval", [16, 32])
def test_what_frames_and_windows_cost(tmp_path: Path, profile: str, interval: int) -> None:
    if interval > LONGEST_STOCK and program(ENCODERS[profile], 8) is None:
        pytest.skip("scripts/build-encoders.sh has not been run")
    source, target = write_clip(tmp_path / "source.mp4", frames=300), tmp_path / "new.mp4"
    settings = Settings.of_profile(profile, interval=interval, anchors="fixed")
    outcome = transcode(str(source), str(target), settings)
    assert outcome.bound == 3
    assert outcome.mean_closure <= 2.95
    with FrameReader(str(target)) as reader:
        index = reader.index
    assert index.feed is not None
    graph, pictures = index.feed.graph, pictures_of_frames(index)
    windows = [plan(graph, pictures[n : n + 10].tolist()).real for n in range(291)]
    assert fmean(windows) / 10 <= 1.3
