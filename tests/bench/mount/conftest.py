from __future__ import annotations

from pathlib import Path

import pytest

from bench.mount import corpora
from bench.mount.corpora import Corpus
from tests.clips import write_clip


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two clips of 60 and 45 frames, with B pictures."""
    folder = tmp_path_factory.mktemp("videos")
    return [
        write_clip(folder / f"{name}.mp4", frames=frames, gop=30, b_frames=3)
        for name, frames in (("one", 60), ("two", 45))
    ]


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what is made of the clips is kept."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="session")
def corpus(videos: list[Path], kept: Path) -> Corpus:
    return corpora.prepare(kept, videos, None, lambda words: None)
