"""Supplemental enhancement information that decoders act on (ITU-T H.264, 7.3.2.3 and D.1).

Two messages matter to exact decoding. The version that x264 writes into a stream: 4:4:4 streams of
x264 before build 151 deviate from the standard, and FFmpeg follows them when it has met the
version, so a decoder that starts elsewhere must be told it. And the recovery point: a decoder that
starts at another picture than an IDR outputs nothing until one is met.
"""

from __future__ import annotations

from decoder.bitstream.bits import BitReader
from decoder.bitstream.h264.vui import VuiParameters
from decoder.errors import InvalidSyntax

NAL_SEI = 6
USER_DATA = 5
RECOVERY_POINT_MESSAGE = 6

TWO_FIELDS = (3, 4)
"""pic_struct (Table D-1) of a frame shown as top and bottom field, in either order."""

_UUID_LENGTH = 16
_X264 = b"x264 - core "
_HIGHEST_FRAME_NUM = 65535

# recovery_point: recovery_frame_cnt 0, exact_match_flag 1, broken_link_flag 0,
# changing_slice_group_idc 0 (D.1.8)
RECOVERY_POINT = bytes((NAL_SEI, RECOVERY_POINT_MESSAGE, 1, 0b1_1_0_00_1_00, 0x80))


def names_x264(payload: bytes) -> bool:
    """Whether this user data says which version of x264 made the stream."""
    return payload.startswith(_X264, _UUID_LENGTH)


def recovery_frame_cnt(payload: bytes) -> int | None:
    """recovery_frame_cnt of a recovery point message; None where it cannot be read."""
    try:
        return BitReader(payload).ue("recovery_frame_cnt", _HIGHEST_FRAME_NUM)
    except InvalidSyntax:
        return None  # decoders pass over a message that cannot be read


def pic_struct(payload: bytes, vui: VuiParameters) -> int | None:
    """pic_struct of a picture timing message (D.1.3), where ``vui`` says that it has one."""
    reader = BitReader(payload)
    try:
        hrd = vui.nal_hrd_parameters or vui.vcl_hrd_parameters
        if hrd is not None:
            reader.u(hrd.cpb_removal_delay_length_minus1 + 1, "cpb_removal_delay")
            reader.u(hrd.dpb_output_delay_length_minus1 + 1, "dpb_output_delay")
        return reader.u(4, "pic_struct")
    except InvalidSyntax:
        return None  # decoders pass over a message that cannot be read
