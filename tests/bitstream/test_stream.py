"""The model of the decoding process against the decoder, on streams made for the purpose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from decoder.bitstream import nal
from decoder.bitstream.h264.output import LATE, NOT_RECOVERED
from decoder.bitstream.h264.process import BEFORE_START, GAP_ORDER, LOSS
from decoder.bitstream.h264.stream import MIXED, UNPAIRED, PictureStream
from decoder.bitstream.h264.stub import StateOnlySlice, packet
from tests.x264 import BASE, Recipe

from .buffer import buffers
from .clip import Clip, clip_of, demux, h264_files, model, sequential
from .prediction import wrong_predictions
from .writer import Features, random_features, write

KINDS = {
    "progressive": Features(),
    "one reference": Features(max_refs=1, marking=True),
    "fields": Features(fields=True, max_refs=4),
    "fields in one packet": Features(fields=True, one_packet=True),
    "interlaced_tff_4": Features(mbaff=True, max_refs=3),
    "mixed": Features(fields=True, mbaff=True, marking=True, slices=True, max_refs=6),
    "long term": Features(long_term=True, marking=True),
    "long term fields": Features(fields=True, long_term=True, marking=True, max_refs=6),
    "order 1": Features(fields=True, order_type=1),
    "order 2": Features(fields=True, order_type=2, long_term=True),
    "reset": Features(reset=True, marking=True),
    "gaps": Features(gaps=True, marking=True, long_term=True),
    "gaps beside fields": Features(gaps=True, fields=True, max_refs=3),
    "undeclared delay": Features(restriction=False, max_refs=8),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_sample_comes_from_the_reference_the_lists_name(kind: str, seed: int) -> None:
    assert wrong_predictions(write(seed, KINDS[kind])) == []


def compare_buffers(clip: Clip) -> int:
    """Packets after which the decoder's buffer was seen; it must be the model's."""
    stream = PictureStream(clip.extradata, delay=clip.delay)
    shift: int | None = None
    seen = 0
    for number, dump in enumerate(buffers(clip.extradata, clip.packets)):
        sequence = stream.process.sequence
        stream.feed(clip.packets[number])
        if not dump:
            continue
        short, long = stream.process.buffer.state()
        own = [("short", i, *entry) for i, entry in enumerate(short)]
        own += [("long", *entry) for entry in long]
        assert [entry[:3] for entry in own] == [entry[:3] for entry in dump], number
        shifts = {theirs[3] - ours[3] for ours, theirs in zip(own, dump, strict=True)}
        if stream.process.sequence != sequence and not stream.process._list_count:
            shift = None
        if shift is None:
            (shift,) = shifts
        assert shifts == {shift}, number
        seen += 1
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_the_buffer_is_that_of_the_decoder(kind: str) -> None:
    assert compare_buffers(write(3, KINDS[kind]).clip) > 30


@pytest.mark.parametrize(
    "parameters",
    ["ref=16:bframes=16:b-pyramid=normal", "open-gop=1:ref=5", "tff=1:ref=4", "intra-refresh=1"],
)
def test_the_buffer_is_that_of_the_decoder_for_x264(parameters: str) -> None:
    assert compare_buffers(clip_of(Recipe("x264", f"{BASE}:{parameters}"))) == 60


NOT_FOLLOWED = ("corrupted", "jcodec__test.264", "explicit", "annex-b", "s10c", "s40")


def test_the_buffer_is_that_of_the_decoder_for_clips(clips: Path) -> None:
    for path in h264_files(clips):
        if not any(part in path.name for part in NOT_FOLLOWED):
            assert compare_buffers(demux(path, 40)) > 0 or path.stat().st_size < 10_000


@pytest.mark.parametrize("seed", range(6))
def test_frames_and_their_order_are_those_of_the_decoder(seed: int) -> None:
    clip = write(seed, random_features(seed)).clip
    assert model(clip).shown == sequential(clip).order


def test_pictures_that_come_too_late_have_a_reason() -> None:
    for seed in range(20):
        clip = write(seed, Features(restriction=False)).clip
        known = model(clip)
        hidden = known.stream.hidden
        shown = sequential(clip).order
        assert len(shown) + len(hidden) == len(known.pictures)
        if hidden:
            assert set(hidden.values()) == {LATE}
            return
    pytest.fail("no stream of this kind: other seeds, please")


def test_a_stream_that_starts_in_the_middle() -> None:
    whole = clip_of(Recipe("middle", f"{BASE}:ref=3"), "h264")
    first = whole.packets[0]
    head = [unit for unit in nal.split(first, 0) if unit[0] & 31 in (7, 8)]
    cut = Clip("cut", b"", [nal.join(head, 0) + whole.packets[5], *whole.packets[6:]], whole.delay)
    known = model(cut)
    assert known.stream.fallback is None
    reasons = set(known.stream.hidden.values())
    assert reasons == {NOT_RECOVERED}
    assert known.shown == sequential(cut).order
    assert any(picture.unsafe for picture in known.pictures[:19])
    assert not any(picture.unsafe for picture in known.pictures[19:])


def test_a_lost_reference_makes_the_rest_of_its_sequence_unsafe() -> None:
    clip = clip_of(Recipe("loss", f"{BASE}:bframes=0:ref=2"))
    del clip.packets[10]
    known = model(clip)
    assert [picture.unsafe for picture in known.pictures[:10]] == [None] * 10
    assert {picture.unsafe for picture in known.pictures[10:23]} == {LOSS}
    assert [picture.unsafe for picture in known.pictures[23:]] == [None] * 36


def test_a_lost_reference_behind_a_picture_with_its_number_is_noticed() -> None:
    clip = clip_of(Recipe("loss", "keyint=60:bframes=3:b-pyramid=none:ref=1:b-adapt=0"))
    pictures = model(clip).pictures
    lost = next(
        i for i in range(6, 50) if pictures[i].is_reference and not pictures[i - 1].is_reference
    )
    del clip.packets[lost]
    known = model(clip)
    assert known.pictures[lost].unsafe == LOSS
    assert not known.pictures[lost - 1].droppable


def test_gaps_that_the_sequence_allows_are_followed() -> None:
    known = model(write(1, KINDS["gaps"]).clip)
    assert known.stream.fallback is None
    assert not any(picture.unsafe for picture in known.pictures)


def test_a_gap_with_counts_from_frame_num_is_not_trusted() -> None:
    known = model(write(1, Features(order_type=2, gaps=True, unsafe=True)).clip)
    assert {p.unsafe for p in known.pictures if p.unsafe} == {GAP_ORDER}


def replace_packets(clip: Clip, packets: list[bytes]) -> Clip:
    return replace(clip, packets=packets)


def _field_packets() -> tuple[Clip, int]:
    """A stream of field pairs, and the ordinal of a second field of references."""
    clip = write(4, Features(fields=True)).clip
    for picture in model(clip).pictures[3:]:
        if len(picture.packets) == 2 and picture.is_reference:
            return clip, picture.packets[1]
    pytest.fail("no field pair: another seed, please")


def test_a_field_without_partner_stops_the_listing_from_headers() -> None:
    clip, second = _field_packets()
    packets = [*clip.packets[:second], *clip.packets[second + 1 :]]
    assert UNPAIRED in (model(replace_packets(clip, packets)).stream.fallback or "")


def test_a_last_field_without_partner_is_one_hidden_picture() -> None:
    clip, second = _field_packets()
    cut = replace_packets(clip, clip.packets[:second])
    known = model(cut)
    assert known.stream.fallback is None
    assert known.pictures[-1].unsafe == UNPAIRED
    assert known.shown == sequential(cut).order


def test_a_reference_field_and_another_one_do_not_make_a_picture() -> None:
    clip, second = _field_packets()
    stream = PictureStream(b"")
    for data in clip.packets[: second + 1]:
        stream.feed(data)
    assert stream._held is not None
    field = structs.replace(StateOnlySlice.of(stream._held.header), nal_ref_idc=0)
    packets = [*clip.packets]
    packets[second] = packet([field], 31, nal.ANNEX_B)
    assert MIXED in (model(replace_packets(clip, packets)).stream.fallback or "")


def test_one_field_after_the_other_in_one_packet_or_two() -> None:
    for features, count in ((KINDS["fields"], 2), (KINDS["fields in one packet"], 1)):
        pairs = [p for p in model(write(1, features).clip).pictures if len(p.packets) == count]
        assert pairs
        for picture in pairs:
            if picture.is_reference and picture.state_only is not None:
                assert len(picture.state_only) == count


@pytest.mark.parametrize("kind", [2, 3, 4])
def test_data_partitions_stop_the_listing_from_headers(kind: int) -> None:
    clip = clip_of(Recipe("partition", BASE, frames=4), "h264")
    packets = [*clip.packets, nal.join([bytes((0x20 | kind, 0x88, 0x80))], 0)]
    known = model(replace_packets(clip, packets))
    assert known.stream.fallback == "data partitioning"


def test_what_stops_the_listing_from_headers() -> None:
    clip = clip_of(Recipe("broken", BASE, frames=8), "h264")
    joined = [clip.packets[0], clip.packets[1] + clip.packets[2], *clip.packets[3:]]
    assert "more than one frame" in (model(replace_packets(clip, joined)).stream.fallback or "")
    cut = [clip.packets[0], b"\x00\x00\x00\x01\x41", *clip.packets[1:]]
    assert "packet 1" in (model(replace_packets(clip, cut)).stream.fallback or "")
    stream = PictureStream(b"")
    stream.feed(clip.packets[0], new_extradata=b"\x01")
    assert "extradata" in (stream.fallback or "")
    assert PictureStream(b"\x01\x64\x00").fallback is not None


def test_a_picture_that_lacks_its_first_slice() -> None:
    clip = clip_of(Recipe("slices", f"{BASE}:slices=3", frames=8), "h264")
    units = nal.split(clip.packets[2], 0)
    slices = [unit for unit in units if unit[0] & 31 == 1]
    packets = [*clip.packets]
    packets[2] = nal.join(slices[1:], 0)
    assert "macroblock 0" in (model(replace_packets(clip, packets)).stream.fallback or "")


def test_the_stub_parameter_set_must_not_be_in_the_stream() -> None:
    clip = clip_of(Recipe("clash", BASE, frames=3), "h264")
    stream = PictureStream(b"", stub_pps_id=0)
    for data in clip.packets:
        stream.feed(data)
    again = stream.again()
    assert again is not None
    for data in clip.packets:
        again.feed(data)
    assert again.fallback is None
    assert again.again() is None


def test_auxiliary_pictures_and_unknown_units_pass() -> None:
    clip = clip_of(Recipe("extra", BASE), "h264")
    extra = nal.join([b"\x6e\x80", b"\x09\xf0", b"\x0c\xff\x80", b"\x74\x80"], 0)
    known = model(replace_packets(clip, [data + extra for data in clip.packets]))
    assert known.pictures == model(clip).pictures


def test_before_the_start_is_said() -> None:
    clip = clip_of(Recipe("open", "keyint=10:open-gop=1:bframes=3:scenecut=0:b-adapt=0"), "h264")
    pictures = model(clip).pictures
    start = next(i for i, p in enumerate(pictures) if i and p.picture_type == "I")
    packets = clip.packets[start:]
    head = [unit for unit in nal.split(clip.packets[0], 0) if unit[0] & 31 in (7, 8)]
    packets[0] = nal.join(head, 0) + packets[0]
    known = model(replace_packets(clip, packets))
    assert known.pictures[0].preamble == ()
    assert any(picture.unsafe for picture in known.pictures)
    assert BEFORE_START in {picture.unsafe for picture in known.pictures}
