"""Coverage-guided fuzzing of everything that reads H.265 headers; not part of the test suite.

    pip install atheris av numpy hypothesis
    python -m tests.fuzz.fuzz_hevc [--only stream,sequence] -max_total_time=600 [FOLDER]

Without a folder it starts from headers of small streams that it encodes or writes itself. Whatever
the bytes, nothing but InvalidSyntax may come out, in bounded time and memory. ``--only`` chooses
among the targets: unit, units, configuration, stream, sequence (packets of a real stream,
disturbed). The framing of NAL units is fuzzed by fuzz_h264.
"""

from __future__ import annotations

from collections.abc import Iterator

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

with atheris.instrument_imports(include=["decoder"]):
    from decoder.bitstream import nal
    from decoder.bitstream.hevc.parameter_sets import Configuration, ParameterSets
    from decoder.bitstream.hevc.slice import SliceSegmentHeader
    from decoder.bitstream.hevc.stream import PictureStream
    from decoder.bitstream.sei import lasting, messages
    from decoder.errors import InvalidSyntax

from tests.bitstream.hevc.clip import encoded
from tests.bitstream.hevc.syntax import Layout
from tests.bitstream.hevc.writer import Features, write
from tests.fuzz.harness import DISTURBANCE, SEPARATOR, Fuzzer, check_message, disturbed, run

_HEAD = 80  # bytes of each NAL unit in the seeds
_PACKETS = 16  # of each stream that is disturbed
_RECIPES = (
    "default refs_6 b_7_1 lsb_4 lsb_5_open layers open_7 open_repeat radl field_bff wpp hrd vui "
    "scaling format_yuv444p12le format_gray"
).split()
_WRITTEN = (
    Features(Layout(long_term=True, log2_max_lsb=4, blocks=2), long_term=0.2),
    Features(Layout(output_flag=True, sub_layers=3, extra_bits=2), hidden=0.3, unused=0.3),
    Features(ends=0.8, leading=0.4, orphans=0.3, sequence=6),
)


def _units(data: bytes) -> None:
    """Parameter sets, messages and slices, separated, as in one stream."""
    _read(data.split(SEPARATOR), ParameterSets())


def _unit(data: bytes) -> None:
    """One unit, under the sets of a stream that the first byte chooses."""
    if not data:
        return
    sets = ParameterSets()
    for unit in _SETS[data[0] % len(_SETS)]:
        sets.update(unit)
    _read([data[1:]], sets)


def _read(units: list[bytes], sets: ParameterSets) -> None:
    for unit in units:
        for payload_type, payload in messages(unit, 2):
            lasting(payload_type, payload)
        try:
            sets.update(unit)
            SliceSegmentHeader.parse(unit, sets.pps.get)
        except InvalidSyntax as error:
            check_message(error)
    copy = ParameterSets()
    for unit in sets.snapshot():
        copy.update(unit)
    assert (copy.vps, copy.sps, copy.pps) == (sets.vps, sets.sps, sets.pps)


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


_SETS: list[list[bytes]] = []  # of every stream
_STREAMS: list[list[bytes]] = []


def _seeds() -> Iterator[tuple[str, bytes]]:
    """Headers of every stream, in the form that each target takes. Fills _SETS and _STREAMS too."""
    found = [encoded(name, "hevc").packets for name in _RECIPES]
    found += [write(n, features, 40).packets for n, features in enumerate(_WRITTEN)]
    yield "configuration", encoded(_RECIPES[0]).extradata
    for number, packets in enumerate(found):
        split = [[u[:_HEAD] for u in nal.split(p, nal.ANNEX_B)] for p in packets[:_PACKETS]]
        units = [unit for packet in split for unit in packet]
        heads = [nal.join(packet, nal.ANNEX_B) for packet in split]
        _SETS.append([unit for unit in split[0] if unit[0] >> 1 in (32, 33, 34)])
        _STREAMS.append(heads)
        yield from (("unit", bytes((number,)) + unit) for unit in units)
        yield "units", SEPARATOR.join(units)
        yield "stream", SEPARATOR.join([b"", *heads[:5]])
        yield "sequence", bytes((number,)) + DISTURBANCE


FUZZER = Fuzzer(
    {
        "unit": _unit,
        "units": _units,
        "configuration": _configuration,
        "stream": _stream,
        "sequence": _sequence,
    },
    _seeds,
)

if __name__ == "__main__":
    FUZZER.main()
