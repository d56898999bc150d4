"""Packets put together from OBUs that are made up, or taken from a clip and changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from decoder.bitstream.av1.frame import FrameHeader, ShownAgain, read_frame_header
from decoder.bitstream.av1.obu import (
    OBU_FRAME,
    OBU_FRAME_HEADER,
    OBU_SEQUENCE_HEADER,
    OBU_TILE_GROUP,
    framed,
    split,
)
from decoder.bitstream.av1.sequence import SequenceHeader
from decoder.bitstream.av1.slots import ReferenceSlots
from decoder.bitstream.av1.stream import PictureStream
from decoder.bitstream.bits import BitWriter
from decoder.bitstream.picture import Picture

from .elements import TracingReader
from .svt import encoded
from .trace import header_sizes


def layered(obu_type: int, payload: bytes, spatial_id: int = 0, temporal_id: int = 0) -> bytes:
    """An OBU with an extension header."""
    plain = framed(obu_type, payload)
    return bytes((plain[0] | 4, temporal_id << 5 | spatial_id << 3)) + plain[1:]


def shown_again(slot: int) -> bytes:
    """A frame header that shows a slot, in a sequence without frame ids and decoder model."""
    return framed(OBU_FRAME_HEADER, bytes((0x80 | slot << 4 | 0x08,)))


class Known(NamedTuple):
    """A frame or frame header OBU of a clip, and where its elements lie in its payload."""

    obu_type: int
    payload: bytes
    header: FrameHeader | ShownAgain
    elements: tuple[tuple[int, int, str], ...]
    """Start and end in bits, name."""
    end: int
    """Bits of the frame header; -1 where it is not of a frame OBU."""

    @property
    def obu(self) -> bytes:
        return framed(self.obu_type, self.payload)

    def changed(self, name: str, values: int | Sequence[int]) -> Known:
        """With another value, or values one by one, for an element that is there."""
        places = [(start, end) for start, end, found in self.elements if found == name]
        numbers = [values] * len(places) if isinstance(values, int) else values
        bits = int.from_bytes(self.payload, "big")
        for (start, end), value in zip(places, numbers, strict=True):
            shift = 8 * len(self.payload) - end
            bits = bits & ~(((1 << (end - start)) - 1) << shift) | value << shift
        return self._replace(payload=bits.to_bytes(len(self.payload), "big"))

    def in_two(self) -> bytes:
        """A frame OBU as a frame header and a tile group OBU."""
        w = BitWriter()
        w.u(self.end, self._bits(0, self.end))
        w.trailing_bits()
        tiles = self.payload[(self.end + 7) // 8 :]
        return framed(OBU_FRAME_HEADER, w.to_bytes()) + framed(OBU_TILE_GROUP, tiles)

    def hidden_key(self, refresh_frame_flags: int, order_hint_bits: int) -> bytes:
        """The OBU of a shown key frame as a hidden one that takes some of the slots."""
        start = next(start for start, _, name in self.elements if name == "disable_cdf_update")
        behind = next(
            start
            for start, _, name in self.elements
            if name in ("use_superres", "render_and_frame_size_different")
        )
        w = BitWriter()
        for value in (0, 0, 0, 0, 1, 1):  # a key frame, not shown, showable, error resilient
            w.flag(value)
        w.u(behind - start, self._bits(start, behind))
        w.u(8, refresh_frame_flags)
        w.u(8 * order_hint_bits, 0)
        w.u(self.end - behind, self._bits(behind, self.end))
        return framed(OBU_FRAME, w.to_bytes() + self.payload[(self.end + 7) // 8 :])

    def _bits(self, start: int, end: int) -> int:
        whole = int.from_bytes(self.payload, "big") >> 8 * len(self.payload) - end
        return whole & ((1 << (end - start)) - 1)


class Clip(NamedTuple):
    """A stream taken apart."""

    sequence: SequenceHeader
    sequence_obu: bytes
    packets: list[list[Known]]


@cache
def taken_apart(name: str) -> Clip:
    """A clip of RECIPES, whose packets begin with frames but for the first sequence header."""
    stream = encoded(name)
    sizes = header_sizes(stream.packets, stream.file)
    slots = ReferenceSlots()
    sequence = None
    sequence_obu = b""
    packets: list[list[Known]] = []
    for packet, ends in zip(stream.packets, sizes, strict=True):
        frames: list[Known] = []
        waiting = list(ends)
        for obu in split(packet):
            payload = packet[obu.payload : obu.end]
            if obu.obu_type == OBU_SEQUENCE_HEADER:
                sequence, _ = SequenceHeader.parse(payload)
                sequence_obu = framed(OBU_SEQUENCE_HEADER, payload)
            if obu.obu_type not in (OBU_FRAME, OBU_FRAME_HEADER):
                continue
            assert sequence is not None
            reader = TracingReader(payload)
            header = read_frame_header(reader, sequence, 0, 0, slots.headers)
            if isinstance(header, FrameHeader):
                slots.refresh(header, 0)
            starts = [start for start, _, _ in reader.elements] + [reader.position]
            elements = tuple(
                (start, starts[k + 1], found) for k, (start, found, _) in enumerate(reader.elements)
            )
            end = waiting.pop(0) if obu.obu_type == OBU_FRAME else -1
            frames.append(Known(obu.obu_type, payload, header, elements, end))
        packets.append(frames)
    assert sequence is not None
    return Clip(sequence, sequence_obu, packets)


class Parsed(NamedTuple):
    """What a stream turned out to be."""

    stream: PictureStream
    pictures: list[Picture]


def parsed(packets: Iterable[bytes]) -> Parsed:
    """Feeds packets to a parser."""
    stream = PictureStream()
    pictures = [picture for packet in packets for picture in stream.feed(packet)]
    return Parsed(stream, pictures + stream.flush())
