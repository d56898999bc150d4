"""Every header element agrees with FFmpeg's own parser, as its trace_headers filter prints it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.bitstream.trace import Unit

from .clip import corpus_files, encoded
from .syntax import Layout
from .trace import compare
from .writer import Features, write

PACKETS = 60  # of each clip

RECIPES = (
    "default refs_6 b_7_1 weights lsb_4 lsb_5_open layers open_7 open_repeat radl intra_refresh "
    "scenecut field_tff wpp hrd vui scaling lossless format_yuv420p10le format_yuv444p12le "
    "format_gray"
).split()

LAYOUTS = [
    Layout(long_term=True, lists_modification=True, blocks=2, log2_max_lsb=5),
    Layout(output_flag=True, extra_bits=3, sub_layers=3, default_refs=(3, 2)),
]


def check(theirs: list[Unit], ours: list[Unit]) -> int:
    """Compares unit by unit; the number of elements."""
    for number, (expected, got) in enumerate(zip(theirs, ours, strict=True)):
        assert got.error is None, f"unit {number}: {got.error}"
        assert got.elements == expected.elements, f"unit {number}"
    return sum(len(unit.elements) for unit in theirs)


@pytest.mark.parametrize("container", ["mp4", "hevc"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_streams_of_x265(recipe: str, container: str) -> None:
    clip = encoded(recipe, container)
    compared = [check(theirs, ours) for _, theirs, ours in compare(io.BytesIO(clip.file), None)]
    assert len(compared) == len(clip.packets) + 1
    assert all(compared[1:])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_written_streams(layout: Layout) -> None:
    features = Features(layout, long_term=0.3, modified=0.5, hidden=0.2, leading=0.2)
    file = io.BytesIO(write(1, features, 80).file)
    names = set()
    for _, theirs, ours in compare(file, None):
        check(theirs, ours)
        names |= {name for unit in ours for _, name, _ in unit.elements}
    assert names >= {"delta_poc_s0_minus1", "used_by_curr_pic_s1_flag", "slice_type"}
    if layout.long_term:
        assert names >= {"poc_lsb_lt", "delta_poc_msb_cycle_lt"}
    if layout.output_flag:
        assert names >= {"pic_output_flag", "slice_reserved_flag"}


@pytest.mark.parametrize("clip", corpus_files(), ids=lambda clip: clip.name)
def test_clips(clip: Path) -> None:
    assert sum(check(theirs, ours) for _, theirs, ours in compare(str(clip), PACKETS))
