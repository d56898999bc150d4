"""Where parameter sets come from, and what another set of the same id takes along."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.bitstream import nal
from decoder.bitstream.hevc.parameter_sets import Configuration, ParameterSets
from decoder.bitstream.hevc.stream import PictureStream
from decoder.errors import InvalidSyntax

from .clip import encoded, model
from .syntax import Layout, parameter_sets
from .writer import Features, write

VPS, SPS, PPS = parameter_sets(Layout())
OTHER_SPS = parameter_sets(Layout(log2_max_lsb=9))[1]
OTHER_VPS = parameter_sets(Layout(max_num_reorder_pics=1))[0]
SECOND_PPS = parameter_sets(Layout(pps_id=1))[2]


def record(units: list[bytes], length_size: int = 4) -> bytes:
    """An HEVCDecoderConfigurationRecord with an array for each unit."""
    head = bytes([1]) + bytes(20) + bytes([0xFC | length_size - 1, len(units)])
    arrays = [
        bytes([unit[0] >> 1]) + b"\x00\x01" + len(unit).to_bytes(2, "big") + unit for unit in units
    ]
    return head + b"".join(arrays)


@pytest.mark.parametrize("length_size", [1, 2, 4])
def test_a_configuration_record(length_size: int) -> None:
    found = Configuration.parse(record([VPS, SPS, PPS], length_size))
    assert (found.length_size, found.units) == (length_size, (VPS, SPS, PPS))


def test_annex_b_and_nothing() -> None:
    data = nal.join([VPS, SPS, PPS], nal.ANNEX_B)
    assert Configuration.parse(data).units == (VPS, SPS, PPS)
    assert Configuration.parse(data).length_size == nal.ANNEX_B
    assert Configuration.parse(b"") == Configuration(nal.ANNEX_B, ())


@given(st.integers(0, len(record([VPS, SPS, PPS])) - 1))
def test_a_record_that_is_cut(size: int) -> None:
    data = record([VPS, SPS, PPS])[:size]
    if size == 0:
        return
    with pytest.raises(InvalidSyntax):
        Configuration.parse(data)


@given(st.binary(max_size=80))
def test_any_extradata(data: bytes) -> None:
    for head in (b"", record([])[:22]):
        try:
            found = Configuration.parse(head + data)
        except InvalidSyntax:
            continue
        assert all(found.units)
        assert 0 <= found.length_size <= 4


def held(*units: bytes) -> ParameterSets:
    sets = ParameterSets()
    for unit in units:
        sets.update(unit)
    return sets


def test_what_is_sent_again_changes_nothing() -> None:
    sets = held(VPS, SPS, PPS)
    before = sets.pps[0]
    assert not any(sets.update(unit) for unit in (VPS, SPS, PPS))
    assert sets.pps[0] is before
    assert sets.snapshot() == (VPS, SPS, PPS)


def test_another_sps_takes_its_ppss_along() -> None:
    sets = held(VPS, SPS, PPS, SECOND_PPS)
    assert sets.update(OTHER_SPS)
    assert sets.pps == {}
    assert sets.snapshot() == (VPS, OTHER_SPS)


def test_another_vps_takes_everything_along() -> None:
    sets = held(VPS, SPS, PPS)
    assert sets.update(OTHER_VPS)
    assert sets.snapshot() == (OTHER_VPS,)
    with pytest.raises(InvalidSyntax, match="pps_seq_parameter_set_id"):
        sets.update(PPS)


@pytest.mark.parametrize(
    ("units", "element"),
    [([SPS], "sps_video_parameter_set_id"), ([VPS, PPS], "pps_seq_parameter_set_id")],
)
def test_sets_that_refer_to_none(units: list[bytes], element: str) -> None:
    with pytest.raises(InvalidSyntax, match=element):
        held(*units)


def layered(unit: bytes, nuh_layer_id: int = 1) -> bytes:
    """The unit as one of another layer."""
    return bytes([unit[0] | nuh_layer_id >> 5, (nuh_layer_id << 3 | unit[1]) & 255]) + unit[2:]


def test_sets_of_other_layers_are_not_held() -> None:
    sets = held(VPS, SPS, PPS)
    assert not sets.update(layered(SECOND_PPS))
    assert sets.snapshot() == (VPS, SPS, PPS)


@pytest.mark.parametrize("unit", [VPS, SPS, PPS])
@pytest.mark.parametrize("first", [True, False])
def test_an_id_of_two_layers(unit: bytes, first: bool) -> None:
    """Decoders keep the sets of all layers in one place."""
    units = [VPS, SPS, PPS]
    units.insert(0 if first else 3, layered(unit))
    with pytest.raises(InvalidSyntax, match="nuh_layer_id: parameter set 0 belongs to two layers"):
        held(*units)


def test_sets_beside_the_packets() -> None:
    """hvc1: nothing in the packets; hev1: both; raw: nothing beside them."""
    for name, container in (("open_3", "mp4"), ("open_repeat", "mp4"), ("open_repeat", "hevc")):
        clip = encoded(name, container)
        known = model(clip.packets, clip.extradata)
        assert known.stream.fallback is None
        heads = known.stream.heads()
        assert heads[0][0] == -1
        size = known.stream.length_size
        kinds = [unit[0] >> 1 for unit in nal.split(heads[-1][1], size)]
        assert kinds == [32, 33, 34]


def test_a_set_in_a_packet_holds_from_it_on() -> None:
    first = write(1, Features(), 20)
    second = write(2, Features(Layout(log2_max_lsb=5)), 20)
    known = model([*first.packets, *second.packets])
    assert known.stream.fallback is None
    size = len(first.packets)
    assert [ordinal for ordinal, _ in known.stream.heads()] == [-1, 0, size]
    carriers = [n for n, facts in enumerate(known.stream.packets) if facts.parameter_sets]
    assert carriers == [0, size]
    assert {p.modulus for p in known.pictures[:size]} == {256}
    assert {p.modulus for p in known.pictures[size:]} == {32}


def test_new_extradata_holds_from_its_packet_on() -> None:
    first, second = encoded("closed"), encoded("refs_6")
    packets = [*first.packets, *second.packets]
    stream = PictureStream(first.extradata)
    size = len(first.packets)
    for number, data in enumerate(packets):
        stream.feed(data, new_extradata=second.extradata if number == size else None)
    assert stream.fallback is None
    (_, before), (ordinal, behind) = stream.heads()
    assert ordinal == size - 1
    assert before != behind
    assert not any(facts.parameter_sets for facts in stream.packets)
    other = PictureStream(first.extradata)
    other.feed(packets[0])
    other.feed(packets[1], new_extradata=nal.join([VPS, SPS, PPS], nal.ANNEX_B))
    assert "framing" in (other.fallback or "")
