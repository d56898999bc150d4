"""Coverage-guided fuzzing of everything that reads AV1 headers; not part of the test suite.

    pip install atheris av numpy hypothesis
    python -m tests.fuzz.fuzz_av1 [--only stream,sequence] -max_total_time=600 [FOLDER]

Without a folder it starts from headers of small streams that it encodes itself. Whatever the bytes,
nothing but InvalidSyntax may come out, in bounded time and memory. ``--only`` chooses among the
targets: header (OBUs of one packet), framing, stream (packets), sequence (packets of a real stream,
disturbed).
"""

from __future__ import annotations

from collections.abc import Iterator

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

from tests.bitstream.av1.svt import RECIPES, encoded
from tests.fuzz.harness import DISTURBANCE, SEPARATOR, Fuzzer, check_message, disturbed, run

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
        check_message(error)


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
    run(PictureStream(), data.split(SEPARATOR))


def _sequence(data: bytes) -> None:
    run(PictureStream(), disturbed(_STREAMS, data))


_STATES: list[tuple[SequenceHeader, ReferenceSlots]] = []  # of every recipe
_STREAMS: list[list[bytes]] = []


def _seeds() -> Iterator[tuple[str, bytes]]:
    """Headers of a stream of every recipe, in the form that each target takes.

    Fills _STATES and _STREAMS too.
    """
    for number, recipe in enumerate(RECIPES):
        packets = [_heads(packet) for packet in encoded(recipe).packets[:_PACKETS]]
        _STREAMS.append(packets)
        _STATES.append(_state(packets))
        yield from (("header", bytes((number,)) + packet) for packet in packets)
        yield "framing", packets[-1]
        yield "stream", SEPARATOR.join(packets)
        yield "sequence", bytes((number,)) + DISTURBANCE


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


FUZZER = Fuzzer(
    {"header": _header, "framing": _framing, "stream": _stream, "sequence": _sequence}, _seeds
)

if __name__ == "__main__":
    FUZZER.main()
