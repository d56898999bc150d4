from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from decoder import FrameReader
from encoder.settings import Settings
from encoder.unit import transcode
from inspection.scheme import Scheme, scheme
from tests.clips import write_clip


def found(path: Path) -> Scheme | None:
    with FrameReader(str(path)) as reader:
        return scheme(reader.index)


@pytest.mark.parametrize(
    ("profile", "overrides", "expected"),
    [
        ("fast", {"anchors": "fixed"}, Scheme("DDRA", 16, True, 3)),
        (
            "fast",
            {"interval": 8, "segment": 24, "bound": 4, "anchors": "fixed"},
            Scheme("DDRA", 8, True, 4),
        ),
        ("compact", {"interval": 5, "segment": 20}, Scheme("DDRA", 5, True, 3)),
        ("small", {"interval": 16}, Scheme("hierarchy", 16, True, 8)),
    ],
)
def test_what_transcoding_makes_is_named(
    tmp_path: Path, profile: str, overrides: dict[str, Any], expected: Scheme
) -> None:
    source, target = write_clip(tmp_path / "source.mp4", frames=70), tmp_path / "new.mp4"
    transcode(str(source), str(target), Settings.of_profile(profile, **overrides))
    assert found(target) == expected


@pytest.mark.parametrize(
    "options",
    ["keyint=250", "keyint=12:bframes=0", "bframes=3:b-pyramid=strict:keyint=250", "keyint=1"],
)
def test_other_streams_are_not(tmp_path: Path, options: str) -> None:
    assert found(write_clip(tmp_path / "clip.mp4", options={"x264-params": options})) is None
