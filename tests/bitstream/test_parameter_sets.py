from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from decoder.bitstream import nal
from decoder.bitstream.h264.parameter_sets import Configuration, ParameterSets
from decoder.bitstream.h264.pps import PictureParameterSet
from decoder.errors import InvalidSyntax
from tests.x264 import encoded

from .syntax import write_pps, write_sps


def sets_of(units: tuple[bytes, ...] | list[bytes]) -> ParameterSets:
    sets = ParameterSets()
    for unit in units:
        sets.update(unit)
    return sets


def default_pps() -> PictureParameterSet:
    sets = sets_of(Configuration.parse(encoded("default").extradata).units)
    return sets.pps[0]


def test_avcc_and_annex_b_say_the_same() -> None:
    avcc = Configuration.parse(encoded("default").extradata)
    annex_b = Configuration.parse(nal.join(avcc.units, nal.ANNEX_B))
    assert avcc.length_size == 4
    assert annex_b.length_size == nal.ANNEX_B
    assert avcc.units == annex_b.units
    assert [unit[0] & 31 for unit in avcc.units] == [7, 8]


def test_no_extradata() -> None:
    assert Configuration.parse(b"") == Configuration(nal.ANNEX_B, ())


@pytest.mark.parametrize("length_size", [1, 2, 3, 4])
def test_length_sizes(length_size: int) -> None:
    extradata = bytearray(encoded("default").extradata)
    extradata[4] = 0xFC | (length_size - 1)
    assert Configuration.parse(bytes(extradata)).length_size == length_size


def test_avcc_cut_anywhere() -> None:
    extradata = encoded("main").extradata  # nothing follows the sets in this profile
    assert Configuration.parse(extradata).units
    for size in range(1, len(extradata)):
        with pytest.raises(InvalidSyntax, match=r"ParameterSet|Record"):
            Configuration.parse(extradata[:size])


@given(st.binary(max_size=40).map(lambda data: b"\x01" + data))
def test_avcc_of_any_bytes(data: bytes) -> None:
    try:
        configuration = Configuration.parse(data)
    except InvalidSyntax:
        return
    assert all(configuration.units)


def test_a_repeated_set_changes_nothing() -> None:
    units = Configuration.parse(encoded("default").extradata).units
    sets = sets_of(units)
    pps = sets.pps[0]
    assert not any(sets.update(unit) for unit in units)
    assert sets.pps[0] is pps


def test_a_pps_keeps_its_sps() -> None:
    pps = default_pps()
    assert pps.sps.seq_parameter_set_id == 0
    assert pps.sps.pic_width_in_mbs == 7


def test_another_sps_takes_its_pps_along() -> None:
    pps = default_pps()
    other = replace(pps.sps, seq_parameter_set_id=1)
    sets = sets_of(
        [
            write_sps(pps.sps),
            write_sps(other),
            write_pps(pps),
            write_pps(replace(pps, sps=other, pic_parameter_set_id=1, seq_parameter_set_id=1)),
        ]
    )
    assert set(sets.pps) == {0, 1}
    assert sets.update(write_sps(replace(pps.sps, level_idc=40)))
    assert set(sets.pps) == {1}
    assert set(sets.sps) == {0, 1}


def test_a_snapshot_makes_the_same_state() -> None:
    pps = default_pps()
    sets = sets_of(
        [
            write_sps(pps.sps),
            write_pps(pps),
            write_sps(replace(pps.sps, seq_parameter_set_id=3)),
            write_pps(replace(pps, pic_parameter_set_id=7, seq_parameter_set_id=3)),
            write_pps(replace(pps, pic_init_qp_minus26=4)),
        ]
    )
    copy = sets_of(sets.snapshot())
    assert (copy.sps, copy.pps) == (sets.sps, sets.pps)
    assert copy.snapshot() == sets.snapshot()
    assert len(sets.snapshot()) == 4


def test_other_units_are_passed_over() -> None:
    sets = ParameterSets()
    for unit in (b"", b"\x65\x88", b"\x06\x05", b"\x6f\x42", b"\x0e\x80"):
        assert not sets.update(unit)
    assert sets.snapshot() == ()


def test_a_damaged_set_leaves_everything_as_it_was() -> None:
    units = Configuration.parse(encoded("default").extradata).units
    sets = sets_of(units)
    for unit in units:
        with pytest.raises(InvalidSyntax):
            sets.update(unit[:2])
    assert sets.snapshot() == units
