from __future__ import annotations

from pathlib import Path

import pytest

from tests.clips import write_clip


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """70 frames in five GOPs, with B pictures."""
    path = tmp_path_factory.mktemp("bench") / "clip.mp4"
    return write_clip(path, frames=70, gop=15, b_frames=3, options={"sc_threshold": "0"})
