"""State-only pictures: their syntax, the decoder's buffer, and the samples of everything else."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from decoder.bitstream import nal
from decoder.bitstream.bits import BitReader
from decoder.bitstream.h264.pps import PictureParameterSet
from decoder.bitstream.h264.slice import P, SliceHeader
from decoder.bitstream.h264.stub import StateOnlySlice, state_only, unused_pps_id, write_pps
from decoder.errors import UnsupportedStream
from tests.x264 import ALL_SYNTAX

from .buffer import buffers
from .clip import Clip, Model, clip_of, corpus_file, demux, model, sequential
from .headers import slice_headers

slow = settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
STUB_PPS = 255

# Field pairs, long-term references, explicit marking, several slices, and the usual cameras
CLIPS = [
    "real/jcodec__seq_mmco_test.264",
    "real/mediabunny__cursed-vfr.mp4",
    "real/decord__flipping_a_pancake.mkv",
    "real/tsduck-test__test-026.ts",
    "real/sam2__01_dog.mp4",
    "real/mmaction2__demo.mp4",
    "robot/native264_Lift_frontview.mp4",
    "synth/s23_mbaff.mp4",
    "synth/s07_h264_opengop.mp4",
    "synth/s46_multislice.mp4",
    "synth/s52_temporal_direct.mp4",
]


def read_stub(header: SliceHeader) -> tuple[SliceHeader, BitReader]:
    """The stub of a picture, read under its own PPS, and the reader behind the header."""
    stub = StateOnlySlice.of(header)
    pps = PictureParameterSet.parse(
        write_pps(
            header.sps.seq_parameter_set_id,
            STUB_PPS,
            stub.bottom_field_pic_order_in_frame_present_flag,
        ),
        {header.sps.seq_parameter_set_id: header.sps}.get,
    )
    reader = BitReader(nal.unescape(stub.write(STUB_PPS)))
    return SliceHeader.read(reader, {STUB_PPS: pps}.get), reader


@slow
@given(
    slice_headers().filter(
        lambda header: header.nal_unit_type == 1 and not header.sps.separate_colour_plane_flag
    )
)
def test_a_stub_repeats_the_state_and_nothing_else(header: SliceHeader) -> None:
    stub, reader = read_stub(header)
    assert stub == replace(
        header,
        pps=stub.pps,
        first_mb_in_slice=0,
        slice_type=P,
        pic_parameter_set_id=STUB_PPS,
        redundant_pic_cnt=0,
        direct_spatial_mv_pred_flag=0,
        num_ref_idx_active_override_flag=0,
        num_ref_idx_l0_active_minus1=0,
        num_ref_idx_l1_active_minus1=-1,
        ref_pic_list_modification_l0=None,
        ref_pic_list_modification_l1=None,
        pred_weight_table=None,
        cabac_init_idc=0,
        slice_qp_delta=0,
        sp_for_switch_flag=0,
        slice_qs_delta=0,
        disable_deblocking_filter_idc=1,
        slice_alpha_c0_offset_div2=0,
        slice_beta_offset_div2=0,
        slice_group_change_cycle=0,
    )
    fields = 2 if header.field_pic_flag else 1
    assert reader.ue("mb_skip_run") * fields == header.sps.frame_size_in_mbs // fields * fields
    assert not reader.more_rbsp_data()


@slow
@given(slice_headers().filter(lambda header: header.nal_unit_type != 1))
def test_what_cannot_be_replaced(header: SliceHeader) -> None:
    with pytest.raises(UnsupportedStream):
        StateOnlySlice.of(header)
    assert state_only([header], [0], STUB_PPS, 4) is None


@slow
@given(
    slice_headers().filter(
        lambda header: header.nal_unit_type == 1 and not header.sps.separate_colour_plane_flag
    )
)
def test_one_stub_per_field(header: SliceHeader) -> None:
    other = replace(header, bottom_field_flag=1 - header.bottom_field_flag)
    two = state_only([header, other], [4, 5], STUB_PPS, 4)
    one = state_only([header, other], [4], STUB_PPS, 4)
    assert two is not None
    assert one is not None
    assert [[u[0] & 31 for u in nal.split(packet, 4)] for packet in two] == [[8, 1], [8, 1]]
    assert [u[0] & 31 for u in nal.split(one[0], 4)] == [8, 1, 1]
    assert state_only([header], [4, 5], STUB_PPS, 4) is None


def test_an_unused_id() -> None:
    assert unused_pps_id([]) == 0
    assert unused_pps_id([0, 1, 3]) == 2
    assert unused_pps_id(range(256)) is None


def test_a_stub_is_small() -> None:
    known = model(clip_of("default"))
    packets = [packet for p in known.pictures if p.state_only for packet in p.state_only]
    assert packets
    assert max(map(len, packets)) <= 32  # two lengths, the PPS and the slice


def stubbed(clip: Clip, known: Model, chosen: set[int]) -> list[bytes]:
    """All packets, with the chosen pictures replaced."""
    packets = list(clip.packets)
    for index in chosen:
        picture = known.pictures[index]
        assert picture.state_only is not None
        for ordinal, data in zip(picture.packets, picture.state_only, strict=True):
            packets[ordinal] = data
    return packets


def stubbable(known: Model) -> list[int]:
    return [i for i, picture in enumerate(known.pictures) if picture.state_only is not None]


def check_buffer(clip: Clip, known: Model) -> int:
    """With every picture replaced that can be, the decoder's buffer is what it was; how many."""
    chosen = set(stubbable(known))
    expected = buffers(clip.extradata, clip.packets)
    assert buffers(clip.extradata, stubbed(clip, known, chosen)) == expected
    assert any(expected)
    return len(chosen)


def check_samples(clip: Clip, known: Model, count: int) -> int:
    """One picture replaced: whatever does not depend on it keeps its samples; how many compared."""
    full = sequential(clip)
    depends: list[set[int]] = []
    for index, picture in enumerate(known.pictures):
        depends.append({index}.union(*[depends[i] for i in picture.references]))
    candidates = stubbable(known)
    compared = 0
    for chosen in random.Random(264).sample(candidates, min(count, len(candidates))):
        result = sequential(
            Clip(clip.name, clip.extradata, stubbed(clip, known, {chosen}), clip.delay)
        )
        assert result.errors == full.errors
        assert result.order == full.order
        for index, picture in enumerate(known.pictures):
            ordinal = picture.packets[0]
            if ordinal in full.samples and chosen not in depends[index]:
                assert result.samples[ordinal] == full.samples[ordinal], (chosen, index)
                compared += 1
    return compared


@pytest.mark.parametrize("recipe", ALL_SYNTAX)
def test_the_buffer_of_the_decoder(recipe: str) -> None:
    clip = clip_of(recipe)
    assert check_buffer(clip, model(clip)) >= 10


@pytest.mark.parametrize("recipe", ALL_SYNTAX)
def test_samples_that_do_not_depend_on_it(recipe: str) -> None:
    clip = clip_of(recipe)
    assert check_samples(clip, model(clip), 4) > 0


@pytest.mark.parametrize("name", CLIPS)
def test_clips(name: str) -> None:
    clip = demux(corpus_file(name), 40)
    known = model(clip)
    assert check_buffer(clip, known)
    assert check_samples(clip, known, 3)
