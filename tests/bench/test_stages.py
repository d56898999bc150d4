from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.stages import STAGES, floor, profile, stage_of

NUMPY = "/env/lib/python3.11/site-packages/numpy/_core/shape_base.py"


@pytest.mark.parametrize(
    ("file", "function", "stage"),
    [
        ("~", "<method 'decode' of 'av.codec.context.CodecContext' objects>", "decode"),
        ("~", "<method 'flush_buffers' of 'av.codec.context.CodecContext' objects>", "decode"),
        ("~", "<method 'to_ndarray' of 'av.video.frame.VideoFrame' objects>", "convert"),
        ("~", "<method 'seek' of 'av.container.input.InputContainer' objects>", "read"),
        ("~", "<built-in method posix.pread>", "read"),
        ("~", "<av.container.core.open>", "read"),
        ("~", "<built-in method builtins.len>", "other"),
        ("~", "<method 'update' of 'xxhash.xxh3_64' objects>", "check"),
        (NUMPY, "stack", "copy"),
        (NUMPY, "atleast_1d", "other"),
        ("/home/me/decoder/plan.py", "plan", "plan"),
        ("/home/me/decoder/closure.py", "closure", "plan"),
        ("/home/me/decoder/packets.py", "packet", "read"),
        ("/home/me/decoder/media.py", "packets", "read"),
        ("/home/me/decoder/media.py", "decode", "decode"),
        ("/home/me/decoder/pixels.py", "array", "convert"),
        ("/home/me/decoder/pixels.py", "hash", "check"),
        ("/home/me/decoder/reader.py", "read", "other"),
        ("/home/me/elsewhere/plan.py", "plan", "other"),
    ],
)
def test_functions_are_sorted_into_stages(file: str, function: str, stage: str) -> None:
    assert stage_of(file, function) == stage


def test_a_profile_adds_up() -> None:
    images = [np.zeros((400, 400, 3), np.uint8)] * 50

    def call() -> None:
        for _ in range(5):
            np.stack(images)

    found = profile(call)
    assert tuple(found["stages"]) == STAGES
    assert found["stages"]["copy"] > 0.5 * found["ms"]
    assert sum(found["stages"].values()) == pytest.approx(found["ms"], rel=0.2)
    assert found["plain_ms"] > 0
    place, stage, ms, calls = found["top"][0]
    assert ("stack" in place, stage, calls) == (True, "copy", 5)
    assert ms > 0


def test_the_bare_decoder_is_measured(clip: Path) -> None:
    found = floor(str(clip))
    assert set(found) == {"decode", "convert", "copy"}
    assert all(0 < value < 1000 for value in found.values())
