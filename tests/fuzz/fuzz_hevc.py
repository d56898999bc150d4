"""Coverage-guided fuzzing of everything that reads H.265 headers; not part of the test suite.

    pip install atheris av numpy hypothesis
    python -m tests.fuzz.fuzz_hevc [--only stream,sequence] -max_total_time=600 [FOLDER]

Without a folder it starts from headers of small streams that it encodes or writes itself. Whatever
the bytes, nothing but InvalidSyntax may come out, in bounded time and memory. ``--only`` chooses
among the targets: unit, units, configuration, stream, sequence (packets of a real stream,
disturbed). The framing of NAL units is fuzzed by fuzz_h264.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

with atheris.instrument_imports(include=["decoder"]):
    from decoder.bitstream import nal
    from decoder.bitstream.hevc.parameter_sets import Configuration, ParameterSets
    from decoder.bitstream.hevc.slice import SliceSegmentHeader
    from decoder.bitstream.hevc.stream import PictureStream
    from decoder.bitstream.sei import lasting, messages
    from decoder.errors import InvalidSyntax
    from decoder.feed import FeedTable
    from decoder.plan import plan, walk

from tests.bitstream.hevc.clip import encoded
from tests.bitstream.hevc.syntax import Layout
from tests.bitstream.hevc.writer import Features, write

_SEPARATOR = b"\xde\xad\xbe\xef"
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
    _read(data.split(_SEPARATOR), ParameterSets())


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
            _check_message(error)
    copy = ParameterSets()
    for unit in sets.snapshot():
        copy.update(unit)
    assert (copy.vps, copy.sps, copy.pps) == (sets.vps, sets.sps, sets.pps)


def _check_message(error: InvalidSyntax) -> None:
    element = str(error).split(":")[0].split(" is ")[0]
    assert element.isidentifier(), error


def _configuration(data: bytes) -> None:
    try:
        configuration = Configuration.parse(data)
    except InvalidSyntax:
        return
    assert all(configuration.units)
    assert 0 <= configuration.length_size <= 4


def _stream(data: bytes) -> None:
    extradata, *packets = data.split(_SEPARATOR)
    _run(extradata, packets)


def _sequence(data: bytes) -> None:
    """A stream that the first byte chooses, disturbed three bytes at a time.

    (packet, action, operand): bytes of the head of a packet changed, packets left out, doubled,
    exchanged.
    """
    if not data:
        return
    packets = list(_STREAMS[data[0] % len(_STREAMS)])
    for place in range(1, min(len(data) - 2, 60), 3):
        which, action, operand = data[place : place + 3]
        which %= len(packets)
        packet = packets[which]
        if action < 128:
            at = min(action, len(packet) - 1)
            packets[which] = packet[:at] + bytes((operand,)) + packet[at + 1 :]
        elif action < 160 and len(packets) > 1:
            del packets[which]
        elif action < 192:
            packets.insert(operand % len(packets), packet)
        elif action < 224:
            other = operand % len(packets)
            packets[which], packets[other] = packets[other], packet
        else:
            packets[which] = packet[: operand % (len(packet) + 1)]
    _run(b"", packets)


def _run(extradata: bytes, packets: list[bytes]) -> None:
    stream = PictureStream(extradata)
    pictures = [picture for packet in packets for picture in stream.feed(packet)]
    pictures += stream.flush()
    assert len(stream.packets) == len(packets)
    for index, picture in enumerate(pictures):
        assert all(0 <= reference < index for reference in picture.references)
    if stream.fallback is not None:
        return
    assert sorted([*stream.shown, *stream.hidden]) == list(range(len(pictures)))
    feed = FeedTable.of(pictures, stream.packets, stream.heads(), stream.prelude)
    for target in set(stream.shown[:1] + stream.shown[-1:]):
        plan(feed.graph, [target]).explain()
        walk(feed.graph, target)


_TARGETS = {
    "unit": _unit,
    "units": _units,
    "configuration": _configuration,
    "stream": _stream,
    "sequence": _sequence,
}
_CHOSEN = list(_TARGETS.values())
_SETS: list[list[bytes]] = []  # of every stream
_STREAMS: list[list[bytes]] = []


def one_input(data: bytes) -> None:
    """The first byte chooses what reads the rest."""
    if data:
        _CHOSEN[data[0] % len(_CHOSEN)](data[1:])


def write_seeds(folder: Path) -> None:
    """Headers of every stream, in the form that each target takes. Fills _SETS and _STREAMS too."""
    found = [(name, encoded(name, "hevc").packets) for name in _RECIPES]
    found += [
        (f"written{n}", write(n, features, 40).packets) for n, features in enumerate(_WRITTEN)
    ]
    for number, (name, packets) in enumerate(found):
        split = [[u[:_HEAD] for u in nal.split(p, nal.ANNEX_B)] for p in packets[:_PACKETS]]
        units = [unit for packet in split for unit in packet]
        heads = [nal.join(packet, nal.ANNEX_B) for packet in split]
        _SETS.append([unit for unit in split[0] if unit[0] >> 1 in (32, 33, 34)])
        _STREAMS.append(heads)
        inputs = [(_unit, bytes((number,)) + unit) for unit in units]
        inputs += [
            (_units, _SEPARATOR.join(units)),
            (_configuration, encoded(_RECIPES[0]).extradata),
            (_stream, _SEPARATOR.join([b"", *heads[:5]])),
            (_sequence, bytes((number,)) + bytes(range(30))),
        ]
        for place, (target, data) in enumerate(inputs):
            if target in _CHOSEN:
                first = bytes((_CHOSEN.index(target),))
                (folder / f"{name}_{place}").write_bytes(first + data)


def main() -> None:
    """Hands over to libFuzzer."""
    arguments = list(sys.argv)
    if "--only" in arguments:
        place = arguments.index("--only")
        _CHOSEN[:] = [_TARGETS[name] for name in arguments[place + 1].split(",")]
        del arguments[place : place + 2]
    with tempfile.TemporaryDirectory() as folder:
        write_seeds(Path(folder))
        if all(argument.startswith("-") for argument in arguments[1:]):
            arguments.append(folder)
        arguments += ["-timeout=5", "-rss_limit_mb=1024", "-max_len=4096"]
        atheris.Setup(arguments, one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
