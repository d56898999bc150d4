"""FFmpeg's trace_headers filter as the oracle for header syntax, and our own parse in its form.

Both give, per OBU, the list of (bit position, element, value), ours up to tile_info.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import av
import av.logging
from av.bitstream import BitStreamFilterContext

from decoder.bitstream.av1 import obu as obus
from decoder.bitstream.av1.frame import FrameHeader, read_frame_header
from decoder.bitstream.av1.sequence import SequenceHeader
from decoder.bitstream.av1.slots import ReferenceSlots
from decoder.errors import InvalidSyntax

from .elements import Element, TracingReader

_LINE = re.compile(r"(\d+) +(\S+) +([01<>.]*) *= (-?\d+)")
# What trace_headers names differently
_NAMES = {
    "golden_frame_idx": "gold_frame_idx",
    "delta_frame_id_minus1": "delta_frame_id_minus_1",
    "tile_size_bytes_minus1": "tile_size_bytes_minus_1",
}
# Prints as one what is several elements, or several as one; those behind vouch for their size
_UNCOMPARED = (
    "tile_cols_log2", "tile_rows_log2", "increment_tile_cols_log2", "increment_tile_rows_log2",
    "width_in_sbs_minus_1", "height_in_sbs_minus_1", "trailing_zero_bit",
)  # fmt: skip


@dataclass(slots=True)
class Unit:
    """One OBU: its elements, and why reading stopped early (None: it did not)."""

    elements: list[Element] = field(default_factory=list)
    error: str | None = None

    @property
    def obu_type(self) -> int:
        return next((v for _, name, v in self.elements if name == "obu_type"), -1)


def ffmpeg_units(logs: Iterable[tuple[int, str, str]]) -> list[Unit]:
    """The OBUs in what trace_headers logged."""
    units: list[Unit] = []
    for level, _, message in logs:
        match = _LINE.match(message)
        if match is None:
            if level <= av.logging.ERROR and units:
                units[-1].error = message.strip()
            continue
        position, name, value = int(match[1]), match[2].split("[")[0], int(match[4])
        if name == "obu_forbidden_bit":
            units.append(Unit())
        if name not in _UNCOMPARED:
            units[-1].elements.append((position, _NAMES.get(name, name), value))
    return units


class Tracer:
    """Our reading, OBU by OBU, with the sequence header and the slots in force."""

    def __init__(self) -> None:
        self.sequence: SequenceHeader | None = None
        self.slots = ReferenceSlots()

    def packet(self, packet: bytes) -> list[Unit]:
        return [self._unit(packet, obu) for obu in obus.split(packet)]

    def _unit(self, packet: bytes, obu: obus.Obu) -> Unit:
        data = packet[obu.start : obu.end]
        reader = TracingReader(data, 8 * (obu.payload - obu.start))
        unit = Unit(_header(data, obu))
        try:
            if obu.obu_type == obus.OBU_SEQUENCE_HEADER:
                self.sequence, _ = SequenceHeader.read(reader)
            elif obu.obu_type in (obus.OBU_FRAME, obus.OBU_FRAME_HEADER):
                self._frame(reader, obu)
        except InvalidSyntax as error:
            unit.error = str(error)
        unit.elements += [e for e in reader.elements if e[1] not in _UNCOMPARED]
        return unit

    def _frame(self, reader: TracingReader, obu: obus.Obu) -> None:
        assert self.sequence is not None
        header = read_frame_header(
            reader, self.sequence, obu.temporal_id, obu.spatial_id, self.slots.headers
        )
        if isinstance(header, FrameHeader):
            self.slots.refresh(header, 0)
        else:
            shown, _ = self.slots.shown(header)
            if shown.frame_type == 0:
                self.slots.load(shown, 0)


def _header(data: bytes, obu: obus.Obu) -> list[Element]:
    """obu_header and obu_size, which are not read bit by bit."""
    first = data[0]
    elements = [
        (0, "obu_forbidden_bit", first >> 7),
        (1, "obu_type", obu.obu_type),
        (5, "obu_extension_flag", first >> 2 & 1),
        (6, "obu_has_size_field", first >> 1 & 1),
        (7, "obu_reserved_1bit", first & 1),
    ]
    position = 8
    if obu.extension is not None:
        elements += [
            (8, "temporal_id", obu.temporal_id),
            (11, "spatial_id", obu.spatial_id),
            (13, "extension_header_reserved_3bits", obu.extension & 7),
        ]
        position = 16
    if first & 2:
        elements.append((position, "obu_size", obu.end - obu.payload))
    return elements


def compare(
    packets: Iterable[bytes], template: bytes
) -> Iterator[tuple[int, list[Unit], list[Unit]]]:
    """(packet number, OBUs of FFmpeg, ours); ``template`` is a file with an AV1 stream."""
    tracer = Tracer()
    for number, (data, logs) in enumerate(_logs(packets, template)):
        yield number, ffmpeg_units(logs), tracer.packet(data)


def header_sizes(packets: Iterable[bytes], template: bytes) -> list[list[int]]:
    """Bits of the header in each frame OBU, packet by packet."""
    sizes = []
    for data, logs in _logs(packets, template):
        ends: list[int] = []
        for _, _, message in logs:
            if message.startswith("OBU header"):
                ends.append(0)
            match = _LINE.match(message)
            if match is not None and match[2] != "zero_bit":
                ends[-1] = int(match[1]) + len(match[3])
        units = obus.split(data)
        sizes.append(
            [
                end - 8 * (unit.payload - unit.start)
                for unit, end in zip(units, ends, strict=True)
                if unit.obu_type == obus.OBU_FRAME
            ]
        )
    return sizes


def _logs(
    packets: Iterable[bytes], template: bytes
) -> Iterator[tuple[bytes, list[tuple[int, str, str]]]]:
    av.logging.set_skip_repeated(False)
    before = av.logging.get_level()
    av.logging.set_level(av.logging.INFO)
    try:
        with av.open(io.BytesIO(template), "r") as container:
            with av.logging.Capture():
                bsf = BitStreamFilterContext("trace_headers", container.streams.video[0])
            for data in packets:
                with av.logging.Capture() as logs:
                    try:
                        bsf.filter(av.Packet(data))
                    except av.FFmpegError as error:
                        logs.append((av.logging.ERROR, "filter", str(error)))
                yield data, list(logs)
    finally:
        av.logging.set_level(before)
