"""Parameter sets and slice headers: what is written is read, and damage is named."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from decoder.bitstream.bits import BitReader
from decoder.bitstream.h264.pps import PictureParameterSet
from decoder.bitstream.h264.slice import SliceHeader
from decoder.bitstream.h264.sps import SequenceParameterSet
from decoder.bitstream.nal import split, unescape
from decoder.errors import InvalidSyntax
from tests.x264 import encoded

from .headers import picture_parameter_sets, sequence_parameter_sets, slice_headers
from .syntax import write_pps, write_slice, write_sps

slow = settings(
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
few = settings(slow, max_examples=10)


@slow
@given(sequence_parameter_sets())
def test_sps(sps: SequenceParameterSet) -> None:
    assert SequenceParameterSet.parse(write_sps(sps)) == sps


@slow
@given(picture_parameter_sets())
def test_pps(pps: PictureParameterSet) -> None:
    assert PictureParameterSet.parse(write_pps(pps), {pps.seq_parameter_set_id: pps.sps}.get) == pps


@slow
@given(slice_headers())
def test_slice_header(header: SliceHeader) -> None:
    unit, _ = write_slice(header)
    assert SliceHeader.parse(unit, {header.pic_parameter_set_id: header.pps}.get) == header


@slow
@given(slice_headers(), st.data())
def test_a_shortened_slice_header(header: SliceHeader, data: st.DataObject) -> None:
    unit, size = write_slice(header)
    cut = data.draw(st.integers(0, size - 1))
    with pytest.raises(InvalidSyntax, match=r"^[a-z0-9_]+: "):
        SliceHeader.read(
            BitReader(unescape(unit), size=cut), {header.pic_parameter_set_id: header.pps}.get
        )


@slow
@given(slice_headers(), st.data())
def test_a_damaged_slice_header(header: SliceHeader, data: st.DataObject) -> None:
    unit, size = write_slice(header)
    damaged = bytearray(unit)
    for position in data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=8)):
        damaged[position // 8] ^= 128 >> position % 8
    with contextlib.suppress(InvalidSyntax):
        SliceHeader.parse(bytes(damaged), {header.pic_parameter_set_id: header.pps}.get)


@pytest.mark.parametrize(
    "recipe",
    [
        "default",
        "interlaced_tff_4",
        "weight_2_1",
        "refs_16_b_3",
        "cqm_own",
        "hrd",
        "format_yuv444p",
        "open_gop_3",
    ],
)
def test_real_headers_cut_at_every_bit(recipe: str) -> None:
    stream = encoded(recipe, "h264")
    sps: dict[int, SequenceParameterSet] = {}
    pps: dict[int, PictureParameterSet] = {}
    for packet in stream.packets:
        for unit in split(packet, 0):
            data = unescape(unit[:200])
            kind = unit[0] & 31
            whole = BitReader(data)
            if kind == 7:
                first = SequenceParameterSet.read(whole)
                sps[first.seq_parameter_set_id] = first
            elif kind == 8:
                second = PictureParameterSet.read(whole, sps.get)
                pps[second.pic_parameter_set_id] = second
            elif kind in (1, 5):
                SliceHeader.read(whole, pps.get)
            for size in range(whole.position):
                cut = BitReader(data, size=size)
                try:
                    if kind == 7:
                        SequenceParameterSet.read(cut)
                    elif kind == 8:
                        PictureParameterSet.read(cut, sps.get)
                    else:
                        SliceHeader.read(cut, pps.get)
                except InvalidSyntax as error:
                    assert ": the data ends" in str(error)  # noqa: PT017
                else:
                    # without its optional end a PPS is complete, as more_rbsp_data() says
                    assert kind == 8


def test_nothing_is_read_beyond_the_head() -> None:
    stream = encoded("default")
    pps: dict[int, PictureParameterSet] = {}
    for unit in split(encoded("default", "h264").packets[0], 0):
        if unit[0] & 31 == 7:
            sps = SequenceParameterSet.parse(unit)
        elif unit[0] & 31 == 8:
            pps[0] = PictureParameterSet.parse(unit, {0: sps}.get)
    for packet in stream.packets:
        unit = split(packet, 4)[-1]
        assert SliceHeader.parse(unit[:48], pps.get) == SliceHeader.parse(unit, pps.get)


@few
@given(slice_headers().filter(lambda header: header.nal_unit_type == 5))
def test_refused_in_an_idr_picture(header: SliceHeader) -> None:
    lookup = {header.pic_parameter_set_id: header.pps}.get
    for name, other in (
        ("nal_ref_idc", replace(header, nal_ref_idc=0)),
        ("slice_type", replace(header, slice_type=0)),
        ("frame_num", replace(header, frame_num=1)),
    ):
        with pytest.raises(InvalidSyntax, match=f"^{name} "):
            SliceHeader.parse(write_slice(other)[0], lookup)


@few
@given(slice_headers())
def test_refused_everywhere(header: SliceHeader) -> None:
    lookup = {header.pic_parameter_set_id: header.pps}.get
    unit, _ = write_slice(header)
    with pytest.raises(InvalidSyntax, match=r"^pic_parameter_set_id: picture parameter set"):
        SliceHeader.parse(unit, lambda _: None)
    for kind in set(range(32)) - {1, 2, 5}:
        with pytest.raises(InvalidSyntax, match=r"^nal_unit_type is"):
            SliceHeader.parse(bytes((unit[0] & ~31 | kind,)) + unit[1:], lookup)
    with pytest.raises(InvalidSyntax, match=r"^forbidden_zero_bit is 1"):
        SliceHeader.parse(bytes((unit[0] | 128,)) + unit[1:], lookup)
    with pytest.raises(InvalidSyntax, match=r"^nal_unit_type: the data ends"):
        SliceHeader.parse(b"", lookup)


def test_a_pps_without_its_sps() -> None:
    with pytest.raises(InvalidSyntax, match=r"^seq_parameter_set_id: picture parameter set 0"):
        PictureParameterSet.parse(bytes.fromhex("68ee3c80"), lambda _: None)


def test_the_wrong_kind_of_unit() -> None:
    with pytest.raises(InvalidSyntax, match=r"^nal_unit_type is 8, allowed is 7 to 7"):
        SequenceParameterSet.parse(bytes.fromhex("68ee3c80"))
