from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from encoder.settings import Settings
from encoder.unit import transcode
from tests.cli.commands import FRAMEFS, run
from tests.clips import write_clip


def compare(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run(*FRAMEFS, "compare", *arguments)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pair")
    source, target = write_clip(folder / "source.mp4", frames=40), folder / "new.mp4"
    transcode(str(source), str(target), Settings.of_profile("fast", interval=8, anchors="fixed"))
    return source, target


def test_two_encodings_side_by_side(pair: tuple[Path, Path], tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"
    result = compare(*pair, "--plot", plot)
    assert result.returncode == 0
    for words in ("DDRA", "PSNR", "SSIM", "contiguous 10"):
        assert words in result.stdout
    assert plot.stat().st_size > 1000


def test_the_same_as_data(pair: tuple[Path, Path]) -> None:
    document = json.loads(compare(*pair, "--json").stdout)
    assert document["second"]["scheme"] == {
        "name": "DDRA", "interval": 8, "even": True, "bound": 3
    }  # fmt: skip
    assert document["first"]["bytes"] == pair[0].stat().st_size
    assert len(document["frame_psnr"]) == len(document["frame_ssim"]) == 40
    assert 30 < document["psnr"] < 50


def test_what_cannot_be_compared_says_so(pair: tuple[Path, Path], tmp_path: Path) -> None:
    shorter = write_clip(tmp_path / "shorter.mp4", frames=39)
    result = compare(pair[0], shorter)
    assert result.returncode == 1
    assert "40 frames" in result.stderr
    assert compare(pair[0], tmp_path / "missing.mp4").returncode == 1
    assert compare(*pair, "--plot", "plot.txt").returncode == 2
