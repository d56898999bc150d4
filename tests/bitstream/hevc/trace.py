"""FFmpeg's trace_headers filter as the oracle for header syntax, and our own parse in its form.

Both sides give, per NAL unit of the base layer that is a slice or a parameter set, the list of
(bit position, element, value).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from decoder.bitstream import nal
from decoder.bitstream.hevc.parameter_sets import Configuration, ParameterSets
from decoder.bitstream.hevc.pps import PictureParameterSet
from decoder.bitstream.hevc.slice import SliceSegmentHeader
from decoder.bitstream.hevc.sps import SequenceParameterSet
from decoder.bitstream.hevc.units import PPS_NUT, SLICE, SPS_NUT, VPS_NUT, unit_header
from decoder.bitstream.hevc.vps import VideoParameterSet
from decoder.errors import InvalidSyntax
from tests.bitstream.trace import TracingReader, Unit, ffmpeg_units, traced

TYPES = SLICE | {VPS_NUT, SPS_NUT, PPS_NUT}

# The first elements that are not needed of a slice, and what follows them in parameter sets
BEHIND = {
    "alignment_bit_equal_to_zero", "dependent_slice_segment_flag", "slice_segment_address",
    "extension_data",
}  # fmt: skip


def our_unit(unit: bytes, sets: ParameterSets) -> Unit:
    """Our reading of one NAL unit of TYPES; ``sets`` takes parameter sets in."""
    kind = unit[0] >> 1
    reader = TracingReader(nal.unescape(unit[:4096]))
    result = Unit()
    try:
        if kind == VPS_NUT:
            VideoParameterSet.read(reader)
        elif kind == SPS_NUT:
            SequenceParameterSet.read(reader)
        elif kind == PPS_NUT:
            PictureParameterSet.read(reader, sets.sps.get)
        else:
            header = SliceSegmentHeader.read(reader, sets.pps.get)
            assert SliceSegmentHeader.parse(unit, sets.pps.get) == header
        sets.update(unit)
    except InvalidSyntax as error:
        result.error = str(error)
    result.elements = reader.elements
    if kind in SLICE:  # the elements of the NAL unit header are read in one
        result.elements[:1] = [
            (0, "forbidden_zero_bit", unit[0] >> 7),
            (1, "nal_unit_type", kind),
            (7, "nuh_layer_id", 0),
            (13, "nuh_temporal_id_plus1", unit[1] & 7),
        ]
    return result


def compare(
    file: str | BinaryIO, packets: int | None
) -> Iterator[tuple[int, list[Unit], list[Unit]]]:
    """(packet number, units of FFmpeg, ours) for the first ``packets`` packets; -1 = extradata.

    Of FFmpeg's elements those are left out that stand behind all that is needed.
    """
    sets = ParameterSets()
    length_size = nal.ANNEX_B
    for number, data, logs in traced(file, packets):
        if number < 0:
            configuration = Configuration.parse(data)
            length_size = configuration.length_size
            units = list(configuration.units)
        else:
            units = nal.split(data, length_size)
        ours = []
        for unit in units:
            kind, nuh_layer_id, _ = unit_header(unit)
            if kind in TYPES and not nuh_layer_id:
                ours.append(our_unit(unit, sets))
        theirs = [u for u in ffmpeg_units(logs, TYPES) if u.elements[2][2] == 0]
        for u in (*theirs, *ours):  # ours are read in one
            u.elements = [e for e in u.elements if e[1] != "entry_point_offset_minus1"]
        for expected, own in zip(theirs, ours, strict=False):
            behind = expected.elements[len(own.elements) :]
            if behind and behind[0][1] in BEHIND:
                del expected.elements[len(own.elements) :]
        yield number, theirs, ours
