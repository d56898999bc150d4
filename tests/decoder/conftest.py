"""Clips that many tests read."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoder.corpus import Source, source_at
from decoder.index import SourceIndex
from decoder.scan import scan
from tests.clips import write_clip


@pytest.fixture(scope="session")
def h264(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 frames of version 1, B pictures, a key picture every 15."""
    path = tmp_path_factory.mktemp("h264") / "clip.mp4"
    return write_clip(path, version=1, gop=15, b_frames=3, options={"sc_threshold": "0"})


@pytest.fixture
def permissions(tmp_path: Path) -> None:
    """Skips where permissions bind nobody, as for root with all its capabilities."""
    closed = tmp_path / ".closed"
    closed.mkdir(mode=0)
    try:
        closed.joinpath("x").touch()
    except PermissionError:
        return
    finally:
        closed.chmod(0o700)
    pytest.skip("this user may do anything")


@pytest.fixture(scope="session")
def source(h264: Path) -> Source:
    return source_at(str(h264))


@pytest.fixture(scope="session")
def index(source: Source) -> SourceIndex:
    return scan(source)
