from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.bitstream import nal
from decoder.errors import InvalidSyntax

# Few values, so that start codes and emulation are frequent
hostile = st.binary(max_size=40) | st.lists(st.integers(0, 4), max_size=40).map(bytes)
raw_units = hostile.map(lambda data: b"\x65" + data + b"\x80")


@given(hostile)
def test_escaping_is_undone(data: bytes) -> None:
    escaped = nal.escape(data)
    assert nal.unescape(escaped) == data
    for forbidden in (b"\x00\x00\x00", b"\x00\x00\x01", b"\x00\x00\x02"):
        assert forbidden not in escaped
    assert not escaped.endswith(b"\x00\x00")


@given(hostile, st.integers(0, 60))
def test_the_head_of_a_unit_unescapes_to_the_head(data: bytes, length: int) -> None:
    escaped = nal.escape(data)
    assert data.startswith(nal.unescape(escaped[:length]))


def test_the_example_of_the_standard() -> None:
    assert nal.escape(b"\x00\x00\x01\x00\x00\x00\x00\x00\x03\x00\x00") == (
        b"\x00\x00\x03\x01\x00\x00\x03\x00\x00\x03\x00\x03\x00\x00\x03"
    )


@given(st.lists(raw_units, min_size=1), st.integers(0, 4))
def test_splitting_undoes_joining(raw: list[bytes], length_size: int) -> None:
    units = [nal.escape(unit) for unit in raw]
    assert nal.split(nal.join(units, length_size), length_size) == units


@given(st.lists(raw_units, min_size=1), st.lists(st.integers(0, 3), min_size=9))
def test_zeros_between_annex_b_units(raw: list[bytes], zeros: list[int]) -> None:
    units = [nal.escape(unit) for unit in raw]
    packet = b"".join(
        bytes(zeros[i % len(zeros)]) + b"\x00\x00\x01" + unit for i, unit in enumerate(units)
    )
    assert nal.split(packet + bytes(zeros[0]), nal.ANNEX_B) == units


@given(st.lists(raw_units, min_size=1), st.integers(1, 4), st.data())
def test_lengths_must_fill_the_packet(
    raw: list[bytes], length_size: int, data: st.DataObject
) -> None:
    units = [nal.escape(unit) for unit in raw]
    packet = nal.join(units, length_size)
    ends = [len(nal.join(units[:i], length_size)) for i in range(len(units) + 1)]
    cut = data.draw(st.sampled_from([i for i in range(len(packet)) if i not in ends]))
    with pytest.raises(InvalidSyntax, match="NAL unit length"):
        nal.split(packet[:cut], length_size)


@given(hostile, st.integers(0, 4))
def test_any_bytes(data: bytes, length_size: int) -> None:
    try:
        units = nal.split(data, length_size)
    except InvalidSyntax:
        return
    assert sum(map(len, units)) <= len(data)
    assert all(units)


def test_a_length_of_zero() -> None:
    with pytest.raises(InvalidSyntax, match="NAL unit length: 0 at byte 0 of a packet of 6 bytes"):
        nal.split(b"\x00\x00\x00\x00\x65\x80", 4)


def test_a_length_that_allocates_nothing() -> None:
    with pytest.raises(InvalidSyntax, match="NAL unit length: 4294967295"):
        nal.split(b"\xff\xff\xff\xff\x65\x80", 4)


def test_start_codes_under_one_length() -> None:
    inner = b"\x0e\x83\x80\x6f\x00\x00\x00\x01\x41\x9a\x80"
    assert nal.split(nal.join([inner], 4), 4) == [b"\x0e\x83\x80\x6f", b"\x41\x9a\x80"]


def test_data_before_the_first_start_code() -> None:
    with pytest.raises(InvalidSyntax, match="start_code_prefix_one_3bytes"):
        nal.split(b"\x65\x00\x00\x01\x65\x80", nal.ANNEX_B)
    with pytest.raises(InvalidSyntax, match="start_code_prefix_one_3bytes"):
        nal.split(b"\x65\x80", nal.ANNEX_B)


def test_no_units() -> None:
    assert nal.split(b"", 4) == nal.split(b"", nal.ANNEX_B) == []
    assert nal.join([], 4) == b""


def test_a_unit_too_long_for_its_length() -> None:
    with pytest.raises(InvalidSyntax, match="NAL unit length: 256 in 1 bytes"):
        nal.join([bytes(256)], 1)
