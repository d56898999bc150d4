"""MPEG-4 Visual (ISO/IEC 14496-2): headers of video object planes, and what those refer to.

I-, P- and S-VOPs refer to the one of them before, B-VOPs to the last two in decode order. A VOP
that is not coded is nothing but a time, and no reference.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.bitstream.bits import BitReader
from decoder.bitstream.structure import Coded, StructureParser, places
from decoder.errors import InvalidSyntax

START_CODE_PREFIX = b"\x00\x00\x01"
VIDEO_OBJECT_LAYER_START_CODES = range(0x20, 0x30)
GROUP_OF_VOP_START_CODE = b"\x00\x00\x01\xb3"
VOP_START_CODE = b"\x00\x00\x01\xb6"

I_VOP, B_VOP = 0, 2
EXTENDED_PAR = 15
RECTANGULAR, GRAYSCALE = 0, 3

_HEAD = 40
"""Bytes in which the elements looked at of any header lie."""


@dataclass(frozen=True, slots=True)
class VideoObjectLayer:
    """VideoObjectLayer (6.2.3), as far as it is needed."""

    vop_time_increment_resolution: int
    interlaced: bool

    @property
    def increment_bits(self) -> int:
        """Length of vop_time_increment."""
        return max(1, (self.vop_time_increment_resolution - 1).bit_length())

    @classmethod
    def parse(cls, data: bytes, start: int) -> VideoObjectLayer:
        """The layer whose start code is at ``start``. Raises InvalidSyntax."""
        reader = _reader(data, start)
        reader.flag("random_accessible_vol")
        reader.u(8, "video_object_type_indication")
        verid = 1
        if reader.flag("is_object_layer_identifier"):
            verid = reader.u(4, "video_object_layer_verid")
            reader.u(3, "video_object_layer_priority")
        if reader.u(4, "aspect_ratio_info") == EXTENDED_PAR:
            reader.u(16, "par_width and par_height")
        if reader.flag("vol_control_parameters"):
            reader.u(2, "chroma_format")
            reader.flag("low_delay")
            if reader.flag("vbv_parameters"):
                reader.u(79, "vbv_parameters")
        shape = reader.u(2, "video_object_layer_shape")
        if shape == GRAYSCALE and verid != 1:
            reader.u(4, "video_object_layer_shape_extension")
        reader.flag("marker_bit")
        layer = cls(reader.u(16, "vop_time_increment_resolution"), False)
        reader.flag("marker_bit")
        if reader.flag("fixed_vop_rate"):
            reader.u(layer.increment_bits, "fixed_vop_time_increment")
        if shape != RECTANGULAR:
            raise InvalidSyntax(f"video_object_layer_shape is {shape}, decoded is {RECTANGULAR}")
        reader.u(29, "video_object_layer_width and video_object_layer_height")
        return cls(layer.vop_time_increment_resolution, bool(reader.flag("interlaced")))


@dataclass(frozen=True, slots=True)
class VideoObjectPlane:
    """VideoObjectPlane (6.2.5), as far as it is needed."""

    vop_coding_type: int

    seconds: int
    """modulo_time_base: so many since that of the last anchor."""

    vop_time_increment: int
    vop_coded: bool

    @classmethod
    def parse(cls, data: bytes, start: int, layer: VideoObjectLayer) -> VideoObjectPlane:
        """The VOP whose start code is at ``start``. Raises InvalidSyntax."""
        reader = _reader(data, start)
        kind = reader.u(2, "vop_coding_type")
        seconds = 0
        while reader.flag("modulo_time_base"):
            seconds += 1
        reader.flag("marker_bit")
        increment = reader.u(layer.increment_bits, "vop_time_increment")
        reader.flag("marker_bit")
        return cls(kind, seconds, increment, bool(reader.flag("vop_coded")))


def group_time(data: bytes, start: int) -> int:
    """time_code of the group of VOPs at ``start`` (6.2.4), in seconds. Raises InvalidSyntax."""
    reader = _reader(data, start)
    hours = reader.u(5, "time_code_hours")
    minutes = reader.u(6, "time_code_minutes")
    reader.flag("marker_bit")
    return 3600 * hours + 60 * minutes + reader.u(6, "time_code_seconds")


def _reader(data: bytes, start: int) -> BitReader:
    return BitReader(data[start + 4 : start + 4 + _HEAD])


class Mpeg4Parser(StructureParser):
    """VOPs, one in a packet.

    In interlaced video FFmpeg measures times by the first B-VOP that it meets: of those between two
    anchors one is fed only behind the ones before it, and all such groups have to begin alike.
    """

    rule = "B-VOPs are left out; other VOPs refer to the one before them"

    def __init__(self, extradata: bytes) -> None:
        super().__init__()
        self._anchors: list[int] = []  # the last two
        self._times: list[int] = []  # theirs
        self._seconds = 0  # of the last anchor, on which the next one's time is based
        self._base = 0  # of the one before: B-VOPs are timed from there
        self._group: list[int] = []  # B-VOPs since the last anchor
        self._first: int | None = None  # how far behind its anchor the first B-VOP of a group is
        self._layer: VideoObjectLayer | None = None
        try:
            self._layers(extradata, len(extradata))
        except InvalidSyntax as problem:
            self._give_up(f"extradata: {problem}")

    def _packet(self, ordinal: int, data: bytes, key: bool) -> bytes | None:
        found = list(places(data, VOP_START_CODE))
        if len(found) > 1:
            self._give_up(f"packet {ordinal} holds {len(found)} VOPs (a packed bitstream)")
        if not found:
            self._link(ordinal, start=False)
            return None
        headers = self._layers(data, found[0])
        group = data.find(GROUP_OF_VOP_START_CODE, 0, found[0])
        if group >= 0:
            self._seconds = group_time(data, group)
        if self._layer is None:
            raise InvalidSyntax("vop_time_increment: there is no VideoObjectLayer")
        vop = VideoObjectPlane.parse(data, found[0], self._layer)
        if not vop.vop_coded:
            self._link(ordinal, start=False)
        elif vop.vop_coding_type == B_VOP:
            self._between(ordinal, vop, self._layer)
        else:
            self._anchor(ordinal, vop, self._layer)
        return headers

    def _anchor(self, ordinal: int, vop: VideoObjectPlane, layer: VideoObjectLayer) -> None:
        start = vop.vop_coding_type == I_VOP
        references = () if start else tuple(self._anchors[-1:])
        self._base = self._seconds
        self._seconds += vop.seconds
        time = self._seconds * layer.vop_time_increment_resolution + vop.vop_time_increment
        self._anchors = [*self._anchors[-1:], len(self.pictures)]
        self._times = [*self._times[-1:], time]
        self._group = []
        self.pictures.append(Coded((ordinal,), references, start, False))

    def _between(self, ordinal: int, vop: VideoObjectPlane, layer: VideoObjectLayer) -> None:
        references = list(self._anchors)
        if layer.interlaced and len(self._anchors) == 2:
            seconds = self._base + vop.seconds
            time = seconds * layer.vop_time_increment_resolution + vop.vop_time_increment
            if not self._group:
                behind = time - self._times[0]
                self._first = self._first or behind
                if behind != self._first:
                    self._give_up(f"packet {ordinal}: an interlaced B-VOP out of the rhythm")
            references += self._group[-1:]
            self._group.append(len(self.pictures))
        self.pictures.append(Coded((ordinal,), tuple(references), False, True))

    def _layers(self, data: bytes, end: int) -> bytes | None:
        """Takes in the layers before ``end``; the headers there, None where there is no layer."""
        found = [
            place
            for place in places(data, START_CODE_PREFIX, end)
            if place + 3 < end and data[place + 3] in VIDEO_OBJECT_LAYER_START_CODES
        ]
        for place in found:
            self._layer = VideoObjectLayer.parse(data, place)
        if not found:
            return None
        group = data.find(GROUP_OF_VOP_START_CODE, 0, end)
        return data[: group if group >= 0 else end]
