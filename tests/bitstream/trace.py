"""FFmpeg's trace_headers filter as the oracle for header syntax, and our own parse in its form.

Both sides give, per NAL unit of type 1, 5, 7 and 8, the list of (bit position, element, value).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import av
import av.logging
from av.bitstream import BitStreamFilterContext

from decoder.bitstream import nal
from decoder.bitstream.bits import BitReader
from decoder.bitstream.h264.parameter_sets import Configuration, ParameterSets
from decoder.bitstream.h264.pps import PictureParameterSet
from decoder.bitstream.h264.slice import SliceHeader
from decoder.bitstream.h264.sps import SequenceParameterSet
from decoder.errors import InvalidSyntax

Element = tuple[int, str, int]
Logs = list[tuple[int, str, str]]

TYPES = (1, 5, 7, 8)
_LINE = re.compile(r"(\d+) +(\S+) +[01<>.]* *= (-?\d+)")
# What trace_headers names differently, and what it prints behind the syntax structure
_NAMES = {
    "gaps_in_frame_num_allowed_flag": "gaps_in_frame_num_value_allowed_flag",
}
_TRAILING = ("rbsp_stop_one_bit", "rbsp_alignment_zero_bit", "cabac_alignment_one_bit")


@dataclass(slots=True)
class Unit:
    """One NAL unit: its elements, and why reading stopped early (None: it did not)."""

    elements: list[Element] = field(default_factory=list)
    error: str | None = None

    @property
    def nal_unit_type(self) -> int:
        return next((v for _, name, v in self.elements if name == "nal_unit_type"), -1)


class TracingReader(BitReader):
    """A BitReader that records every element it gives."""

    __slots__ = ("elements",)

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.elements: list[Element] = []

    def u(self, length: int, name: str) -> int:
        start = self.position
        value = super().u(length, name)
        self.elements.append((start, name, value))
        return value

    def flag(self, name: str) -> int:
        start = self.position
        value = super().flag(name)
        self.elements.append((start, name, value))
        return value

    def ue(self, name: str, high: int = (1 << 32) - 2) -> int:
        start = self.position
        value = super().ue(name, high)
        self.elements.append((start, name, value))
        return value

    def se(self, name: str, low: int = 1 - (1 << 31), high: int = (1 << 31) - 1) -> int:
        start = self.position
        value = super().se(name, low, high)
        if self.elements and self.elements[-1][0] == start:
            self.elements.pop()  # a long code is read through ue
        self.elements.append((start, name, value))
        return value


def ffmpeg_units(logs: Logs, types: Container[int] = TYPES) -> list[Unit]:
    """The units of ``types`` in what trace_headers logged."""
    units: list[Unit] = []
    for level, _, message in logs:
        match = _LINE.match(message)
        if match is None:
            if level <= av.logging.ERROR and units:
                units[-1].error = message.strip()
            continue
        position, name, value = int(match[1]), match[2].split("[")[0], int(match[3])
        if name in _TRAILING:
            continue
        if name == "forbidden_zero_bit" and position == 0:
            units.append(Unit())
        units[-1].elements.append((position, _NAMES.get(name, name), value))
    return [unit for unit in units if unit.nal_unit_type in types]


def our_unit(unit: bytes, sets: ParameterSets) -> Unit:
    """Our reading of one NAL unit of TYPES; ``sets`` takes parameter sets in."""
    reader = TracingReader(nal.unescape(unit if unit[0] & 31 in (7, 8) else unit[:4096]))
    result = Unit()
    try:
        if unit[0] & 31 == 7:
            SequenceParameterSet.read(reader)
            sets.update(unit)
        elif unit[0] & 31 == 8:
            PictureParameterSet.read(reader, sets.sps.get)
            sets.update(unit)
        else:
            header = SliceHeader.read(reader, sets.pps.get)
            assert SliceHeader.parse(unit, sets.pps.get) == header
    except InvalidSyntax as error:
        result.error = str(error)
    result.elements = reader.elements
    if unit[0] & 31 in (1, 5):  # the three elements of the NAL unit header are read in one
        result.elements[:1] = [
            (0, "forbidden_zero_bit", unit[0] >> 7),
            (1, "nal_ref_idc", unit[0] >> 5 & 3),
            (3, "nal_unit_type", unit[0] & 31),
        ]
    return result


def traced(file: str | BinaryIO, packets: int | None) -> Iterator[tuple[int, bytes, Logs]]:
    """(number, bytes, what trace_headers logs) of the first ``packets`` packets.

    First comes -1 with the extradata.
    """
    av.logging.set_skip_repeated(False)
    before = av.logging.get_level()
    av.logging.set_level(av.logging.INFO)
    try:
        with av.open(file, "r", metadata_errors="ignore") as container:
            stream = container.streams.video[0]
            with av.logging.Capture() as logs:
                bsf = BitStreamFilterContext("trace_headers", stream)
            yield -1, bytes(stream.codec_context.extradata or b""), logs
            for number, packet in enumerate(container.demux(stream)):
                if not packet.size or number == packets:
                    break
                data = bytes(packet)
                with av.logging.Capture() as logs:
                    try:
                        bsf.filter(packet)
                    except av.error.FFmpegError as error:
                        logs.append((av.logging.ERROR, "filter", str(error)))
                yield number, data, logs
    finally:
        av.logging.set_level(before)


def compare(
    file: str | BinaryIO, packets: int | None
) -> Iterator[tuple[int, list[Unit], list[Unit]]]:
    """(packet number, units of FFmpeg, ours) for the first ``packets`` packets; -1 = extradata."""
    sets = ParameterSets()
    configuration = Configuration(nal.ANNEX_B, ())
    for number, data, logs in traced(file, packets):
        if number < 0:
            configuration = Configuration.parse(data)
            units = list(configuration.units)
        else:
            units = nal.split(data, configuration.length_size)
        yield (
            number,
            ffmpeg_units(logs),
            [our_unit(u, sets) for u in units if u[0] & 31 in TYPES],
        )
