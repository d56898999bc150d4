"""The model of the decoding process against the decoder, on streams made for the purpose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from decoder.bitstream.hevc.buffer import DISCARDED, NOT_FOR_OUTPUT
from decoder.bitstream.hevc.process import SKIPPED
from decoder.reader import FrameReader

from .clip import corpus_files, demux, encoded, model, shown_by_decoder
from .syntax import Layout
from .writer import CRA, Features, Written, write

KINDS = {
    "plain": Features(),
    "kept for later": Features(unused=0.5),
    "slices": Features(Layout(blocks=3, max_num_reorder_pics=3)),
    "no reordering declared": Features(Layout(max_num_reorder_pics=0)),
    "small buffer": Features(Layout(max_num_reorder_pics=1, max_dec_pic_buffering=3)),
    "leading": Features(leading=0.4),
    "leading, orphaned": Features(leading=0.4, orphans=0.7),
    "ends": Features(ends=0.8, leading=0.3, sequence=10),
    "few bits": Features(Layout(log2_max_lsb=4), sequence=100),
    "long term": Features(Layout(long_term=True), long_term=0.1),
    "long term, few bits": Features(
        Layout(long_term=True, log2_max_lsb=4), long_term=0.1, sequence=100
    ),
    "modified lists": Features(Layout(lists_modification=True, blocks=2), modified=0.5),
    "not for output": Features(Layout(output_flag=True, extra_bits=2), hidden=0.3),
    "sub-layers": Features(Layout(sub_layers=3)),
}


def shown(written: Written) -> dict[int, np.ndarray[tuple[int, int], np.dtype[np.uint8]]]:
    """Luma by packet, in the order shown."""
    found = {}
    for number, frame in shown_by_decoder(written.packets).items():
        plane = frame.planes[0]
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        found[number] = rows[: frame.height, : frame.width].copy()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_written_streams(kind: str, seed: int) -> None:
    written = write(seed, KINDS[kind])
    decoded = shown(written)
    for number, luma in decoded.items():
        assert (luma == np.hstack(written.pictures[number].luma)).all()
    known = model(written.packets)
    assert known.stream.fallback is None
    assert known.shown == list(decoded)
    hidden = known.stream.hidden
    assert sorted([*known.stream.shown, *hidden]) == list(range(len(known.pictures)))
    for picture, coded in zip(known.pictures, written.pictures, strict=True):
        if hidden.get(coded.number) != SKIPPED:
            assert coded.read <= set(picture.references)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("plain", set()), ("ends", {SKIPPED, DISCARDED}), ("not for output", {NOT_FOR_OUTPUT})],
)
def test_pictures_that_are_not_shown_have_a_reason(kind: str, expected: set[str]) -> None:
    reasons: set[str] = set()
    for seed in range(8):
        packets = write(seed, KINDS[kind]).packets
        known = model(packets)
        if known.stream.fallback is None:
            assert known.shown == list(shown_by_decoder(packets))
            reasons |= set(known.stream.hidden.values())
    assert reasons == expected


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_decoding_of_written_streams(kind: str, tmp_path: Path) -> None:
    written = write(3, KINDS[kind])
    decoded = shown(written)
    path = tmp_path / "written.hevc"
    path.write_bytes(written.file)
    with FrameReader(str(path)) as reader:
        assert reader.index.feed is not None, reader.index.facts.fallback
        assert len(reader) == len(decoded)
        for n, luma in enumerate(decoded.values()):
            if n % 2:
                assert (reader.frame(n).planes[0] == luma).all()
        for first in range(0, len(reader) - 9, 7):
            wanted = [first + 8, first, first + 3]
            frames = dict(reader.frames(wanted))
            for n in wanted:
                assert (frames[n].planes[0] == list(decoded.values())[n]).all()
        assert reader.stats.alarms == 0


RECIPES = (
    "default b_16_1 lsb_4 lsb_5_open layers open_3 open_16 open_repeat radl closed intra_refresh "
    "scenecut field_bff wpp hrd weights format_yuv422p10le format_gray"
).split()


@pytest.mark.parametrize("recipe", RECIPES)
def test_frames_of_x265(recipe: str) -> None:
    for container in ("mp4", "hevc"):
        clip = encoded(recipe, container)
        known = model(clip.packets, clip.extradata)
        frames = shown_by_decoder(clip.packets, clip.extradata)
        assert known.stream.fallback is None
        assert known.shown == list(frames)
        kinds = {
            known.pictures[i].packets[0]: known.pictures[i].picture_type for i in known.stream.shown
        }
        assert kinds == {number: "?IPB"[int(frame.pict_type)] for number, frame in frames.items()}


@pytest.mark.parametrize("path", corpus_files(), ids=lambda path: path.name)
def test_frames_of_clips(path: Path) -> None:
    clip = demux(str(path))
    packets = clip.packets[:40]
    known = model(packets, clip.extradata)
    assert known.stream.fallback is None
    assert known.shown == list(shown_by_decoder(packets, clip.extradata))


def test_closed_sequences_are_segments_and_their_first_pictures_starts() -> None:
    pictures = model(encoded("closed", "hevc").packets).pictures
    starts = [n for n, p in enumerate(pictures) if p.is_rap]
    assert len(starts) == 3
    assert [pictures[n].order for n in starts] == [(k, 0) for k in range(3)]
    assert all(p.segment == p.order[0] and p.droppable and p.modulus == 256 for p in pictures)


def test_a_random_access_point_with_pictures_that_read_across_it_is_none() -> None:
    """Its RASL pictures need what is before it; decoding may start with it for all others."""
    clip = encoded("open_3", "hevc")
    pictures = model(clip.packets).pictures
    kinds = [packet_kind(data) for data in clip.packets]
    first = next(n for n, kind in enumerate(kinds) if kind == CRA and kinds[n + 1] in (8, 9))
    assert (pictures[first].is_rap, pictures[first].preamble) == (False, ())
    n = first + 1
    while kinds[n] in (8, 9):
        assert first in pictures[n].references
        assert min(pictures[n].references) < first
        n += 1
    assert min(pictures[n].references) >= first
    cut = model([clip.packets[0], *clip.packets[first : first + 1]])
    assert cut.pictures[1].is_rap


def packet_kind(data: bytes) -> int:
    """Type of the last NAL unit of an Annex B packet."""
    return data[data.rindex(b"\x00\x00\x01") + 3] >> 1


def test_a_raster_of_other_sizes_is_another_configuration() -> None:
    small = encoded("closed", "hevc", 20)
    large = write(1, Features(Layout(blocks=2)), 20)
    known = model([*small.packets, *large.packets, *small.packets])
    assert known.stream.fallback is None
    numbers = [p.configuration for p in known.pictures]
    assert sorted(set(numbers)) == [0, 1]
    assert numbers[0] == numbers[-1] == 0
    frames = shown_by_decoder([*small.packets, *large.packets, *small.packets])
    assert known.shown == list(frames)
    sizes = {n: known.pictures[n].configuration for n in known.stream.shown}
    assert [(f.width, f.height) for f in frames.values()] == [
        ((frames[0].width, frames[0].height), (32, 16))[kind] for kind in sizes.values()
    ]


def test_sets_that_change_in_a_sequence_are_handed_on(tmp_path: Path) -> None:
    """Another PPS under the same id, in the middle: both kinds of pictures stay readable."""
    first = Features(Layout(default_refs=(1, 1)))
    second = replace(first.layout, default_refs=(3, 2))
    written = write(5, first, 40, switch=(20, second))
    known = model(written.packets)
    assert known.stream.fallback is None
    assert sum(f.parameter_sets for f in known.stream.packets) == 2
    path = tmp_path / "written.hevc"
    path.write_bytes(written.file)
    decoded = list(shown(written).values())
    with FrameReader(str(path)) as reader:
        assert reader.index.feed is not None
        for n in (30, 2, len(decoded) - 1, 19, 25):
            assert (dict(reader.frames([n, 5]))[n].planes[0] == decoded[n]).all()
        assert reader.stats.alarms == 0
