"""A file that is not what was promised is found out, whatever it is that differs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from encoder import ddra, spans
from encoder.check import BoundMissed, checked
from encoder.coding import Coding
from encoder.errors import CheckFailed
from encoder.footage import Footage, Look
from encoder.screen import Screen
from encoder.settings import Settings
from encoder.timing import Timing, timing
from encoder.unit import transcode
from tests.clips import write_clip

Promise = tuple[Path, Coding, Look, Timing]

SETTINGS = Settings.of_profile("fast", interval=8, segment=24, anchors="fixed")


@pytest.fixture(scope="module")
def promise(tmp_path_factory: pytest.TempPathFactory) -> Promise:
    """A good file of 50 frames, and what is promised of it."""
    folder = tmp_path_factory.mktemp("check")
    source = write_clip(folder / "source.mp4", frames=50)
    target = folder / "new.mp4"
    transcode(str(source), str(target), SETTINGS)
    with Footage(str(source)) as footage:
        coding = ddra.coding(SETTINGS, spans.evenly(50, 8, 25), 50)
        when = timing(footage.times, coding.order, footage.last)
        return target, coding, footage.look, when


def test_a_good_file_passes(promise: Promise) -> None:
    path, coding, look, when = promise
    found = checked(str(path), coding, look, when)
    assert (found.worst, len(found.index.frames.hash)) == (3, 50)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("width", 126),
        ("pixel_format", "yuv422p"),
        ("bits", 10),
        ("range", 2),
        ("matrix", 1),
        ("primaries", 9),
        ("transfer", 16),
        ("sample_aspect_ratio", Fraction(4, 3)),
        ("display_matrix", (0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30)),
        ("interlaced", True),
        ("screen", Screen(light=(1000, 400))),
    ],
)
def test_another_look(promise: Promise, field: str, value: object) -> None:
    path, coding, look, when = promise
    other: dict[str, Any] = {field: value}
    with pytest.raises(CheckFailed, match=field.split("_")[0]):
        checked(str(path), coding, replace(look, **other), when)


def test_another_time_or_number_of_frames(promise: Promise) -> None:
    path, coding, look, when = promise
    late = (*when.pts[:-1], when.pts[-1] + 1)
    with pytest.raises(CheckFailed, match="frame 49 is shown at"):
        checked(str(path), coding, look, replace(when, pts=late))
    with pytest.raises(CheckFailed, match="shows 50 frames, not 49"):
        checked(str(path), coding, look, replace(when, pts=when.pts[:-1]))


def test_a_closure_larger_than_promised(promise: Promise) -> None:
    path, coding, look, when = promise
    with pytest.raises(BoundMissed, match="needs 3 pictures, more than 2"):
        checked(str(path), replace(coding, bound=2), look, when)


def test_anchors_and_sync_samples_elsewhere(promise: Promise) -> None:
    path, coding, look, when = promise
    with pytest.raises(CheckFailed, match="frame 9 is to be an anchor"):
        checked(str(path), replace(coding, anchors=(0, 9)), look, when)
    fewer = tuple(n for n in coding.anchors if n != 8)
    with pytest.raises(CheckFailed, match="frame 8 is to be a B picture"):
        checked(str(path), replace(coding, anchors=fewer), look, when)
    with pytest.raises(CheckFailed, match="sync samples"):
        checked(str(path), replace(coding, starts=(0, 24)), look, when)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("bframes=7:b-pyramid=none:keyint=8:min-keyint=1:scenecut=0:b-adapt=0", "anchor|B picture"),
        ("bframes=0:keyint=1000", "anchor"),
        ("bframes=7:b-pyramid=strict:keyint=1000:b-adapt=0", "anchor"),
    ],
)
def test_what_x264_makes_when_nothing_is_forced(
    promise: Promise, tmp_path: Path, options: str, words: str
) -> None:
    _, coding, look, when = promise
    path = write_clip(tmp_path / "other.mp4", frames=50, options={"x264-params": options})
    with pytest.raises(CheckFailed, match=words):
        checked(str(path), coding, look, when)


def test_b_pictures_that_others_read(promise: Promise, tmp_path: Path) -> None:
    path, coding, look, when = promise
    source = path.parent / "source.mp4"
    target = tmp_path / "new.mp4"
    transcode(str(source), str(target), SETTINGS.replaced(bound=4))
    with pytest.raises(CheckFailed, match="may be read by others"):
        checked(str(target), coding, look, when)


def test_a_file_that_ffmpeg_warns_about(promise: Promise, tmp_path: Path) -> None:
    path, coding, look, when = promise
    content = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        largest = max(container.demux(video=0), key=lambda packet: packet.size)
    position = largest.pos
    assert position is not None
    middle = position + largest.size // 2
    content[middle : middle + 200] = bytes(200)
    damaged = tmp_path / "damaged.mp4"
    damaged.write_bytes(content)
    with pytest.raises(CheckFailed, match="FFmpeg warns while it plays it"):
        checked(str(damaged), coding, look, when)


def test_a_file_that_ends_early(promise: Promise, tmp_path: Path) -> None:
    path, coding, look, when = promise
    short = tmp_path / "short.mp4"
    short.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(CheckFailed, match="cannot be read"):
        checked(str(short), coding, look, when)
