"""What lasts longer than a picture cannot be planned: streams that have it are given up."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from decoder.bitstream import nal
from decoder.bitstream.h264.parameter_sets import ParameterSets
from decoder.bitstream.h264.sps import SequenceParameterSet
from decoder.bitstream.h264.stream import PictureStream
from decoder.bitstream.h264.stub import unused_pps_id
from tests.x264 import BASE, Recipe

from .clip import Clip, clip_of, model
from .syntax import write_pps, write_sps


def reason(packets: list[bytes]) -> str:
    return model(Clip("changed", b"", packets, 0)).stream.fallback or ""


def raw(parameters: str = BASE, frames: int = 12, **more: object) -> list[bytes]:
    return list(clip_of(Recipe("raw", parameters, frames=frames, **more), "h264").packets)  # type: ignore[arg-type]


def sei(payload_type: int, payload: bytes) -> bytes:
    return nal.join([nal.escape(bytes((6, payload_type, len(payload))) + payload + b"\x80")], 0)


def test_nothing_is_wrong_with_the_stream_itself() -> None:
    assert reason(raw()) == ""


@pytest.mark.parametrize(
    ("payload_type", "words"), [(19, "film grain"), (47, "display orientation")]
)
@pytest.mark.parametrize("packet", [0, 5])
def test_messages_that_last(payload_type: int, words: str, packet: int) -> None:
    packets = raw()
    packets[packet] = sei(payload_type, bytes(8)) + packets[packet]
    assert words in reason(packets)


@pytest.mark.parametrize("payload_type", [0, 1, 4, 5, 6, 45, 137, 144])
def test_other_messages_pass(payload_type: int) -> None:
    packets = raw()
    packets[0] = sei(payload_type, bytes(20)) + packets[0]
    assert reason(packets) == ""


def test_a_message_in_the_extradata() -> None:
    packets = raw()
    stream = PictureStream(sei(19, bytes(8)) + packets[0])
    assert "film grain" in (stream.fallback or "")


COLOURS = "colorprim=bt709:transfer=bt709:colormatrix=bt709"


@pytest.mark.parametrize(
    "others",
    [
        f"{BASE}:{COLOURS}",
        f"{BASE}:colorprim=bt470bg:transfer=bt470bg:colormatrix=bt470bg",
    ],
)
def test_colours_that_change(others: str) -> None:
    assert "colour description changes" in reason(raw() + raw(others))
    assert "colour description changes" in reason(raw(others) + raw())
    assert reason(raw(others) + raw(others)) == ""


def test_colours_of_a_sequence_without_description_after_one_with_it() -> None:
    """The decoder carries the description over, so that frames depend on what came before."""
    bare = []
    for packet in raw():
        units = nal.split(packet, 0)
        for place, unit in enumerate(units):
            if unit[0] & 31 == 7:
                units[place] = write_sps(replace(SequenceParameterSet.parse(unit), vui=None))
        bare.append(nal.join(units, 0))
    assert reason(bare) == ""
    assert "colour description changes" in reason(raw(f"{BASE}:{COLOURS}") + bare)


def frames_with_timing(recipe: str) -> list[bytes]:
    return list(clip_of(recipe, "h264").packets)


def test_two_fields_in_frames_that_are_not_adaptive() -> None:
    """x264 says so of every frame with fake-interlaced=1 and a pic_struct."""
    packets = raw(f"{BASE}:fake-interlaced=1:pic-struct=1:tff=1")
    stream = model(Clip("fields", b"", packets, 0)).stream
    mbaff = stream.process.active is not None and (
        stream.process.active.mb_adaptive_frame_field_flag
    )
    assert mbaff or "two fields" in (stream.fallback or "")
    changed = []
    for packet in packets:
        units = nal.split(packet, 0)
        for place, unit in enumerate(units):
            if unit[0] & 31 == 7:
                sps = SequenceParameterSet.parse(unit)
                units[place] = write_sps(replace(sps, mb_adaptive_frame_field_flag=0))
        changed.append(nal.join(units, 0))
    # a frame of macroblock pairs read as one without: the slice data are wrong, headers are not
    assert "two fields" in reason(changed)


def test_two_fields_in_adaptive_frames_pass() -> None:
    assert reason(frames_with_timing("interlaced_tff_4")) == ""


def test_the_id_of_state_only_pictures_is_taken() -> None:
    """More than one id: the free one is found, and once more is enough."""
    packets = raw()
    sets = ParameterSets()
    for unit in nal.split(packets[0], 0):
        sets.update(unit)
    (pps,) = sets.pps.values()
    taken = [*range(1, 4), 31]
    more = [write_pps(replace(pps, pic_parameter_set_id=number)) for number in taken]
    packets[0] = nal.join([unit for unit in nal.split(packets[0], 0) if unit[0] & 31 != 5], 0) + (
        nal.join([*more, *[u for u in nal.split(packets[0], 0) if u[0] & 31 == 5]], 0)
    )
    first = PictureStream(b"")
    for data in packets:
        first.feed(data)
    assert first.fallback is None
    second = first.again()
    assert second is not None
    pictures = [picture for data in packets for picture in second.feed(data)] + second.flush()
    assert second.again() is None
    assert second.fallback is None
    free = unused_pps_id([0, *taken])
    for picture in pictures:
        for packet in picture.state_only or ():
            (own,) = [u for u in nal.split(packet, 0) if u[0] & 31 == 8]
            sets.update(own)
    assert set(sets.pps) == {0, free} or free in sets.pps


def test_every_id_is_taken() -> None:
    packets = raw(frames=2)
    sets = ParameterSets()
    for unit in nal.split(packets[0], 0):
        sets.update(unit)
    (pps,) = sets.pps.values()
    every = [write_pps(replace(pps, pic_parameter_set_id=number)) for number in range(1, 256)]
    packets[0] = packets[0][:0] + nal.join(
        [u for u in nal.split(packets[0], 0) if u[0] & 31 != 5]
        + every
        + [u for u in nal.split(packets[0], 0) if u[0] & 31 == 5],
        0,
    )
    assert reason(packets) == "every PPS id is in use"
