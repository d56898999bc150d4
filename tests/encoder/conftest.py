from __future__ import annotations

from pathlib import Path

import pytest

from tests.clips import write_clip


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """50 frames of 128x96."""
    return write_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", frames=50)
