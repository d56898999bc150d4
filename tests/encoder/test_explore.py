from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from cli import exploring
from encoder.explore import PATTERNS, candidates, explore
from encoder.settings import Settings
from tests.clips import write_clip


def test_encodings_are_brought_to_one_quality_and_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "nothing"))  # no programs for T = 32
    clips = [write_clip(tmp_path / f"{n}.mp4", frames=60, version=n) for n in range(2)]
    tries = [
        Settings.of_profile("fast", interval=8, anchors="fixed"),
        Settings.of_profile("small", interval=16),
        Settings.of_profile("fast", interval=32),
    ]
    said: list[str] = []
    found = explore([str(clip) for clip in clips], tries, psnr=34.0, frames=50, say=said.append)
    assert found.frames == 100
    assert [one.settings.profile for one in found.tried] == ["small", "fast"]
    assert [label for label, _ in found.failed] == ["fast T=32 adaptive"]
    for one in found.tried:
        assert one.psnr == pytest.approx(34.0, abs=0.18)
        assert one.readings["contiguous 10"].pictures < one.readings["random 8"].pictures
        assert all(one.readings[name].size > 0 for name in PATTERNS)
    ddra = found.tried[1]
    assert ddra.bound == 3
    assert found.tried[0].best  # the smallest always is
    tries_told = [words for words in said if "T=" in words]
    assert len(tries_told) == 5  # what failed once is not tried again

    assert found.cheapest(bandwidth=1.0) in found.tried
    slow = min(found.tried, key=lambda one: sum(r.size for r in one.readings.values()))
    assert found.cheapest(bandwidth=1.0) is slow  # where bytes are all that counts
    console = Console(record=True, width=160)
    exploring.show(found, bandwidth=1e6, console=console)
    text = console.export_text()
    assert "fast T=8" in text
    assert "small T=16 " in text
    assert "bound" not in text
    assert "left out" in text
    assert "Cheapest to read at 1 MB/s" in text
    exploring.plot(str(tmp_path / "front.svg"), found)
    assert (tmp_path / "front.svg").stat().st_size > 1000


def test_what_is_tried_by_default_can_be_had() -> None:
    assert {one.profile for one in candidates()} == {"fast", "compact", "small"}
