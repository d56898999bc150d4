"""Frames that were decoded sparsely against hashes stored when somebody asked for them."""

from __future__ import annotations

import pytest

from decoder.corpus import Source
from decoder.index import SourceIndex
from decoder.indexing import index_source, with_hashes
from decoder.reader import FrameReader
from decoder.walking import Verify
from tests.inspection.graphs import forgetful


@pytest.fixture(scope="module")
def hashed(source: Source, index: SourceIndex) -> SourceIndex:
    found = with_hashes(index_source(source), index)
    assert found.feed is not None
    return found


def wrong_frames(
    source: Source, index: SourceIndex, told: SourceIndex, verify: Verify
) -> tuple[int, int]:
    """Frames that come out wrong of 60, and alarms."""
    with FrameReader(source, index=told, verify=verify) as reader:
        found = [n for n in range(59, -1, -1) if reader.frame(n).hash != int(index.frames.hash[n])]
        return len(found), reader.stats.alarms


def test_sound_plans_raise_no_alarm(
    source: Source, index: SourceIndex, hashed: SourceIndex
) -> None:
    assert wrong_frames(source, index, hashed, "always") == (0, 0)


def test_always_lets_no_wrong_frame_through(
    source: Source, index: SourceIndex, hashed: SourceIndex, caplog: pytest.LogCaptureFixture
) -> None:
    assert wrong_frames(source, index, forgetful(hashed), "always") == (0, 1)
    assert "has other pixels than in a full decode" in caplog.text


def test_sample_checks_the_first_frame_of_a_reader(
    source: Source, index: SourceIndex, hashed: SourceIndex
) -> None:
    assert wrong_frames(source, index, forgetful(hashed), "sample") == (0, 1)


def test_never_looks_at_no_hash(source: Source, index: SourceIndex, hashed: SourceIndex) -> None:
    wrong, alarms = wrong_frames(source, index, forgetful(hashed), "never")
    assert wrong > 10
    assert alarms == 0


def test_without_hashes_there_is_nothing_to_compare(source: Source, index: SourceIndex) -> None:
    told = forgetful(index_source(source))
    wrong, alarms = wrong_frames(source, index, told, "always")
    assert wrong > 10
    assert alarms == 0
