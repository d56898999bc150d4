"""Streams whose frames cannot be told from headers are given up, with a reason."""

from __future__ import annotations

import pytest

from decoder.bitstream import nal
from decoder.bitstream.bits import BitWriter
from decoder.bitstream.hevc.stream import SCREEN_CONTENT, PictureStream
from decoder.bitstream.hevc.timing import UNTOLD

from .clip import encoded, model, shown_by_decoder
from .syntax import Layout, parameter_sets, unit
from .writer import Features, write


def raw(frames: int = 24) -> list[bytes]:
    return list(encoded("closed", "hevc", frames).packets)


def reason(packets: list[bytes]) -> str:
    return model(packets).stream.fallback or ""


def sei(payload_type: int, payload: bytes) -> bytes:
    message = bytes((39 << 1, 1, payload_type, len(payload))) + payload + b"\x80"
    return nal.join([nal.escape(message)], nal.ANNEX_B)


def test_nothing_is_wrong_with_the_stream_itself() -> None:
    assert reason(raw()) == ""


AOM_GRAIN = b"\xb5\x58\x90\x00\x01" + bytes(20)


@pytest.mark.parametrize(
    ("payload_type", "payload", "words"),
    [(19, bytes(8), "film grain"), (47, bytes(8), "display orientation"), (4, AOM_GRAIN, "grain")],
)
@pytest.mark.parametrize("packet", [0, 5])
def test_messages_that_last(payload_type: int, payload: bytes, words: str, packet: int) -> None:
    packets = raw()
    packets[packet] = sei(payload_type, payload) + packets[packet]
    assert words in reason(packets)


@pytest.mark.parametrize("payload_type", [0, 1, 4, 5, 6, 45, 129, 132, 137, 144, 147])
def test_other_messages_pass(payload_type: int) -> None:
    packets = raw()
    packets[0] = sei(payload_type, bytes(20)) + packets[0]
    assert reason(packets) == ""


def test_a_message_in_the_extradata() -> None:
    assert "film grain" in (PictureStream(sei(19, bytes(8)) + raw()[0]).fallback or "")


def test_two_pictures_in_a_packet() -> None:
    packets = raw()
    assert "a second picture" in reason([*packets[:3], packets[3] + packets[4], *packets[5:]])


def test_a_picture_without_its_first_slice() -> None:
    packets = list(write(1, Features(Layout(blocks=2)), 12).packets)
    units = nal.split(packets[4], nal.ANNEX_B)
    packets[4] = nal.join(units[1:], nal.ANNEX_B)
    assert "the first slice is missing" in reason(packets)


def test_slices_of_two_types() -> None:
    packets = list(write(1, Features(Layout(blocks=2)), 12).packets)
    first, second = nal.split(packets[4], nal.ANNEX_B)
    other = bytes([second[0] ^ 2]) + second[1:]
    packets[4] = nal.join([first, other], nal.ANNEX_B)
    assert "a slice of another picture" in reason(packets)


def test_a_lost_picture() -> None:
    packets = raw()
    kinds = [data[data.rindex(b"\x00\x00\x01") + 3] >> 1 for data in packets]
    lost = next(n for n, kind in enumerate(kinds) if n and kind == 1)
    assert "refers to one that is not there" in reason([*packets[:lost], *packets[lost + 1 :]])


def test_a_start_in_the_middle() -> None:
    packets = raw()
    head = nal.join([u for u in nal.split(packets[0], 0) if u[0] >> 1 in (32, 33, 34)], 0)
    assert "random access point" in reason([head + packets[3], *packets[4:]])


def with_scc_pps(layout: Layout) -> bytes:
    """The PPS with pps_scc_extension_flag."""
    pps = nal.unescape(parameter_sets(layout)[2])
    value = int.from_bytes(pps, "big")
    stop = (value & -value).bit_length()
    size = 8 * len(pps) - stop
    bits = BitWriter()
    bits.u(size - 1, value >> stop + 1)
    bits.flag(1)  # pps_extension_present_flag
    bits.u(4, 0b0001)
    bits.u(4, 0)
    bits.u(3, 0)
    bits.trailing_bits()
    return unit(bits)


def test_screen_content() -> None:
    layout = Layout()
    packets = list(write(1, Features(layout), 8).packets)
    packets[0] = nal.join(
        [u if u[0] >> 1 != 34 else with_scc_pps(layout) for u in nal.split(packets[0], 0)], 0
    )
    assert SCREEN_CONTENT in reason(packets)


def test_colour_planes() -> None:
    value = nal.unescape(parameter_sets(Layout())[1])
    start = 16 + 8 + 8 + 32 + 48 + 8 + 1  # behind sps_seq_parameter_set_id
    number = int.from_bytes(value, "big")
    size = 8 * len(value)
    bits = BitWriter()
    bits.u(start, number >> size - start)
    bits.ue(3)
    bits.flag(1)
    rest = size - start - 3
    bits.u(rest, number & (1 << rest) - 1)
    packets = list(write(1, Features(), 4).packets)
    units = nal.split(packets[0], 0)
    packets[0] = nal.join([u if u[0] >> 1 != 33 else unit(bits) for u in units], 0)
    assert "planes are coded like pictures" in reason(packets)


def test_fields_that_are_not_all_said_to_be() -> None:
    """A decoder keeps the last message: whether a frame is converted as fields depends on it."""
    packets = list(encoded("field_bff", "hevc").packets)
    assert reason(packets) == ""
    assert any(f.interlaced_frame for f in shown_by_decoder(packets).values())
    units = [u for u in nal.split(packets[9], 0) if u[0] >> 1 != 39]
    packets[9] = nal.join(units, 0)
    assert UNTOLD in reason(packets)


def test_units_of_other_layers_and_unknown_ones_pass() -> None:
    packets = raw()
    before = model(packets)
    slice_of_layer = nal.join([b"\x02\x09" + bytes([0x80] * 9), b"\x7c\x01\x55\x80"], 0)
    known = model([data + slice_of_layer for data in packets])
    assert known.pictures == before.pictures
    assert known.shown == before.shown


def test_a_header_that_a_decoder_refuses_behind_all_that_is_needed() -> None:
    """It leaves the picture out: whatever follows has another number."""
    packets = list(write(1, Features(), 12).packets)
    (first,) = nal.split(packets[4], 0)
    number = int.from_bytes(nal.unescape(first[:20]), "big")
    for shift in range(40, 140):
        damaged = (number ^ 1 << shift).to_bytes(20, "big")
        changed = [*packets[:4], nal.join([nal.escape(damaged) + first[20:]], 0), *packets[5:]]
        if not reason(changed):
            assert model(changed).shown == list(shown_by_decoder(changed)), shift
