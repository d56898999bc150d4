"""The protocol of sparse decoding in short; ``make protocol`` is the whole of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.protocol import Truth, check
from tests.streams import CODECS, Stream, streams

SEED = 7

_CORPUS = os.environ.get("FRAMEFS_CORPUS")
_LARGEST = 1_000_000
"""Bytes of a clip of the corpus that is taken into the reduced protocol."""

_STEP = 3
"""Of so many encoded streams one is taken."""


def reduced(codec: str) -> list[Stream]:
    """A third of the encoded streams, some written ones, half of the small clips of the corpus."""
    corpus = Path(_CORPUS) if _CORPUS else None
    every = streams(codec, SEED, 14, corpus)
    clips = [stream for stream in every if stream.kind.startswith("clips") and stream.weight > 0.3]
    written = [stream for stream in every if stream.kind == "written"]
    encoded = [s for s in every if s.kind != "written" and not s.kind.startswith("clips")]
    assert corpus is None or clips
    return [
        *encoded[::_STEP],
        *written,
        *[clip for clip in clips if corpus and (corpus / clip.name).stat().st_size < _LARGEST][::2],
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams")


@pytest.mark.parametrize(
    "stream",
    [stream for codec in CODECS for stream in reduced(codec)],
    ids=lambda stream: f"{stream.codec}-{stream.name}",
)
def test_frames_are_those_of_a_full_decode(stream: Stream, folder: Path) -> None:
    path = stream.make(folder)
    verdict = check(path, Truth.of(path), stream, SEED, (8, 60))
    assert verdict.faults == []
    assert verdict.wrong == verdict.missing == 0
    assert verdict.requests >= 8 or not verdict.frames
