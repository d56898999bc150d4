"""Damaged files: what is served equals the scan, nothing hangs, nothing but DecoderError comes."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decoder.corpus import source_at
from decoder.errors import DecodeFailed, DecoderError, SourceUnreadable
from decoder.pixels import Pixels
from decoder.reader import FrameReader
from decoder.scan import scan
from tests.clips import write_clip
from tests.oracle import full_frames

KINDS: dict[str, dict[str, Any]] = {
    "h264.mp4": {"gop": 10},
    "h264.mkv": {"gop": 10},
    "h264.ts": {"gop": 10},
    "h264.h264": {"gop": 10},
    "h264.avi": {"gop": 10, "b_frames": 2},
    "h264.flv": {"gop": 10},
    "hevc.mp4": {"codec": "libx265", "options": {"x265-params": "log-level=none"}, "gop": 10},
    "vp8.webm": {"codec": "libvpx", "gop": 10},
    "vp9.webm": {"codec": "libvpx-vp9", "options": {"cpu-used": "8"}, "gop": 10},
    "av1.mkv": {"codec": "libsvtav1", "options": {"preset": "12"}, "gop": 10},
    "mpeg4.avi": {"codec": "mpeg4", "b_frames": 2, "gop": 10},
    "mpeg2.mpg": {"codec": "mpeg2video", "b_frames": 2, "gop": 10},
    "wmv2.wmv": {"codec": "wmv2", "gop": 10},
    "mjpeg.mov": {"codec": "mjpeg", "pix_fmt": "yuvj420p"},
    "gif.gif": {"codec": "gif", "pix_fmt": "rgb8", "fps": 10},
    "ffv1.mkv": {"codec": "ffv1", "gop": 10},
    "png.mov": {"codec": "png", "pix_fmt": "rgb24"},
    "raw.y4m": {"codec": "wrapped_avframe"},
    "prores.mov": {"codec": "prores_ks", "pix_fmt": "yuv422p10le"},
}

PATIENCE = 20.0
"""Seconds that no damaged clip of this size may take."""


def damaged(content: bytes, rng: random.Random) -> bytes:
    hurt = bytearray(content)
    kind = rng.randrange(5)
    if kind == 0:  # single bits anywhere
        for _ in range(rng.choice([1, 5, 50])):
            hurt[rng.randrange(len(hurt))] ^= 1 << rng.randrange(8)
    elif kind == 1:  # in the headers, where containers keep counts and sizes
        for _ in range(rng.choice([1, 4])):
            hurt[rng.randrange(min(len(hurt), 600))] = rng.choice([0, 0x7F, 0xFF, 0x80])
    elif kind == 2:
        del hurt[rng.randrange(len(hurt)) :]
    elif kind == 3:  # at the end, where MP4 and AVI keep their tables
        for _ in range(10):
            hurt[rng.randrange(max(0, len(hurt) - 1500), len(hurt))] = rng.randrange(256)
    else:  # a block of another file
        start = rng.randrange(len(hurt))
        length = min(rng.choice([16, 512, 4096]), len(hurt) - start)
        hurt[start : start + length] = rng.randbytes(length)
    return bytes(hurt)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("sound")
    return {
        name: write_clip(folder / name, frames=24, size=(64, 48), **options).read_bytes()
        for name, options in KINDS.items()
    }


@pytest.mark.parametrize("name", KINDS)
def test_damaged(tmp_path: Path, sound: dict[str, bytes], name: str) -> None:
    rng = random.Random(name)
    for number in range(8):
        path = tmp_path / f"{number}-{name}"
        path.write_bytes(damaged(sound[name], rng))
        began = time.monotonic()
        try:
            read_at_random(path, rng)
        except Exception as error:
            error.add_note(f"clip {path}")
            raise
        assert time.monotonic() - began < PATIENCE


def read_at_random(path: Path, rng: random.Random) -> None:
    source = source_at(str(path))
    try:
        index = scan(source)
    except SourceUnreadable:
        return
    hashes = index.frames.hash
    wanted = [rng.randrange(index.frame_count) for _ in range(8)]
    served = 0
    with FrameReader(source, index=index) as reader:
        for n in wanted:
            try:
                pixels = reader.frame(n)
            except DecodeFailed:
                continue
            assert pixels.hash == int(hashes[n])
            try:
                assert pixels.array("rgb24").shape[:2] == index.shape(n)
            except DecoderError:
                continue
            served += 1
    assert served >= len(wanted) // 2


@pytest.mark.parametrize("name", ["s10c_mdat_truncated.mp4", "s39_missing_ref.mp4"])
def test_frames_around_the_damage_are_those_of_the_sound_clip(clips: Path, name: str) -> None:
    good = {shown.digest for shown in full_frames(clips / "synth" / "s01_base.mp4")}
    kept = sum(shown.digest in good for shown in full_frames(clips / "synth" / name))
    with FrameReader(clips / "synth" / name) as reader:
        for n, shown in enumerate(full_frames(clips / "synth" / name)):
            assert Pixels(shown.native).hash == reader.frame(n).hash
    assert kept > 25


def test_truncated_at_every_length(tmp_path: Path) -> None:
    content = write_clip(tmp_path / "a.ts", frames=20, gop=5, size=(64, 48)).read_bytes()
    path = tmp_path / "b.ts"
    counts = []
    for length in np.linspace(0, len(content), 25, dtype=int).tolist():
        path.write_bytes(content[:length])
        try:
            with FrameReader(path) as reader:
                counts.append(len(reader))
                reader.frame(len(reader) - 1)
        except SourceUnreadable:
            counts.append(0)
    assert counts[0] == 0
    assert counts[-1] == 20
    assert counts == sorted(counts)
