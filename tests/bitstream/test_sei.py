from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from decoder.bitstream import nal
from decoder.bitstream.h264 import sei
from decoder.bitstream.h264.sps import SequenceParameterSet
from decoder.bitstream.h264.vui import VuiParameters
from decoder.bitstream.sei import PICTURE_TIMING, messages
from tests.x264 import encoded


def messages_of(recipe: str, packet: int, payload_type: int) -> list[bytes]:
    units = nal.split(encoded(recipe, "h264").packets[packet], nal.ANNEX_B)
    return [
        payload
        for unit in units
        if unit[0] & 31 == sei.NAL_SEI
        for kind, payload in messages(unit, 1)
        if kind == payload_type
    ]


def test_the_version_of_x264() -> None:
    (payload,) = messages_of("default", 0, sei.USER_DATA)
    assert sei.names_x264(payload)
    assert not sei.names_x264(payload.replace(b"x264", b"x265"))


def recovery_points(recipe: str) -> list[int | None]:
    return [
        sei.recovery_frame_cnt(payload)
        for packet in range(1, 36)
        for payload in messages_of(recipe, packet, sei.RECOVERY_POINT_MESSAGE)
    ]


def test_recovery_points_of_intra_refresh() -> None:
    assert any(recovery_points("intra_refresh_0"))


def test_recovery_points_of_open_gop() -> None:
    assert set(recovery_points("open_gop_3")) == {0}


def test_the_recovery_point_to_be_added() -> None:
    assert sei.RECOVERY_POINT.hex() == "060601c480"
    ((kind, payload),) = messages(sei.RECOVERY_POINT, 1)
    assert (kind, payload) == (sei.RECOVERY_POINT_MESSAGE, b"\xc4")
    assert sei.recovery_frame_cnt(payload) == 0


def test_long_types_and_sizes() -> None:
    payload = bytes(range(256)) * 2
    unit = nal.escape(b"\x06\xff\x2d\xff\xff\x02" + payload + b"\x01\x00\x80")
    assert list(messages(unit, 1)) == [(300, payload), (1, b"")]


def test_messages_that_are_truncated_are_left_out() -> None:
    assert list(messages(b"\x06\x06\x02\xc4\x80", 1)) == []
    assert list(messages(b"\x06\x06\x01\xc4\xff\xff", 1)) == [(6, b"\xc4")]
    assert list(messages(b"\x06", 1)) == []


def test_a_recovery_point_that_cannot_be_read() -> None:
    assert sei.recovery_frame_cnt(b"") is None
    assert sei.recovery_frame_cnt(b"\x00\x00") is None


def vui_of(recipe: str) -> VuiParameters:
    for unit in nal.split(encoded(recipe, "h264").packets[0], nal.ANNEX_B):
        if unit[0] & 31 == 7:
            vui = SequenceParameterSet.parse(unit).vui
            assert vui is not None
            return vui
    raise AssertionError


def test_pic_struct_lies_behind_the_delays() -> None:
    vui = vui_of("hrd")
    assert vui.pic_struct_present_flag
    assert vui.nal_hrd_parameters is not None
    found = {
        sei.pic_struct(payload, vui)
        for packet in range(36)
        for payload in messages_of("hrd", packet, PICTURE_TIMING)
    }
    assert found == {0}
    assert sei.pic_struct(b"\x00", vui) is None


def test_pic_struct_of_interlaced_pictures() -> None:
    vui = vui_of("interlaced_tff_4")
    found = {
        sei.pic_struct(payload, vui)
        for packet in range(36)
        for payload in messages_of("interlaced_tff_4", packet, PICTURE_TIMING)
    }
    assert found
    assert found <= set(sei.TWO_FIELDS)


@given(st.binary(max_size=30).map(lambda data: b"\x06" + data))
def test_any_bytes(unit: bytes) -> None:
    assert sum(len(payload) + 2 for _, payload in messages(unit, 1)) <= len(unit)
    for _, payload in messages(unit, 1):
        sei.names_x264(payload)
        sei.recovery_frame_cnt(payload)
