from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import FRAMEFS, run, the_line
from tests.clips import write_clip

LIFT = "native264_Lift_frontview.mp4"


def inspect(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run(*FRAMEFS, "inspect", *arguments)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


def test_structure_and_a_request(sample: Path, store: Path) -> None:
    result = inspect(sample / LIFT, "--frames", "17,90", "--index", store)
    assert result.returncode == 0, result
    for text in (
        "h264 640x480 yuv420p, 20 fps",
        "random access points",
        "closure",
        "contiguous 10",
        "stride 5",
        "stride 30",
        "random 10",
        "2 targets in 1 run",
        "run 1 feeds packets 0 1 2",
    ):
        assert text in result.stdout


def test_reason_of_a_fall_back(store: Path, tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "palette.avi", codec="rawvideo", pix_fmt="pal8", frames=5)
    result = inspect(clip, "--index", store)
    assert "conservative, because palettes come beside the packets" in result.stdout


def test_what_is_left_out_and_why_not_more(sample: Path, store: Path, tmp_path: Path) -> None:
    result = inspect(sample / LIFT, "--index", store)
    assert "skipping  h264: pictures that no other reads are left out" in result.stdout
    clip = write_clip(tmp_path / "clip.ts", codec="mpeg2video", b_frames=2, gop=12)
    result = inspect(clip, "--frames", "30", "--index", store)
    assert "skipping  mpeg2video: B pictures are left out; others refer to the " in result.stdout
    assert "starts proven: 6 of 6" in result.stdout
    assert "6 random access points" in result.stdout
    assert "0 state-only" in result.stdout


def test_json(sample: Path, store: Path) -> None:
    result = inspect(sample / LIFT, "--json", "--frames", "10-12", "--index", store)
    document = json.loads(result.stdout)
    assert document["request"]["frames"] == [10, 11, 12]
    assert document["structure"]["frames"] == 300


def test_plots(sample: Path, store: Path, tmp_path: Path) -> None:
    result = inspect(
        sample / LIFT, "--frames", "40", "--plot", tmp_path / "o.svg", "--index", store
    )
    assert result.returncode == 0, result
    assert "<svg" in (tmp_path / "o.svg").read_text()


def test_model(tmp_path: Path) -> None:
    result = inspect("--model", "--plot", tmp_path / "model.png")
    assert "16.40    5.04    2.01" in result.stdout
    assert (tmp_path / "model.png").stat().st_size > 1000
    assert json.loads(inspect("--model", "--json").stdout)["intra_period"] == 32


def test_wrong_use(sample: Path, store: Path, tmp_path: Path) -> None:
    lift = sample / LIFT
    assert "name a video" in the_line(inspect(), 2)
    assert "no frame 300" in the_line(inspect(lift, "--frames", "300", "--index", store), 2)
    assert "no list of frames" in the_line(inspect(lift, "--frames", "x", "--index", store), 2)
    assert "No such file" in the_line(inspect(tmp_path / "none.mp4", "--index", store), 1)
    assert "ends in none of" in the_line(inspect("--plot", "x.doc", lift, "--index", store), 2)
