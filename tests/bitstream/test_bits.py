from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.bitstream.bits import SE_MAX, UE_MAX, BitReader, BitWriter
from decoder.errors import InvalidSyntax

Item = tuple[str, int, int]  # kind, bits (of u), value

items = st.one_of(
    st.integers(0, 64).flatmap(
        lambda n: st.tuples(st.just("u"), st.just(n), st.integers(0, (1 << n) - 1))
    ),
    st.tuples(st.just("flag"), st.just(1), st.integers(0, 1)),
    st.tuples(st.just("ue"), st.just(0), st.integers(0, UE_MAX) | st.integers(0, 70)),
    st.tuples(st.just("se"), st.just(0), st.integers(-SE_MAX, SE_MAX) | st.integers(-70, 70)),
)


def written(sequence: list[Item]) -> BitWriter:
    w = BitWriter()
    for kind, length, value in sequence:
        if kind == "u":
            w.u(length, value)
        else:
            getattr(w, kind)(value)
    return w


def read(r: BitReader, sequence: list[Item]) -> list[int]:
    return [
        r.u(length, "element") if kind == "u" else getattr(r, kind)("element")
        for kind, length, _ in sequence
    ]


@given(st.lists(items))
def test_reading_gives_back_what_was_written(sequence: list[Item]) -> None:
    w = written(sequence)
    r = BitReader(w.to_bytes())
    assert read(r, sequence) == [value for _, _, value in sequence]
    assert r.position == w.size


@given(st.lists(items, min_size=1))
def test_every_shortening_is_noticed(sequence: list[Item]) -> None:
    w = written([*sequence, ("flag", 1, 1)])
    for size in range(w.size):
        r = BitReader(w.to_bytes(), size=size)
        with pytest.raises(InvalidSyntax, match="element"):
            read(r, [*sequence, ("flag", 1, 1)])


@given(st.lists(items), st.integers(0, 5))
def test_more_rbsp_data(sequence: list[Item], zero_bytes: int) -> None:
    w = written([*sequence, ("flag", 1, 1)])
    w.trailing_bits()
    r = BitReader(w.to_bytes() + bytes(zero_bytes))
    read(r, sequence)
    assert r.more_rbsp_data()
    r.flag("last")
    assert not r.more_rbsp_data()


def test_more_rbsp_data_of_nothing() -> None:
    assert not BitReader(b"").more_rbsp_data()
    assert not BitReader(b"\x00\x00").more_rbsp_data()
    assert not BitReader(b"\x80").more_rbsp_data()


@given(st.binary(max_size=24))
def test_any_bytes(data: bytes) -> None:
    for kind in ("ue", "se", "flag"):
        r = BitReader(data)
        before = -1
        while before < r.position:
            before = r.position
            with contextlib.suppress(InvalidSyntax):
                getattr(r, kind)("element")
        assert r.position <= 8 * len(data)


@pytest.mark.parametrize(
    ("data", "kind", "limits", "message"),
    [
        (b"\x10", "ue", (6,), "element is 7, allowed is 0 to 6"),
        (b"\x10", "se", (-3, 3), "element is 4, allowed is -3 to 3"),
        (b"\x12", "se", (-3, 3), "element is -4, allowed is -3 to 3"),
        (b"\x00\x00\x00\x00\x40" + bytes(8), "ue", (), "element: an Exp-Golomb code of more than"),
        (b"", "flag", (), "element: the data ends"),
    ],
)
def test_errors_name_the_element(
    data: bytes, kind: str, limits: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InvalidSyntax, match=message):
        getattr(BitReader(data), kind)("element", *limits)


def test_the_longest_codes() -> None:
    w = written([("ue", 0, UE_MAX), ("se", 0, SE_MAX), ("se", 0, -SE_MAX)])
    r = BitReader(w.to_bytes())
    assert (r.ue("a"), r.se("b"), r.se("c")) == (UE_MAX, SE_MAX, -SE_MAX)


def test_writing_what_does_not_fit() -> None:
    w = BitWriter()
    for value in (8, -1):
        with pytest.raises(ValueError, match=f"{value} does not fit 3 bits"):
            w.u(3, value)
    for value in (-1, UE_MAX + 1):
        with pytest.raises(ValueError, match=f"{value} has no ue"):
            w.ue(value)
    assert w.to_bytes() == b""
