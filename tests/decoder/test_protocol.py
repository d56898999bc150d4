"""The protocol of sparse decoding in short; ``make protocol`` is the whole of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.protocol import Stream, Truth, check, streams

SEED = 7

_CORPUS = os.environ.get("FRAMEFS_CORPUS")
_LARGEST = 3_000_000
"""Bytes of a clip of the corpus that is taken into the reduced protocol."""


def reduced() -> list[Stream]:
    """A third of the structures of encoders, some written streams, small clips of the corpus."""
    corpus = Path(_CORPUS) if _CORPUS else None
    every = streams(SEED, 14, corpus)
    encoded = [stream for stream in every if stream.kind in ("x264", "x265")]
    clips = [stream for stream in every if stream.kind.startswith("clips") and stream.weight > 0.3]
    assert corpus is None or clips
    return [
        *encoded[::3],
        *[stream for stream in every if stream.kind == "written"],
        *[clip for clip in clips if corpus and (corpus / clip.name).stat().st_size < _LARGEST][::2],
    ]


@pytest.mark.parametrize("stream", reduced(), ids=lambda stream: stream.name)
def test_frames_are_those_of_a_full_decode(stream: Stream, tmp_path: Path) -> None:
    path = stream.make(tmp_path)
    verdict = check(path, Truth.of(path), stream, SEED, (8, 60))
    assert verdict.faults == []
    assert verdict.wrong == verdict.missing == 0
    assert verdict.requests >= 8 or not verdict.frames
