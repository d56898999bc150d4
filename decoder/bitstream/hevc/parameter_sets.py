"""The parameter sets in force while a stream is walked (ITU-T H.265, 7.4.2.4.2)."""

from __future__ import annotations

from msgspec import Struct

from decoder.bitstream import nal as nal_units
from decoder.bitstream.bits import BitReader
from decoder.bitstream.hevc.pps import PictureParameterSet
from decoder.bitstream.hevc.sps import SequenceParameterSet
from decoder.bitstream.hevc.sub_layers import read_profile_tier_level
from decoder.bitstream.hevc.units import PPS_NUT, SPS_NUT, VPS_NUT, unit_header
from decoder.bitstream.hevc.vps import VideoParameterSet
from decoder.errors import InvalidSyntax

_RECORD_HEAD = 23


class Configuration(Struct, frozen=True):
    """What the extradata of a stream says.

    ``length_size`` is that of the packets (1-4 bytes, or nal.ANNEX_B), ``units`` are the NAL units
    to be read before the first packet: parameter sets and sometimes SEI.
    """

    length_size: int
    units: tuple[bytes, ...]

    @classmethod
    def parse(cls, extradata: bytes) -> Configuration:
        """Reads an HEVCDecoderConfigurationRecord (ISO/IEC 14496-15, 8.3.3.1) or Annex B bytes.

        Empty extradata means Annex B packets. InvalidSyntax when neither can be read.
        """
        if len(extradata) < 4 or not (extradata[0] or extradata[1] or extradata[2] > 1):
            return cls(nal_units.ANNEX_B, tuple(nal_units.split(extradata, nal_units.ANNEX_B)))
        if len(extradata) < _RECORD_HEAD:
            raise InvalidSyntax(f"HEVCDecoderConfigurationRecord: under {_RECORD_HEAD} bytes")
        length_size = (extradata[21] & 3) + 1
        units: list[bytes] = []
        position = _RECORD_HEAD
        for _ in range(extradata[22]):
            start = position + 1
            position = start + 2
            if position > len(extradata):
                raise InvalidSyntax("numNalus: the record ends before it")
            for _ in range(int.from_bytes(extradata[start:position], "big")):
                start = position + 2
                position = start + int.from_bytes(extradata[position:start], "big")
                if start >= position or position > len(extradata):
                    raise InvalidSyntax("nalUnitLength: the record ends inside the unit")
                units.append(extradata[start:position])
        return cls(length_size, tuple(units))


class ParameterSets:
    """What a decoder holds after the units given to ``update``: VPS, SPS and PPS by their ids.

    A PPS keeps the SPS it was read under. Another SPS of the same id takes the PPSs that refer to
    it along, and another VPS the SPSs, as in a decoder: a slice never meets sets that were not sent
    in this order. Only sets of the base layer are held.
    """

    __slots__ = ("_foreign", "_units", "pps", "sps", "vps")

    def __init__(self) -> None:
        self.vps: dict[int, VideoParameterSet] = {}
        self.sps: dict[int, SequenceParameterSet] = {}
        self.pps: dict[int, PictureParameterSet] = {}
        self._units: dict[int, dict[int, bytes]] = {VPS_NUT: {}, SPS_NUT: {}, PPS_NUT: {}}
        self._foreign: set[tuple[int, int]] = set()

    def update(self, unit: bytes) -> bool:
        """Takes a NAL unit in if it is a parameter set; True when something changed.

        InvalidSyntax, and nothing changed, when the set cannot be read, refers to one that is not
        there, or has the id of a set of another layer: decoders keep the sets of all layers in one
        place.
        """
        nal_unit_type, nuh_layer_id, _ = unit_header(unit)
        if nal_unit_type not in self._units:
            return False
        if nuh_layer_id:
            self._pass(unit, nal_unit_type)
            return False
        if nal_unit_type == VPS_NUT:
            return self._update_vps(unit)
        if nal_unit_type == SPS_NUT:
            return self._update_sps(unit)
        return self._update_pps(unit)

    def unit_of(self, sps: SequenceParameterSet) -> bytes:
        """The NAL unit of an SPS that is in force."""
        return self._units[SPS_NUT][sps.sps_seq_parameter_set_id]

    def snapshot(self) -> tuple[bytes, ...]:
        """NAL units that put another decoder into this state: every VPS, SPS, then PPS."""
        return tuple(unit for units in self._units.values() for unit in units.values())

    def _pass(self, unit: bytes, nal_unit_type: int) -> None:
        """A set of another layer: only its id is looked at."""
        r = BitReader(nal_units.unescape(unit), 16)
        if nal_unit_type == PPS_NUT:
            key = r.ue("pps_pic_parameter_set_id", 63)
        elif nal_unit_type == SPS_NUT:
            r.u(4, "sps_video_parameter_set_id")
            max_sub_layers_minus1 = r.u(3, "sps_ext_or_max_sub_layers_minus1")
            if max_sub_layers_minus1 != 7:
                r.flag("sps_temporal_id_nesting_flag")
                read_profile_tier_level(r, max_sub_layers_minus1)
            key = r.ue("sps_seq_parameter_set_id", 15)
        else:
            key = r.u(4, "vps_video_parameter_set_id")
        self._foreign.add((nal_unit_type, key))
        self._check_own(nal_unit_type, key, key in self._units[nal_unit_type])

    def _check_own(self, nal_unit_type: int, key: int, known: bool) -> None:
        if known and (nal_unit_type, key) in self._foreign:
            raise InvalidSyntax(f"nuh_layer_id: parameter set {key} belongs to two layers")

    def _update_vps(self, unit: bytes) -> bool:
        vps = VideoParameterSet.parse(unit)
        key = vps.vps_video_parameter_set_id
        if not self._keep(VPS_NUT, key, unit):
            return False
        self.vps[key] = vps
        for i in [i for i, s in self.sps.items() if s.sps_video_parameter_set_id == key]:
            self._drop_sps(i)
        return True

    def _update_sps(self, unit: bytes) -> bool:
        sps = SequenceParameterSet.parse(unit)
        key = sps.sps_seq_parameter_set_id
        vps = self.vps.get(sps.sps_video_parameter_set_id)
        if vps is None:
            raise InvalidSyntax("sps_video_parameter_set_id: there is no such set")
        if sps.sps_max_sub_layers_minus1 > vps.vps_max_sub_layers_minus1:
            raise InvalidSyntax("sps_max_sub_layers_minus1: more than its VPS has")
        if self._units[SPS_NUT].get(key) == unit:
            return False
        self._drop_sps(key)
        self._keep(SPS_NUT, key, unit)
        self.sps[key] = sps
        return True

    def _update_pps(self, unit: bytes) -> bool:
        pps = PictureParameterSet.parse(unit, self.sps.get)
        key = pps.pps_pic_parameter_set_id
        if not self._keep(PPS_NUT, key, unit):
            return False
        self.pps[key] = pps
        return True

    def _keep(self, nal_unit_type: int, key: int, unit: bytes) -> bool:
        """Whether ``unit`` is another than the one held of its kind and id, which it replaces."""
        units = self._units[nal_unit_type]
        if units.get(key) == unit:
            return False
        self._check_own(nal_unit_type, key, True)
        units[key] = unit
        return True

    def _drop_sps(self, key: int) -> None:
        self.sps.pop(key, None)
        self._units[SPS_NUT].pop(key, None)
        for i in [i for i, pps in self.pps.items() if pps.pps_seq_parameter_set_id == key]:
            del self.pps[i]
            del self._units[PPS_NUT][i]
