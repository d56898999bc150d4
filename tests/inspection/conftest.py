from __future__ import annotations

import pytest

from decoder.corpus import Source, source_at
from decoder.index import SourceIndex
from decoder.indexing import index_source
from tests.clips import write_clip


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """64 frames, a random access point every 16, three B pictures in between."""
    path = tmp_path_factory.mktemp("inspection") / "clip.mp4"
    x264 = "keyint=16:min-keyint=16:scenecut=0:bframes=3:b-adapt=0:b-pyramid=none:open-gop=0"
    write_clip(path, frames=64, options={"x264-params": x264})
    return source_at(str(path))


@pytest.fixture(scope="session")
def index(source: Source) -> SourceIndex:
    found = index_source(source)
    assert found.feed is not None
    return found
