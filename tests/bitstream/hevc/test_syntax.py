"""Parameter sets and slice headers cut short or damaged: the element is named, nothing else."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from decoder.bitstream.bits import BitReader, BitWriter
from decoder.bitstream.hevc.parameter_sets import ParameterSets
from decoder.bitstream.hevc.pps import PictureParameterSet
from decoder.bitstream.hevc.rps import ShortTermRefPicSet
from decoder.bitstream.hevc.slice import SliceSegmentHeader
from decoder.bitstream.hevc.sps import SequenceParameterSet
from decoder.bitstream.hevc.stream import PictureStream
from decoder.bitstream.hevc.units import PPS_NUT, SLICE, SPS_NUT, VPS_NUT
from decoder.bitstream.hevc.vps import VideoParameterSet
from decoder.bitstream.nal import split, unescape
from decoder.errors import InvalidSyntax

from .clip import encoded
from .syntax import Layout, Slice, begin, parameter_sets, unit, write_header
from .writer import Features, write

slow = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

STREAMS = {
    "default": lambda: encoded("default", "hevc").packets,
    "hrd": lambda: encoded("hrd", "hevc").packets,
    "layers": lambda: encoded("layers", "hevc").packets,
    "scaling": lambda: encoded("scaling", "hevc").packets,
    "lossless": lambda: encoded("format_yuv444p12le", "hevc").packets,
    "long term": lambda: (
        write(
            1, Features(Layout(long_term=True, blocks=2, output_flag=True), long_term=0.3), 40
        ).packets
    ),
}


def read(bits: BitReader, kind: int, sets: ParameterSets) -> None:
    if kind == VPS_NUT:
        VideoParameterSet.read(bits)
    elif kind == SPS_NUT:
        SequenceParameterSet.read(bits)
    elif kind == PPS_NUT:
        PictureParameterSet.read(bits, sets.sps.get)
    else:
        SliceSegmentHeader.read(bits, sets.pps.get)


@pytest.mark.parametrize("name", STREAMS)
def test_real_headers_cut_at_every_bit(name: str) -> None:
    sets = ParameterSets()
    seen = set()
    for packet in STREAMS[name]()[:14]:
        for nal in split(packet, 0):
            kind = nal[0] >> 1
            sets.update(nal)
            if kind not in SLICE | {VPS_NUT, SPS_NUT, PPS_NUT}:
                continue
            data = unescape(nal[:400])
            whole = BitReader(data)
            read(whole, kind, sets)
            seen.add(kind)
            for size in range(whole.position):
                with pytest.raises(InvalidSyntax, match=r"^[a-z0-9_]+: the data ends"):
                    read(BitReader(data, size=size), kind, sets)
    assert seen >= {VPS_NUT, SPS_NUT, PPS_NUT, 1}


@slow
@given(st.sampled_from(sorted(STREAMS)), st.data())
def test_damaged_headers(name: str, data: st.DataObject) -> None:
    sets = ParameterSets()
    packets = [split(packet, 0) for packet in STREAMS[name]()[:6]]
    nals = [nal for packet in packets for nal in packet]
    chosen = data.draw(st.integers(0, len(nals) - 1))
    for place, nal in enumerate(nals):
        if place == chosen:
            damaged = bytearray(nal)
            top = min(8 * len(nal), 900) - 1
            for position in data.draw(st.lists(st.integers(16, top), min_size=1, max_size=8)):
                damaged[position // 8] ^= 128 >> position % 8
            nal = bytes(damaged)
        with contextlib.suppress(InvalidSyntax):
            sets.update(nal)
            if nal[0] >> 1 in SLICE:
                SliceSegmentHeader.parse(nal, sets.pps.get)


@slow
@given(st.lists(st.binary(max_size=60), max_size=6), st.binary(max_size=60))
def test_any_bytes(packets: list[bytes], extradata: bytes) -> None:
    stream = PictureStream(extradata)
    count = sum(len(stream.feed(packet)) for packet in packets) + len(stream.flush())
    assert len(stream.packets) == len(packets)
    assert count <= len(packets)
    stream.heads()


@slow
@given(st.integers(0, 5), st.lists(st.tuples(*[st.integers(0, 255)] * 3), max_size=12))
def test_disturbed_streams(which: int, changes: list[tuple[int, int, int]]) -> None:
    packets = list(STREAMS[sorted(STREAMS)[which]]()[:20])
    for target, action, operand in changes:
        place = target % len(packets)
        packet = packets[place]
        if action < 128:
            at = min(action, len(packet) - 1)
            packets[place] = packet[:at] + bytes((operand,)) + packet[at + 1 :]
        elif action < 192 and len(packets) > 1:
            del packets[place]
        elif action < 224:
            packets.insert(operand % len(packets), packet)
        else:
            packets[place] = packet[: operand % (len(packet) + 1)]
    stream = PictureStream(b"")
    pictures = [picture for packet in packets for picture in stream.feed(packet)]
    pictures += stream.flush()
    for index, picture in enumerate(pictures):
        assert all(0 <= reference < index for reference in picture.references)
    if stream.fallback is None:
        assert sorted([*stream.shown, *stream.hidden]) == list(range(len(pictures)))


def test_nothing_is_read_beyond_the_head() -> None:
    sets = ParameterSets()
    for packet in encoded("default", "hevc").packets:
        for nal in split(packet, 0):
            sets.update(nal)
            if nal[0] >> 1 in SLICE:
                header = SliceSegmentHeader.parse(nal, sets.pps.get)
                assert SliceSegmentHeader.parse(nal[:64], sets.pps.get) == header


def test_the_longest_header_is_read() -> None:
    """Fifteen pictures, each as far away as can be written; three times what is read at first."""
    layout = Layout(log2_max_lsb=16, max_dec_pic_buffering=16, long_term=True)
    sets = ParameterSets()
    for nal in parameter_sets(layout):
        sets.update(nal)
    bits = begin(1)
    entries = [(-32768 * (n + 1), 1) for n in range(8)]
    far = [(n, 1, (1 << 28) - 1 if n == 0 else 0) for n in range(7)]
    write_header(bits, layout, Slice(1, 0, 1, 5, entries, long_term=far, num_total=15), 0)
    header = SliceSegmentHeader.parse(unit(bits) + bytes(1000), sets.pps.get)
    assert header.short_term is not None
    assert header.short_term.negative == tuple(entries)
    assert header.long_term == tuple([(n, 1, (1 << 28) - 1) for n in range(7)])


def test_long_term_pictures_that_the_sequence_names() -> None:
    layout = Layout(log2_max_lsb=8, long_term=True, lt_ref_pics=((3, 1), (7, 0), (250, 1)))
    sets = ParameterSets()
    for nal in parameter_sets(layout):
        sets.update(nal)
    bits = begin(1)
    header = Slice(
        1, 0, 1, 5, ((-1, 1),), lt_indexes=((2, 4), (1, None)), long_term=((9, 1, 2), (8, 1, 1)),
        num_total=4,
    )  # fmt: skip
    write_header(bits, layout, header, 0)
    found = SliceSegmentHeader.parse(unit(bits), sets.pps.get)
    assert found.long_term == ((250, 1, 4), (7, 0, None), (9, 1, 2), (8, 1, 3))


def test_sets_of_the_sequence() -> None:
    entries = (((-1, 1), (-4, 0)), ((2, 1),))
    layout = Layout(sets=(entries, (((-3, 1),), ()), ((), ((1, 1),))))
    sets = ParameterSets()
    for nal in parameter_sets(layout):
        sets.update(nal)
    bits = begin(1)
    write_header(bits, layout, Slice(1, 0, 2, 5, set_index=0), 0)
    short_term = SliceSegmentHeader.parse(unit(bits), sets.pps.get).short_term
    assert short_term is not None
    assert (short_term.negative, short_term.positive) == entries


@slow
@given(st.data())
def test_a_set_that_is_predicted_from_another(data: st.DataObject) -> None:
    """7.4.8: the entries of the other set and its picture, seen from elsewhere, nearest first."""
    deltas = data.draw(st.lists(st.integers(-9, 9).filter(bool), unique=True, max_size=8))
    other = ShortTermRefPicSet(
        tuple([(d, 1) for d in sorted(deltas, reverse=True) if d < 0]),
        tuple([(d, 0) for d in sorted(deltas) if d > 0]),
    )
    delta_rps = data.draw(st.integers(-5, 5).filter(bool))
    order = [*[d for d, _ in other.negative], *[d for d, _ in other.positive], 0]
    choices = data.draw(st.lists(st.integers(0, 2), min_size=len(order), max_size=len(order)))
    bits = BitWriter()
    bits.flag(1)
    bits.ue(0)
    bits.flag(delta_rps < 0)
    bits.ue(abs(delta_rps) - 1)
    expected = {}
    for delta, choice in zip(order, choices, strict=True):
        bits.flag(choice == 2)
        if choice < 2:
            bits.flag(choice)
        if choice:
            expected[delta + delta_rps] = int(choice == 2)
    reader = BitReader(bits.to_bytes(), size=bits.size)
    if 0 in expected:
        with pytest.raises(InvalidSyntax, match="abs_delta_rps_minus1"):
            ShortTermRefPicSet.read(reader, [other], in_slice=True)
        return
    found = ShortTermRefPicSet.read(reader, [other], in_slice=True)
    assert reader.position == bits.size
    assert dict((*found.negative, *found.positive)) == expected
    assert [d for d, _ in found.negative] == sorted([d for d in expected if d < 0], reverse=True)
    assert [d for d, _ in found.positive] == sorted([d for d in expected if d > 0])
