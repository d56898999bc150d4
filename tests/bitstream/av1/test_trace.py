"""Every header element agrees with FFmpeg's own parser, as its trace_headers filter prints it."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoder.bitstream.av1.frame import KEY_FRAME
from decoder.bitstream.av1.obu import OBU_FRAME, OBU_SEQUENCE_HEADER, framed

from .clip import corpus_files
from .headers import make_frame, make_sequence
from .svt import RECIPES, encoded, read
from .trace import Unit, compare

PACKETS = 400  # of each clip of the corpus


def check(theirs: list[Unit], ours: list[Unit], *, whole: bool = True) -> set[str]:
    """Compares OBU by OBU; the names of the elements compared."""
    names = set()
    assert [unit.obu_type for unit in theirs] == [unit.obu_type for unit in ours]
    for number, (expected, got) in enumerate(zip(theirs, ours, strict=True)):
        assert got.error is None, f"OBU {number}: {got.error}"
        count = len(got.elements)
        if not whole:
            count = min(count, len(expected.elements))
        assert got.elements[:count] == expected.elements[:count], f"OBU {number}"
        if whole and expected.obu_type == OBU_FRAME:
            assert expected.elements[count][1] == "base_q_idx", f"OBU {number}"
        names |= {name for _, name, _ in got.elements[:count]}
    return names


SEEN = {
    "show_existing_frame", "frame_to_show_map_idx", "showable_frame", "ref_order_hint",
    "error_resilient_mode", "frame_size_override_flag", "found_ref", "use_superres", "coded_denom",
    "render_width_minus_1", "frame_width_minus_1", "seq_level_idx", "use_ref_frame_mvs",
    "context_update_tile_id", "tile_size_bytes_minus_1", "trailing_one_bit",
}  # fmt: skip


def test_streams_of_svt() -> None:
    names = set()
    for name in RECIPES:
        stream = encoded(name)
        for _, theirs, ours in compare(stream.packets, stream.file):
            names |= check(theirs, ours)
    assert names >= SEEN, SEEN - names


def test_made_up_headers() -> None:
    names = set()
    template = encoded("short_gop").file
    for seed in range(150):
        payload, sequence, _ = make_sequence(seed, {"operating_points_cnt_minus_1": seed % 3})
        head, _, _ = make_frame(
            seed, sequence, fixed={"show_existing_frame": 0, "frame_type": KEY_FRAME}
        )
        packet = framed(OBU_SEQUENCE_HEADER, payload) + framed(OBU_FRAME, head + bytes(40))
        for _, theirs, ours in compare([packet], template):
            names |= check(theirs, ours, whole=False)
    assert names >= {
        "num_ticks_per_picture_minus_1", "decoder_buffer_delay", "initial_display_delay_minus_1",
        "delta_frame_id_length_minus_2", "current_frame_id", "frame_presentation_time",
        "buffer_removal_time", "refresh_frame_flags", "twelve_bit", "subsampling_y", "seq_tier",
        "context_update_tile_id", "force_integer_mv", "allow_intrabc",
    }  # fmt: skip


@pytest.mark.parametrize("clip", corpus_files(), ids=lambda clip: clip.name)
def test_clips(clip: Path) -> None:
    stream = read(clip.read_bytes())
    compared = 0
    for _, theirs, ours in compare(stream.packets[:PACKETS], stream.file):
        check(theirs, ours)
        compared += len(ours)
    assert compared > 50
