"""Every header element agrees with FFmpeg's own parser, as its trace_headers filter prints it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from decoder.errors import InvalidSyntax
from tests.x264 import ALL_SYNTAX, encoded

from .clip import corpus_files
from .trace import Unit, compare

PACKETS = 60  # of each clip

# Clips that are broken at some packet: there FFmpeg refuses a unit, or the packet as a whole
BROKEN = {
    "decord__corrupted.mp4": "NAL unit length",
    "s10c_mdat_truncated.mp4": "NAL unit length",
    "s40_corrupt.mkv": "NAL unit length",
    "mediabunny__annex-b.mp4": "",
}


def check(theirs: list[Unit], ours: list[Unit]) -> int:
    """Compares unit by unit; the number of elements."""
    for number, (expected, got) in enumerate(zip(theirs, ours, strict=True)):
        assert got.error is None, f"unit {number}: {got.error}"
        assert got.elements == expected.elements, f"unit {number}"
    return sum(len(unit.elements) for unit in theirs)


@pytest.mark.parametrize("container", ["mp4", "h264"])
@pytest.mark.parametrize("recipe", ALL_SYNTAX)
def test_streams_of_x264(recipe: str, container: str) -> None:
    stream = encoded(recipe, container)
    compared = [check(theirs, ours) for _, theirs, ours in compare(io.BytesIO(stream.file), None)]
    assert len(compared) == len(stream.packets) + 1
    assert all(compared[1:])


def test_the_streams_have_every_branch_that_x264_can_write() -> None:
    names = {
        name
        for recipe in ALL_SYNTAX
        for _, theirs, _ in compare(io.BytesIO(encoded(recipe).file), None)
        for unit in theirs
        for _, name, _ in unit.elements
    }
    assert names >= {
        "delta_scale", "cpb_cnt_minus1", "max_dec_frame_buffering", "delta_pic_order_cnt_bottom",
        "abs_diff_pic_num_minus1", "luma_offset_l0", "chroma_offset_l0",
        "difference_of_pic_nums_minus1", "slice_alpha_c0_offset_div2", "cabac_init_idc",
        "direct_spatial_mv_pred_flag", "num_ref_idx_l1_active_minus1", "field_pic_flag",
    }  # fmt: skip


@pytest.mark.parametrize("clip", corpus_files(), ids=lambda clip: clip.name)
def test_clips(clip: Path) -> None:
    compared = 0
    try:
        for _, theirs, ours in compare(str(clip), PACKETS):
            if clip.name in BROKEN and len(theirs) != len(ours):
                continue  # FFmpeg gave the packet up
            compared += check(theirs, ours)
    except InvalidSyntax as error:
        assert BROKEN.get(clip.name)
        assert BROKEN[clip.name] in str(error)  # noqa: PT017
    assert compared
