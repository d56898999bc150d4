"""The exactness protocol in short: a few frames of every clip, through a real mount."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exactness import check, clips_below, folder_of
from tests.mounting import mounted

FRAMES = 12
"""Read of each clip; ``make exactness`` reads up to 400."""


@pytest.fixture(scope="module")
def mount(fuse: None, clips: Path) -> Iterator[Path]:
    with mounted(clips) as mountpoint:
        yield mountpoint


@pytest.mark.timeout(600)
def test_every_clip_of_the_corpus_is_shown_exactly_or_refused_with_a_reason(
    clips: Path, mount: Path
) -> None:
    found = clips_below(clips)
    assert found
    faults = []
    for clip in found:
        folder = mount / clip.relative_to(clips).with_name(folder_of(clip, found))
        verdict = check(folder, clip, limit=FRAMES, sample=FRAMES, seed=7)
        faults += [f"{clip.name}: {fault}" for fault in verdict.faults]
    assert not faults
