"""Coverage-guided fuzzing of everything that reads AV1 headers; not part of the test suite.

    pip install atheris av numpy hypothesis
    python -m tests.fuzz.fuzz_av1 [--only stream,sequence] -max_total_time=600 [FOLDER]

Without a folder it starts from headers of small streams that it encodes itself. Whatever the bytes,
nothing but InvalidSyntax may come out, in bounded time and memory. ``--only`` chooses among the
targets: header (OBUs of one packet), framing, stream (packets), sequence (packets of a real stream,
disturbed).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

with atheris.instrument_imports(include=["decoder"]):
    from decoder.bitstream.av1 import metadata, obu
    from decoder.bitstream.av1.frame import FrameHeader, parse_frame_header
    from decoder.bitstream.av1.sequence import SequenceHeader
    from decoder.bitstream.av1.slots import ReferenceSlots
    from decoder.bitstream.av1.stream import PictureStream
    from decoder.bitstream.av1.tiles import read_tile_group
    from decoder.bitstream.bits import BitReader
    from decoder.errors import InvalidSyntax
    from decoder.feed import FeedTable
    from decoder.plan import plan, walk

from tests.bitstream.av1.svt import RECIPES, encoded

_SEPARATOR = b"\xde\xad\xbe\xef"
_HEAD = 60  # bytes of each OBU in the seeds
_PACKETS = 12  # of each stream that is disturbed


def _header(data: bytes) -> None:
    """One OBU, under the sequence header and slots of a recipe that the first byte chooses."""
    if not data:
        return
    sequence, slots = _STATES[data[0] % len(_STATES)]
    try:
        for unit in obu.split(data[1:]):
            payload = data[1:][unit.payload : unit.end]
            if unit.obu_type == obu.OBU_SEQUENCE_HEADER:
                SequenceHeader.parse(payload)
            elif unit.obu_type == obu.OBU_METADATA:
                metadata.doubt(payload)
            elif unit.obu_type in (obu.OBU_FRAME, obu.OBU_FRAME_HEADER):
                header = parse_frame_header(data[1:], unit, sequence, slots.headers)
                if isinstance(header, FrameHeader):
                    slots.read_by(header, sequence)
                    read_tile_group(BitReader(payload), header.tile_info)
                else:
                    slots.shown(header)
    except InvalidSyntax as error:
        _check_message(error)


def _check_message(error: InvalidSyntax) -> None:
    element = str(error).split(":")[0].split(" is ")[0]
    assert element.isidentifier(), error


def _framing(data: bytes) -> None:
    try:
        units = obu.split(data)
    except InvalidSyntax:
        return
    position = 0
    for unit in units:
        assert unit.start == position < unit.payload <= unit.end
        position = unit.end
        again = obu.framed(unit.obu_type, data[unit.payload : unit.end])
        assert obu.split(again)[0].end == len(again)
    assert position == len(data)


def _stream(data: bytes) -> None:
    _run(data.split(_SEPARATOR))


def _sequence(data: bytes) -> None:
    """A stream that the first byte chooses, disturbed three bytes at a time.

    (packet, action, operand): bytes of the head of a packet changed, packets left out, doubled,
    exchanged, joined.
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
        elif action < 150 and len(packets) > 1:
            del packets[which]
        elif action < 180:
            packets.insert(operand % len(packets), packet)
        elif action < 210:
            other = operand % len(packets)
            packets[which], packets[other] = packets[other], packet
        elif action < 230 and len(packet) < 4096:
            packets[which] = packet + packets[operand % len(packets)]
        else:
            packets[which] = packet[: operand % len(packet) + 1]
    _run(packets)


def _run(packets: list[bytes]) -> None:
    stream = PictureStream()
    pictures = [picture for packet in packets for picture in stream.feed(packet)]
    pictures += stream.flush()
    assert len(stream.packets) == len(packets)
    for index, picture in enumerate(pictures):
        assert all(0 <= reference < index for reference in picture.references)
        assert picture.spans
        size = len(packets[picture.packets[0]])
        assert all(start >= 0 and 0 < n <= size - start for start, n in picture.spans)
    if stream.fallback is not None or not pictures:
        return
    assert sorted([*stream.shown, *stream.hidden]) == list(range(len(pictures)))
    feed = FeedTable.of(pictures, stream.packets, stream.heads(), stream.prelude)
    for target in {0, len(pictures) // 2, len(pictures) - 1}:
        for run in plan(feed.graph, [target]).runs:
            assert run.conservative is None
        walk(feed.graph, target)


_TARGETS = {"header": _header, "framing": _framing, "stream": _stream, "sequence": _sequence}
_CHOSEN = list(_TARGETS.values())
_STATES: list[tuple[SequenceHeader, ReferenceSlots]] = []  # of every recipe
_STREAMS: list[list[bytes]] = []


def one_input(data: bytes) -> None:
    """The first byte chooses what reads the rest."""
    if data:
        _CHOSEN[data[0] % len(_CHOSEN)](data[1:])


def write_seeds(folder: Path) -> None:
    """Headers of a stream of every recipe, in the form that each target takes.

    Fills _STATES and _STREAMS too.
    """
    for number, recipe in enumerate(RECIPES):
        packets = [_heads(packet) for packet in encoded(recipe).packets[:_PACKETS]]
        _STREAMS.append(packets)
        _STATES.append(_state(packets))
        inputs = [(_header, bytes((number,)) + packet) for packet in packets]
        inputs += [
            (_framing, packets[-1]),
            (_stream, _SEPARATOR.join(packets)),
            (_sequence, bytes((number,)) + bytes(range(30))),
        ]
        for place, (target, data) in enumerate(inputs):
            if target in _CHOSEN:
                first = bytes((_CHOSEN.index(target),))
                (folder / f"{recipe}_{place}").write_bytes(first + data)


def _heads(packet: bytes) -> bytes:
    return b"".join(
        obu.framed(unit.obu_type, packet[unit.payload : min(unit.end, unit.payload + _HEAD)])
        for unit in obu.split(packet)
    )


def _state(packets: list[bytes]) -> tuple[SequenceHeader, ReferenceSlots]:
    """The sequence header of a stream, and its first frame in all slots."""
    units = obu.split(packets[0])
    payloads = {unit.obu_type: packets[0][unit.payload : unit.end] for unit in units}
    sequence, _ = SequenceHeader.parse(payloads[obu.OBU_SEQUENCE_HEADER])
    slots = ReferenceSlots()
    key = next(unit for unit in units if unit.obu_type == obu.OBU_FRAME)
    header = parse_frame_header(packets[0], key, sequence, slots.headers)
    assert isinstance(header, FrameHeader)
    slots.refresh(header, 0)
    return sequence, slots


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
