"""The parameter sets in force while a stream is walked (ITU-T H.264, 7.4.1.2.1)."""

from __future__ import annotations

from msgspec import Struct

from decoder.bitstream import nal as nal_units
from decoder.bitstream.h264.pps import NAL_PPS, PictureParameterSet
from decoder.bitstream.h264.sps import NAL_SPS, SequenceParameterSet
from decoder.errors import InvalidSyntax


class Configuration(Struct, frozen=True):
    """What the extradata of a stream says.

    ``length_size`` is that of the packets (1-4 bytes, or nal.ANNEX_B), ``units`` are the NAL units
    to be read before the first packet: parameter sets and sometimes SEI.
    """

    length_size: int
    units: tuple[bytes, ...]

    @classmethod
    def parse(cls, extradata: bytes) -> Configuration:
        """Reads an AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1) or Annex B bytes.

        Empty extradata means Annex B packets. InvalidSyntax when neither can be read.
        """
        if not extradata or extradata[0] != 1:
            return cls(nal_units.ANNEX_B, tuple(nal_units.split(extradata, nal_units.ANNEX_B)))
        if len(extradata) < 7:
            raise InvalidSyntax("AVCDecoderConfigurationRecord: shorter than 7 bytes")
        length_size = (extradata[4] & 3) + 1
        units: list[bytes] = []
        position = 5
        for name, mask in (("sequenceParameterSet", 31), ("pictureParameterSet", 255)):
            count = extradata[position] & mask if position < len(extradata) else -1
            position += 1
            if count < 0:
                raise InvalidSyntax(f"numOf{name}s: the record ends before it")
            for _ in range(count):
                start = position + 2
                position = start + int.from_bytes(extradata[position:start], "big")
                if start >= position or position > len(extradata):
                    raise InvalidSyntax(f"{name}Length: the record ends inside the set")
                units.append(extradata[start:position])
        return cls(length_size, tuple(units))


class ParameterSets:
    """What a decoder holds after the units given to ``update``: SPS and PPS by their ids.

    A PPS keeps the SPS it was read under. A different SPS of the same id takes the PPSs that refer
    to it along, so that a slice never meets a pair that was not sent in this order.
    """

    __slots__ = ("_pps_units", "_sps_units", "pps", "sps")

    def __init__(self) -> None:
        self.sps: dict[int, SequenceParameterSet] = {}
        self.pps: dict[int, PictureParameterSet] = {}
        self._sps_units: dict[int, bytes] = {}
        self._pps_units: dict[int, bytes] = {}

    def update(self, unit: bytes) -> bool:
        """Takes a NAL unit in if it is an SPS or a PPS (type 7 or 8); True when something changed.

        InvalidSyntax, and nothing changed, when the set cannot be read.
        """
        nal_unit_type = unit[0] & 31 if unit else 0
        if nal_unit_type == NAL_SPS:
            sps = SequenceParameterSet.parse(unit)
            key = sps.seq_parameter_set_id
            if self._sps_units.get(key) == unit:
                return False
            self.sps[key] = sps
            self._sps_units[key] = unit
            for pps_id in [i for i, pps in self.pps.items() if pps.seq_parameter_set_id == key]:
                del self.pps[pps_id]
                del self._pps_units[pps_id]
            return True
        if nal_unit_type == NAL_PPS:
            pps = PictureParameterSet.parse(unit, self.sps.get)
            key = pps.pic_parameter_set_id
            if self._pps_units.get(key) == unit:
                return False
            self.pps[key] = pps
            self._pps_units[key] = unit
            return True
        return False

    def snapshot(self) -> tuple[bytes, ...]:
        """NAL units that put another decoder into this state: every SPS, then every PPS."""
        return (*self._sps_units.values(), *self._pps_units.values())
