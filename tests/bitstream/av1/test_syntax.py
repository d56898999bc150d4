"""OBUs and headers: what is written is read, and damage is named."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from decoder.bitstream.av1.frame import (
    SWITCH_FRAME,
    FrameHeader,
    ShownAgain,
    parse_frame_header,
    read_frame_header,
)
from decoder.bitstream.av1.metadata import doubt
from decoder.bitstream.av1.obu import OBU_FRAME, Obu, framed, leb128, split
from decoder.bitstream.av1.sequence import SequenceHeader
from decoder.bitstream.av1.tiles import TileInfo, read_ns, read_tile_group
from decoder.bitstream.bits import BitReader, BitWriter
from decoder.errors import InvalidSyntax, Truncated

from .elements import DrawingReader
from .headers import EMPTY, by_chance, make_frame, make_sequence, seeds
from .packets import Parsed, layered, parsed
from .svt import RECIPES, encoded

slow = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

NAMES = r"^[a-z][a-z0-9_]+(:| is )"


def filled(sequence: SequenceHeader) -> list[FrameHeader]:
    """Slots that hold key frames of several sizes and frame ids."""
    headers = []
    for seed in range(8):
        _, _, header = make_frame(
            seed, sequence, fixed={"show_existing_frame": 0, "frame_type": 0, "show_frame": 1}
        )
        assert isinstance(header, FrameHeader)
        headers.append(header)
    return headers


@slow
@given(seeds)
def test_sequence_header(seed: int) -> None:
    payload, header, parameters = make_sequence(seed)
    assert SequenceHeader.parse(payload) == (header, parameters)


@slow
@given(seeds, st.data())
def test_a_shortened_sequence_header(seed: int, data: st.DataObject) -> None:
    payload, _, _ = make_sequence(seed)
    cut = data.draw(st.integers(0, len(payload) - 1))
    with pytest.raises(Truncated, match=NAMES):
        SequenceHeader.parse(payload[:cut])


@slow
@given(seeds, st.sampled_from([0, 1, 2, SWITCH_FRAME]))
def test_frame_header(seed: int, frame_type: int) -> None:
    _, sequence, _ = make_sequence(seed)
    slots = filled(sequence)
    fixed = {"frame_type": frame_type}
    payload, size, header = make_frame(seed, sequence, slots, fixed)
    packet = framed(OBU_FRAME, payload + bytes(100))
    (obu,) = split(packet)
    assert parse_frame_header(packet, obu, sequence, slots) == header
    for cut in {0, size // 2, size - 1}:
        with pytest.raises(Truncated, match=NAMES):
            read_frame_header(BitReader(payload, size=cut), sequence, 0, 0, slots)


def test_a_frame_takes_its_size_from_a_slot() -> None:
    _, sequence, _ = make_sequence(1, {"enable_order_hint": 1, "enable_superres": 0})
    slots = filled(sequence)
    fixed = {
        "show_existing_frame": 0, "frame_type": 1, "error_resilient_mode": 0, "found_ref": 1,
        "frame_size_override_flag": 1, "ref_frame_idx": 5, "frame_refs_short_signaling": 0,
    }  # fmt: skip
    payload, _, header = make_frame(1, sequence, slots, fixed)
    assert isinstance(header, FrameHeader)
    assert header.size == slots[5].size
    with pytest.raises(InvalidSyntax, match="found_ref: slot 5 is empty"):
        read_frame_header(BitReader(payload), sequence, 0, 0, EMPTY)
    payload, _, _ = make_frame(
        1, sequence, [slots[5]] * 8, fixed | {"frame_refs_short_signaling": 1}
    )
    with pytest.raises(InvalidSyntax, match="found_ref: which slot"):
        read_frame_header(BitReader(payload), sequence, 0, 0, slots)


def test_references_of_short_signaling_are_all_slots() -> None:
    _, sequence, _ = make_sequence(1, {"enable_order_hint": 1})
    fixed = {
        "show_existing_frame": 0, "frame_type": 1, "found_ref": 0, "frame_refs_short_signaling": 1,
    }  # fmt: skip
    _, _, header = make_frame(1, sequence, filled(sequence), fixed)
    assert isinstance(header, FrameHeader)
    assert header.ref_frame_idx == tuple(range(8))


def test_a_long_header_is_read_whole() -> None:
    _, sequence, _ = make_sequence(
        3, {"reduced_still_picture_header": 0, "timing_info_present_flag": 1,
            "decoder_model_info_present_flag": 1, "operating_points_cnt_minus_1": 31,
            "decoder_model_present_for_this_op": 1, "buffer_removal_time_length_minus_1": 31}
    )  # fmt: skip
    fixed = {"show_existing_frame": 0, "frame_type": 0, "buffer_removal_time_present_flag": 1}
    payload, size, header = make_frame(3, sequence, fixed=fixed)
    assert size > 32 * 32
    packet = framed(OBU_FRAME, payload + bytes(10))
    assert parse_frame_header(packet, split(packet)[0], sequence, EMPTY) == header


@pytest.mark.parametrize(
    ("fixed", "name"),
    [
        ({"seq_profile": 3}, "seq_profile"),
        ({"still_picture": 0, "reduced_still_picture_header": 1}, "reduced_still_picture_header"),
        ({"operating_point_idc": 0x001, "reduced_still_picture_header": 0}, "operating_point_idc"),
        ({"seq_profile": 0, "mono_chrome": 0, "color_description_present_flag": 1,
          "color_primaries": 1, "transfer_characteristics": 13, "matrix_coefficients": 0},
         "matrix_coefficients"),
        ({"reduced_still_picture_header": 0, "frame_id_numbers_present_flag": 1,
          "delta_frame_id_length_minus_2": 15, "additional_frame_id_length_minus_1": 7},
         "additional_frame_id_length_minus_1"),
    ],
)  # fmt: skip
def test_values_that_a_sequence_header_may_not_have(fixed: dict[str, int], name: str) -> None:
    with pytest.raises(InvalidSyntax, match=f"^{name}"):
        SequenceHeader.read(
            DrawingReader(by_chance(1, {"operating_points_cnt_minus_1": 0} | fixed))
        )


@pytest.mark.parametrize(
    ("fixed", "name"),
    [
        ({"frame_type": 2, "refresh_frame_flags": 255}, "refresh_frame_flags"),
        ({"frame_type": 0, "show_frame": 1, "uniform_tile_spacing_flag": 0,
          "width_in_sbs_minus_1": 0, "height_in_sbs_minus_1": 0, "context_update_tile_id": 1 << 12},
         "context_update_tile_id"),
        ({"frame_type": 0, "show_frame": 1, "uniform_tile_spacing_flag": 0,
          "width_in_sbs_minus_1": 0}, "width_in_sbs_minus_1"),
    ],
)  # fmt: skip
def test_values_that_a_frame_header_may_not_have(fixed: dict[str, int], name: str) -> None:
    wide = {"max_frame_width_minus_1": 64 * 65 if name.startswith("width") else 64 * 5}
    bits = {"frame_width_bits_minus_1": 13, "frame_height_bits_minus_1": 7}
    _, sequence, _ = make_sequence(1, bits | wide | {"max_frame_height_minus_1": 200})
    usual = {"show_existing_frame": 0, "frame_size_override_flag": 0, "use_superres": 0}
    with pytest.raises(InvalidSyntax, match=f"^{name}"):
        read_frame_header(DrawingReader(by_chance(1, usual | fixed)), sequence, 0, 0, EMPTY)


def test_a_slot_shown_again() -> None:
    _, sequence, _ = make_sequence(2, {"frame_id_numbers_present_flag": 1})
    fixed = {"show_existing_frame": 1, "frame_to_show_map_idx": 6, "display_frame_id": 3}
    assert make_frame(2, sequence, fixed=fixed)[2] == ShownAgain(6, 3)


@given(st.integers(0, (1 << 32) - 1), st.integers(0, 3))
def test_leb128(value: int, more: int) -> None:
    code = framed(OBU_FRAME, b"")[:1]  # any byte before it
    size = max(-(-value.bit_length() // 7), 1) + more
    for i in range(size):
        code += bytes((value >> 7 * i & 127 | (128 if i < size - 1 else 0),))
    assert leb128(code, 1, "obu_size") == (value, 1 + size)
    with pytest.raises(Truncated, match="obu_size"):
        leb128(code[:-1], 1, "obu_size")


@pytest.mark.parametrize("code", [b"\xff" * 8 + b"\x01", b"\x80\x80\x80\x80\x10"])
def test_leb128_of_too_much(code: bytes) -> None:
    with pytest.raises(InvalidSyntax, match="obu_size"):
        leb128(code, 0, "obu_size")


@given(st.integers(1, 300), st.data())
def test_ns(n: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, n - 1))
    width = n.bit_length()
    short = (1 << width) - n
    w = BitWriter()
    if value < short:
        w.u(width - 1, value)
    else:
        w.u(width - 1, (value + short) >> 1)
        w.u(1, (value + short) & 1)
    r = BitReader(w.to_bytes())
    assert read_ns(r, n, "x") == value
    assert r.position == w.size


def test_tile_groups() -> None:
    whole = TileInfo(0, 1)
    assert read_tile_group(BitReader(b""), whole) == (0, 0)
    four = TileInfo(2, 4)
    assert read_tile_group(BitReader(b"\x00"), four) == (0, 3)
    assert read_tile_group(BitReader(bytes((0b1_01_10_000,))), four) == (1, 2)
    with pytest.raises(InvalidSyntax, match="tg_end"):
        read_tile_group(BitReader(bytes((0b1_10_01_000,))), four)
    with pytest.raises(InvalidSyntax, match="tg_end"):
        read_tile_group(BitReader(bytes((0b1_00_11_000,))), TileInfo(2, 3))


def test_split() -> None:
    packet = framed(2, b"") + layered(6, b"abc", spatial_id=2, temporal_id=5) + b"\x30last"
    assert split(packet) == [
        Obu(2, None, 0, 2, 2), Obu(6, 5 << 5 | 2 << 3, 2, 5, 8), Obu(6, None, 8, 9, 13)
    ]  # fmt: skip
    assert (split(packet)[1].temporal_id, split(packet)[1].spatial_id) == (5, 2)
    assert split(b"") == []
    assert split(framed(5, bytes(300)))[0].payload == 3


@pytest.mark.parametrize(
    ("packet", "name"),
    [
        (b"\x92\x00", "obu_forbidden_bit"),
        (b"\x34", "obu_extension_header"),
        (b"\x32", "obu_size"),
        (b"\x32\x80", "obu_size"),
        (b"\x32\x05abcd", "obu_size"),
        (b"\x32\xff\xff\xff\xff\x0f", "obu_size"),
    ],
)
def test_damaged_framing(packet: bytes, name: str) -> None:
    with pytest.raises(InvalidSyntax, match=f"^{name}"):
        split(packet)


def test_metadata() -> None:
    assert doubt(b"\x03" + bytes(4)) is None
    assert doubt(b"\x01" + bytes(5)) is None
    assert doubt(b"\x04\xb5\x00\x3b" + bytes(9)) is None
    assert doubt(b"\x04\xb5\x00\x3c\x00\x01\x04\x80") == "HDR10+ metadata"
    assert doubt(b"\x04\xb5\x00\x31GA94\x80") == "closed captions"
    for payload in (b"", b"\x81", b"\x01" + bytes(4), b"\x02" + bytes(24)):
        with pytest.raises(Truncated, match=NAMES):
            doubt(payload)


@slow
@given(st.lists(st.binary(max_size=80), max_size=4))
def test_hostile_packets(packets: list[bytes]) -> None:
    check(parsed(packets), len(packets))


@settings(slow, max_examples=150)
@given(st.sampled_from(sorted(RECIPES)), st.data())
def test_hostile_streams(name: str, data: st.DataObject) -> None:
    packets = list(encoded(name).packets[:12])
    for _ in range(data.draw(st.integers(1, 4))):
        which = data.draw(st.integers(0, len(packets) - 1))
        packet = packets[which]
        place = data.draw(st.integers(0, min(len(packet) - 1, 40)))
        action = data.draw(st.integers(0, 3))
        if action == 0:
            byte = data.draw(st.binary(min_size=1, max_size=1))
            packets[which] = packet[:place] + byte + packet[place + 1 :]
        elif action == 1:
            packets[which] = packet[: place + 1]
        elif action == 2:
            packets[which] = packet + data.draw(st.sampled_from(packets))
        else:
            packets[which] = packet[place:] or packet
    check(parsed(packets), len(packets))


def check(parsed_stream: Parsed, packets: int) -> None:
    """Whatever the bytes: a reason, or pictures that all have their place."""
    stream, pictures = parsed_stream
    assert len(stream.packets) == packets
    assert all(k < number for number, p in enumerate(pictures) for k in p.references)
    if stream.fallback is None:
        assert sorted([*stream.shown, *stream.hidden]) == list(range(len(pictures)))
