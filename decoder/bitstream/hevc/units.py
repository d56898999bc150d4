"""NAL unit header and types (ITU-T H.265, 7.3.1.2 and table 7-1)."""

from __future__ import annotations

from decoder.bitstream.bits import BitReader, out_of_range, truncated
from decoder.errors import InvalidSyntax

HEADER_BYTES = 2

RADL_N, RADL_R, RASL_N, RASL_R = 6, 7, 8, 9
BLA_W_LP, BLA_W_RADL, BLA_N_LP = 16, 17, 18
IDR_W_RADL, IDR_N_LP = 19, 20
CRA_NUT = 21
VPS_NUT, SPS_NUT, PPS_NUT = 32, 33, 34
EOS_NUT, EOB_NUT = 36, 37
PREFIX_SEI_NUT = 39

IDR = frozenset((IDR_W_RADL, IDR_N_LP))
BLA = frozenset((BLA_W_LP, BLA_W_RADL, BLA_N_LP))
IRAP = IDR | BLA | {CRA_NUT}
RADL = frozenset((RADL_N, RADL_R))
RASL = frozenset((RASL_N, RASL_R))
SLICE = frozenset(range(10)) | IRAP
"""Types of slice segments that are not reserved; decoders pass over reserved ones."""
SUB_LAYER_NON_REFERENCE = frozenset(range(0, 10, 2))


def unit_header(unit: bytes) -> tuple[int, int, int]:
    """nal_unit_type, nuh_layer_id and nuh_temporal_id_plus1 of a NAL unit (7.3.1.2)."""
    if len(unit) < HEADER_BYTES:
        raise truncated("nuh_temporal_id_plus1")
    first, second = unit[0], unit[1]
    if first & 128:
        raise out_of_range("forbidden_zero_bit", 1, 0, 0)
    if not second & 7:
        raise out_of_range("nuh_temporal_id_plus1", 0, 1, 7)
    return first >> 1, (first & 1) << 5 | second >> 3, second & 7


def read_unit_header(r: BitReader, nal_unit_type: int) -> None:
    """nal_unit_header (7.3.1.2); InvalidSyntax unless it is of that type and of the base layer."""
    if r.flag("forbidden_zero_bit"):
        raise out_of_range("forbidden_zero_bit", 1, 0, 0)
    found = r.u(6, "nal_unit_type")
    if found != nal_unit_type:
        raise out_of_range("nal_unit_type", found, nal_unit_type, nal_unit_type)
    nuh_layer_id = r.u(6, "nuh_layer_id")
    if nuh_layer_id:
        raise InvalidSyntax(f"nuh_layer_id is {nuh_layer_id}, the base layer has 0")
    if not r.u(3, "nuh_temporal_id_plus1"):
        raise out_of_range("nuh_temporal_id_plus1", 0, 1, 7)
