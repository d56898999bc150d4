"""What encoders are told for the sake of size, on 50 frames of a still camera."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from decoder.corpus import source_at
from encoder import ddra, spans
from encoder.coding import Coding
from encoder.footage import Footage
from encoder.quality import quality
from encoder.settings import LIKE_WITHIN, Settings
from encoder.timing import timing
from encoder.writing import write

SAMPLE = Path(__file__).parents[2] / "sample" / "native264_Lift_frontview.mp4"
FRAMES = 50


@pytest.fixture(scope="module")
def footage() -> Iterator[Footage]:
    with Footage(str(SAMPLE), most=FRAMES) as found:
        yield found


def coded(settings: Settings) -> Coding:
    anchors = spans.evenly(FRAMES, settings.interval, ddra.segment_of(settings))
    return ddra.coding(settings, anchors, FRAMES)


def tried(footage: Footage, path: Path, coding: Coding, crf: float) -> tuple[float, float]:
    """PSNR, and the logarithm of the bytes."""
    when = timing(footage.times, coding.order, footage.last)
    write(footage, str(path), coding, footage.look, when, crf)
    return quality(footage, source_at(str(path))).psnr, math.log(path.stat().st_size)


def bytes_at(psnr: float, points: list[tuple[float, float]]) -> float:
    slope, least = np.polyfit([p for p, _ in points], [size for _, size in points], 1)
    return math.exp(least + slope * psnr)


def told(coding: Coding, **parameters: str) -> Coding:
    """With other parameters of x264."""
    all_of_them = dict(p.split("=") for p in coding.options["x264-params"].split(":"))
    all_of_them |= {name.replace("_", "-"): value for name, value in parameters.items()}
    joined = ":".join(f"{name}={value}" for name, value in all_of_them.items())
    return replace(coding, options={**coding.options, "x264-params": joined})


def untuned(coding: Coding) -> Coding:
    """As x264 does by default for the eyes of people, and with a look ahead of one interval."""
    coding = told(
        coding, rc_lookahead="16", aq_mode="1", aq_strength="1.0", ipratio="1.4", qcomp="0.6"
    )
    return replace(coding, options={**coding.options, "tune": "fastdecode"})


def anchor_bytes(path: Path, coding: Coding) -> int:
    with av.open(str(path)) as container:
        sizes = [packet.size for packet in container.demux(video=0) if packet.size]
    anchors = set(coding.anchors)
    return sum(size for size, frame in zip(sizes, coding.order, strict=True) if frame in anchors)


def test_files_are_smaller_at_the_same_psnr(footage: Footage, tmp_path: Path) -> None:
    coding = coded(Settings.of_profile("fast", anchors="fixed"))
    path = tmp_path / "new.mp4"
    tuned = [tried(footage, path, coding, crf) for crf in (23, 24, 25)]
    plain = [tried(footage, path, untuned(coding), crf) for crf in (17, 18, 19)]
    assert bytes_at(42.5, tuned) < 0.85 * bytes_at(42.5, plain)


@pytest.mark.parametrize("default", [{"ipratio": "1.4"}, {"qcomp": "0.6"}])
def test_anchors_are_smaller_at_the_same_psnr(
    footage: Footage, tmp_path: Path, default: dict[str, str]
) -> None:
    path = tmp_path / "new.mp4"
    coding = coded(Settings.of_profile("fast", anchors="fixed"))
    sizes = []
    for way in (coding, told(coding, **default)):
        points = []
        for crf in (22, 23, 24):
            psnr, _ = tried(footage, path, way, crf)
            points.append((psnr, math.log(anchor_bytes(path, way))))
        sizes.append(bytes_at(42.5, points))
    assert sizes[0] < 0.93 * sizes[1]


def test_the_quality_changes_little_from_one_crf_to_the_next(
    footage: Footage, tmp_path: Path
) -> None:
    """Else there are PSNRs that no crf comes near enough to."""
    coding = coded(Settings.of_profile("fast", anchors="fixed"))
    crfs = np.arange(22.5, 24.1, 0.25)
    found = [tried(footage, tmp_path / "new.mp4", coding, float(crf))[0] for crf in crfs]
    assert max(a - b for a, b in itertools.pairwise(found)) < 2 * LIKE_WITHIN
    assert found[0] - found[-1] > 0.3
