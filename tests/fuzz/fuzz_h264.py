"""Coverage-guided fuzzing of everything that reads H.264 headers; not part of the test suite.

    pip install atheris av numpy hypothesis
    python -m tests.fuzz.fuzz_h264 [--only stream,sequence] -max_total_time=600 [FOLDER]

Without a folder it starts from headers of small streams that it encodes itself. Whatever the bytes,
nothing but InvalidSyntax may come out, in bounded time and memory; what was read must survive being
written as a state-only picture. ``--only`` chooses among the targets: unit, units, framing,
configuration, stream, sequence (packets of a real stream, disturbed).
"""

from __future__ import annotations

from collections.abc import Iterator

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

with atheris.instrument_imports(include=["decoder"]):
    from decoder.bitstream import nal
    from decoder.bitstream.bits import BitReader
    from decoder.bitstream.h264 import sei
    from decoder.bitstream.h264.parameter_sets import Configuration, ParameterSets
    from decoder.bitstream.h264.pps import NAL_PPS, PictureParameterSet
    from decoder.bitstream.h264.slice import SliceHeader
    from decoder.bitstream.h264.sps import NAL_SPS, SequenceParameterSet
    from decoder.bitstream.h264.stream import PictureStream
    from decoder.bitstream.h264.stub import StateOnlySlice, write_pps
    from decoder.bitstream.h264.vui import VuiParameters
    from decoder.bitstream.sei import messages
    from decoder.errors import InvalidSyntax, UnsupportedStream

from tests.bitstream.writer import random_features, write
from tests.fuzz.harness import DISTURBANCE, SEPARATOR, Fuzzer, check_message, disturbed, run
from tests.x264 import ALL_SYNTAX, encoded

_STUB_PPS = 200
_HEAD = 60  # bytes of each NAL unit in the seeds
_WRITTEN = 8
_PACKETS = 12  # of each stream that is disturbed


def _units(data: bytes) -> None:
    """Parameter sets and slices, separated, as in one stream."""
    sets = ParameterSets()
    for unit in data.split(SEPARATOR):
        if not unit:
            continue
        try:
            sets.update(unit)
            if unit[0] & 31 == sei.NAL_SEI:
                _messages(unit, sets)
            header = SliceHeader.parse(unit, sets.pps.get)
        except InvalidSyntax as error:
            check_message(error)
            continue
        _check_stub(header)
    copy = ParameterSets()
    for unit in sets.snapshot():
        copy.update(unit)
    assert (copy.sps, copy.pps) == (sets.sps, sets.pps)


def _messages(unit: bytes, sets: ParameterSets) -> None:
    vuis: list[VuiParameters] = [sps.vui for sps in sets.sps.values() if sps.vui]
    for _, payload in messages(unit, 1):
        sei.names_x264(payload)
        sei.recovery_frame_cnt(payload)
        for vui in vuis:
            sei.pic_struct(payload, vui)


def _unit(data: bytes) -> None:
    """One slice or parameter set, under the sets of a recipe that the first byte chooses."""
    sets = _SETS[data[0] % len(_SETS)] if data else ParameterSets()
    unit = data[1:]
    kind = unit[0] & 31 if unit else 0
    try:
        if kind == NAL_SPS:
            SequenceParameterSet.parse(unit)
        elif kind == NAL_PPS:
            PictureParameterSet.parse(unit, sets.sps.get)
        else:
            _check_stub(SliceHeader.parse(unit, sets.pps.get))
    except InvalidSyntax as error:
        check_message(error)


def _check_stub(header: SliceHeader) -> None:
    try:
        stub = StateOnlySlice.of(header)
    except UnsupportedStream:
        return
    flag = stub.bottom_field_pic_order_in_frame_present_flag
    sps = header.sps
    pps = PictureParameterSet.parse(
        write_pps(sps.seq_parameter_set_id, _STUB_PPS, flag), {sps.seq_parameter_set_id: sps}.get
    )
    reader = BitReader(nal.unescape(stub.write(_STUB_PPS)))
    again = SliceHeader.read(reader, {_STUB_PPS: pps}.get)
    assert StateOnlySlice.of(again) == stub
    assert reader.ue("mb_skip_run") == sps.frame_size_in_mbs >> header.field_pic_flag


def _framing(data: bytes) -> None:
    for length_size in range(5):
        try:
            units = nal.split(data, length_size)
        except InvalidSyntax:
            continue
        assert all(units)
        if length_size == nal.ANNEX_B:
            assert nal.split(nal.join(units, length_size), length_size) == units
    assert nal.unescape(nal.escape(data)) == data


def _configuration(data: bytes) -> None:
    try:
        configuration = Configuration.parse(data)
    except InvalidSyntax:
        return
    assert all(configuration.units)
    assert 0 <= configuration.length_size <= 4


def _stream(data: bytes) -> None:
    extradata, *packets = data.split(SEPARATOR)
    run(PictureStream(extradata), packets)


def _sequence(data: bytes) -> None:
    run(PictureStream(b""), disturbed(_STREAMS, data))


_SETS: list[ParameterSets] = []  # of every recipe
_STREAMS: list[list[bytes]] = []


def _seeds() -> Iterator[tuple[str, bytes]]:
    """Headers of a stream of every recipe, in the form that each target takes.

    Fills _SETS and _STREAMS too.
    """
    for number, recipe in enumerate(ALL_SYNTAX):
        stream = encoded(recipe)
        configuration = Configuration.parse(stream.extradata)
        size = configuration.length_size
        packets = [[unit[:_HEAD] for unit in nal.split(p, size)] for p in stream.packets[:5]]
        units = [*configuration.units, *[unit for packet in packets for unit in packet]]
        annex_b = nal.join(configuration.units, nal.ANNEX_B)
        sets = ParameterSets()
        for unit in configuration.units:
            sets.update(unit)
        _SETS.append(sets)
        _STREAMS.append(_heads(encoded(recipe, "h264").packets))
        yield from (("unit", bytes((number,)) + unit) for unit in units)
        yield "units", SEPARATOR.join(units)
        yield "framing", nal.join(units[:4], size)
        yield "configuration", stream.extradata
        yield "stream", SEPARATOR.join([annex_b, *[nal.join(p, nal.ANNEX_B) for p in packets]])
        yield "sequence", bytes((number,)) + DISTURBANCE
    _STREAMS.extend(
        _heads(write(seed, random_features(seed), 40).clip.packets) for seed in range(_WRITTEN)
    )


def _heads(packets: tuple[bytes, ...] | list[bytes]) -> list[bytes]:
    return [
        nal.join([unit[:_HEAD] for unit in nal.split(packet, nal.ANNEX_B)], nal.ANNEX_B)
        for packet in packets[:_PACKETS]
    ]


FUZZER = Fuzzer(
    {
        "unit": _unit,
        "units": _units,
        "framing": _framing,
        "configuration": _configuration,
        "stream": _stream,
        "sequence": _sequence,
    },
    _seeds,
)

if __name__ == "__main__":
    FUZZER.main()
