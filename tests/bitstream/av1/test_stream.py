"""Streams as pictures: spans, what is shown, where decoding may start, and every reason to give up.

What the decoder does with the same packets is asked, wherever it is the decoder that decides.
"""

from __future__ import annotations

import random

import av
import pytest

from decoder.bitstream.av1.frame import FrameHeader
from decoder.bitstream.av1.obu import (
    OBU_FRAME,
    OBU_METADATA,
    OBU_SEQUENCE_HEADER,
    OBU_TEMPORAL_DELIMITER,
    OBU_TILE_GROUP,
    OBU_TILE_LIST,
    TEMPORAL_DELIMITER,
    framed,
    split,
)
from decoder.bitstream.av1.sequence import SequenceHeader
from decoder.bitstream.av1.stream import HIDDEN, LOWER_LAYER, PictureStream

from .decoding import decoded, lenient, model_differences
from .elements import TracingReader
from .packets import Known, layered, parsed, shown_again, taken_apart
from .svt import encoded

PADDING = framed(15, b"\x80")
CLIP = taken_apart("low_delay")
KEY = CLIP.packets[0][0]
INTER = [frames[0] for frames in CLIP.packets[1:]]
START = CLIP.sequence_obu + KEY.obu
NOISE = random.Random(1).randbytes(4000)
"""Behind a tile whose references are other ones: it is longer then."""
HINTS = CLIP.sequence.order_hint_bits


def hidden_key(slots: int) -> bytes:
    return KEY.hidden_key(slots, HINTS)


def reading(frame: Known, slot: int, refresh: int) -> bytes:
    """A frame that reads one slot only."""
    return frame.changed("ref_frame_idx", slot).changed("refresh_frame_flags", refresh).obu


def fallback(packets: list[bytes]) -> str:
    reason = parsed(packets).stream.fallback
    assert reason is not None
    return reason


def shown(packets: list[bytes]) -> list[int | None]:
    """Ordinals of what a decoder shows; what it refuses is passed over."""
    context = lenient()
    found = []
    for ordinal, data in enumerate(packets):
        packet = av.Packet(data)
        packet.pts = ordinal
        try:
            found += [frame.pts for frame in context.decode(packet)]
        except av.FFmpegError:
            continue
    return found


# -- spans and heads


def test_spans_are_frames_and_nothing_else() -> None:
    metadata = framed(OBU_METADATA, b"\x03" + bytes(5))
    packet = b"".join(
        (TEMPORAL_DELIMITER, CLIP.sequence_obu, metadata, hidden_key(1), PADDING, KEY.obu, PADDING)
    )
    stream, (first, second) = parsed([packet])
    assert stream.fallback is None
    own = [b"".join(packet[a : a + n] for a, n in p.spans or ()) for p in (first, second)]
    assert own == [hidden_key(1), KEY.obu]
    assert (first.visible, second.visible) == (False, True)
    assert (stream.shown, stream.hidden) == ([1], {0: HIDDEN})
    assert stream.heads() == [(-1, TEMPORAL_DELIMITER + CLIP.sequence_obu)]


def test_a_frame_of_header_and_tile_groups_has_them_all_in_its_span() -> None:
    header, tiles = (KEY.in_two()[o.start : o.end] for o in split(KEY.in_two()))
    apart = CLIP.sequence_obu + header + PADDING + tiles
    (picture,) = parsed([apart]).pictures
    assert picture.spans is not None
    assert b"".join(apart[a : a + n] for a, n in picture.spans) == header + tiles
    (picture,) = parsed([CLIP.sequence_obu + header + tiles]).pictures
    assert picture.spans == ((len(CLIP.sequence_obu), len(header + tiles)),)
    assert model_differences([apart, INTER[0].in_two()], 2) == []


def test_an_obu_without_size_reaches_to_the_end() -> None:
    last = INTER[0].obu
    size = len(last) - len(INTER[0].payload) - 1
    unsized = bytes((last[0] & ~2,)) + last[1 + size :]
    packets = [START, unsized]
    assert parsed(packets).pictures[1].spans == ((0, len(unsized)),)
    assert model_differences(packets, 2) == []


def test_sequence_headers_hold_for_the_frames_of_their_packet() -> None:
    other = taken_apart("tiles")
    again = CLIP.sequence_obu + INTER[0].obu
    packets = [START, again, other.sequence_obu + other.packets[0][0].obu, INTER[1].obu]
    stream, pictures = parsed(packets[:3])
    assert stream.fallback is None
    assert stream.heads() == [
        (-1, TEMPORAL_DELIMITER + CLIP.sequence_obu),
        (1, TEMPORAL_DELIMITER + other.sequence_obu),
    ]
    assert [p.configuration for p in pictures] == [0, 0, 1]
    assert [p.is_rap for p in pictures] == [True, False, True]
    assert model_differences(packets[:3], 3) == []


@pytest.mark.parametrize("clips", [("default", "tiles"), ("sizes", "ten_bit", "sizes")])
def test_streams_one_after_the_other(clips: tuple[str, ...]) -> None:
    packets = [packet for clip in clips for packet in encoded(clip).packets]
    assert model_differences(packets, 40) == []


def test_the_decoder_takes_nothing_from_the_container() -> None:
    context = lenient()
    context.extradata = b"\x81\x00\x0c\x00" + CLIP.sequence_obu
    with pytest.raises(av.FFmpegError):
        context.decode(av.Packet(KEY.obu))
    assert fallback([KEY.obu]) == "packet 0: frame_header_obu: no sequence header before it"


# -- where decoding may start


def test_a_hidden_key_frame_that_nothing_before_matters_to() -> None:
    packets = [START, hidden_key(4), reading(INTER[0], 2, 1), shown_again(2)]
    packets.append(reading(INTER[1], 7, 2))
    stream, pictures = parsed(packets)
    assert stream.fallback is None
    assert [p.is_rap for p in pictures] == [True, True, False, False, False]
    assert [p.references for p in pictures] == [(), (), (1,), (1,), (3,)]
    assert [p.preamble for p in pictures] == [(), (), None, None, None]
    assert [p.is_reference for p in pictures] == [True] * 5
    assert model_differences(packets, 4) == []


@pytest.mark.parametrize("how", ["frame", "another hidden key frame"])
def test_a_hidden_key_frame_with_leading_frames(how: str) -> None:
    packets = [START, hidden_key(4)]
    packets.append(reading(INTER[0], 0, 1) if how == "frame" else hidden_key(8))
    packets += [shown_again(2), reading(INTER[1], 7, 2)]
    pictures = parsed(packets).pictures
    assert not pictures[1].is_rap
    assert pictures[1].preamble == ()
    assert model_differences(packets, 4) == []


def test_hidden_key_frames_are_settled_by_what_follows() -> None:
    assert [p.is_rap for p in parsed([START, hidden_key(4), INTER[0].obu]).pictures][1] is False
    assert [p.is_rap for p in parsed([START, hidden_key(4), KEY.obu]).pictures] == [True] * 3
    assert [p.is_rap for p in parsed([START, hidden_key(4)]).pictures] == [True, True]


def test_frames_shown_again() -> None:
    packets = [START, reading(INTER[0], 0, 2), shown_again(1), shown_again(1)]
    stream, pictures = parsed(packets)
    assert [p.references for p in pictures] == [(), (0,), (1,), (1,)]
    assert [p.is_reference for p in pictures] == [True, True, False, False]
    assert [p.picture_type for p in pictures] == ["I", "P", "P", "P"]
    assert stream.shown == [0, 1, 2, 3]
    assert model_differences(packets, 4) == []


# -- layers


def in_layers(operating_point: int, units: list[list[int]]) -> list[bytes]:
    """A stream of temporal units whose frames are of these spatial layers, all of them shown."""
    reader = TracingReader(CLIP.sequence_obu[2:])
    SequenceHeader.read(reader)
    place = next(start for start, name, _ in reader.elements if name == "operating_point_idc")
    bits = int.from_bytes(CLIP.sequence_obu, "big")
    shift = 8 * len(CLIP.sequence_obu) - 16 - place - 12
    header = (bits | operating_point << shift).to_bytes(len(CLIP.sequence_obu), "big")
    frames = iter([KEY, *INTER])
    packets = [
        b"".join(layered(OBU_FRAME, next(frames).payload + NOISE, spatial) for spatial in unit)
        for unit in units
    ]
    return [header + packets[0], *packets[1:]]


def test_of_spatial_layers_the_highest_is_shown() -> None:
    packets = in_layers(0x301, [[0, 1]] * 8)
    stream, pictures = parsed(packets)
    assert stream.fallback is None
    assert stream.shown == list(range(1, 16, 2))
    assert set(stream.hidden.values()) == {LOWER_LAYER}
    assert all(n - 1 in p.references for n, p in enumerate(pictures) if n % 2)
    assert [p.visible for p in pictures] == [False, True] * 8
    assert model_differences(packets, 8) == []


def test_a_temporal_unit_without_its_highest_layer() -> None:
    packets = in_layers(0x301, [[0, 1], [0], [0, 1], [1], [0, 1], [0], [0]])
    assert parsed(packets).stream.fallback is None
    assert model_differences(packets, 7) == []


def test_layers_that_are_not_decoded_are_no_pictures() -> None:
    packets = in_layers(0x101, [[0], [0, 1], [0, 1, 2], [0]])
    stream, pictures = parsed(packets)
    assert stream.fallback is None
    assert len(pictures) == 4
    assert [n for p in pictures for n in p.packets] == [0, 1, 2, 3] == shown(packets)


@pytest.mark.parametrize("units", [[[0, 1], [1, 0]], [[0, 0]], [[1, 1]]])
def test_layers_in_disorder(units: list[list[int]]) -> None:
    operating_point = 0x301 if units != [[0, 0]] else 0
    assert fallback(in_layers(operating_point, units)).endswith("two visible frames in a packet")


# -- reasons to give up


def test_what_cannot_be_followed() -> None:
    header, tiles = (KEY.in_two()[o.start : o.end] for o in split(KEY.in_two()))
    redundant = bytes((header[0] & 0x87 | 7 << 3,)) + header[1:]
    sequence = CLIP.sequence_obu
    other = taken_apart("tiles").sequence_obu
    for packets, reason in (
        ([sequence + INTER[0].obu], "ref_frame_idx: slot"),
        ([START + shown_again(0)], "frame_to_show_map_idx: .*not showable"),
        ([START + framed(OBU_TILE_LIST, b"\x00")], "a tile list"),
        ([START + INTER[0].obu], "two visible frames in a packet"),
        ([START + TEMPORAL_DELIMITER + INTER[0].obu], "more than one temporal unit"),
        ([START + other], "sequence_header_obu: behind a frame"),
        ([START + framed(OBU_TILE_GROUP, tiles)], "tile_group_obu: outside a frame"),
        ([START + redundant], "redundant_frame_header_obu: outside a frame"),
        ([sequence + header], "tile_group_obu: tile 0 of a frame is missing"),
        ([sequence + header + header + tiles], "tile_group_obu: tile 0 of a frame is missing"),
        ([sequence + header, tiles], "tile_group_obu: tile 0 of a frame is missing"),
        ([START, framed(OBU_FRAME, shown_again(0)[2:])], "show_existing_frame: 1 in a frame OBU"),
        ([START, INTER[0].obu[:-1]], "obu_size: the data ends"),
        ([START, framed(OBU_FRAME, INTER[0].payload[:5])], "ref_frame_idx: the data ends"),
        ([framed(OBU_SEQUENCE_HEADER, b"\x00\x00")], "operating_point_idc: the data ends"),
    ):  # fmt: skip
        with pytest.raises(AssertionError, match=f"packet [01]: {reason}"):
            raise AssertionError(fallback(packets))


def test_a_redundant_frame_header_changes_nothing() -> None:
    header, tiles = (KEY.in_two()[o.start : o.end] for o in split(KEY.in_two()))
    redundant = bytes((header[0] & 0x87 | 7 << 3,)) + header[1:]
    packets = [CLIP.sequence_obu + header + redundant + tiles, INTER[0].obu]
    assert parsed(packets).stream.fallback is None
    assert model_differences(packets, 2) == []


def test_tiles_in_groups() -> None:
    clip = taken_apart("tiles")
    (key,) = clip.packets[0]
    assert isinstance(key.header, FrameHeader)
    assert key.header.tile_info.num_tiles == 4
    start = clip.sequence_obu
    header = key.in_two()[: split(key.in_two())[0].end]

    def group(first: int, last: int) -> bytes:
        return framed(OBU_TILE_GROUP, bytes((0x80 | first << 5 | last << 3, 0)))

    for groups, reason in (
        ([(0, 0), (1, 3)], None),
        ([(0, 1), (3, 3)], "tg_start: 3 is not the next tile"),
        ([(0, 2)], "tile_group_obu: tile 3 of a frame is missing"),
        ([(0, 3), (0, 3)], "tile_group_obu: outside a frame"),
    ):
        packet = start + header + b"".join(group(*g) for g in groups)
        found = parsed([packet]).stream.fallback
        assert found == (None if reason is None else f"packet 0: {reason}")
    packet = start + key.obu + group(2, 3)
    assert parsed([packet]).stream.fallback is None
    assert parsed([start + key.obu + group(0, 3)]).stream.fallback is not None


def test_new_extradata() -> None:
    stream = PictureStream()
    stream.feed(START, new_extradata=b"\x81")
    assert stream.fallback is not None
    assert "new extradata" in stream.fallback


def test_a_colour_description_that_changes() -> None:
    plain = encoded("short_gop").packets
    described = list(encoded("described").packets)
    assert parsed(described).stream.fallback is None
    assert fallback([*plain, *described]) == "the colour description changes in the middle"


METADATA = {
    "HDR10+": b"\x04\xb5\x00\x3c\x00\x01\x04\x01\x80",
    "captions": b"\x04\xb5\x00\x31GA94\x03\x41\x80",
    "light level": b"\x01\x00\x00\x80",
}


@pytest.mark.parametrize("kind", METADATA)
def test_metadata_for_which_a_frame_is_withheld(kind: str) -> None:
    damaged = CLIP.sequence_obu + framed(OBU_METADATA, METADATA[kind]) + KEY.obu
    assert fallback([damaged])
    assert shown([START]) == [0]
    assert shown([damaged]) == []


def test_metadata_that_does_no_harm() -> None:
    mastering = framed(OBU_METADATA, b"\x02" + bytes(24) + b"\x80")
    user = framed(OBU_METADATA, b"\x04\xb5\x00\x3b\x80")
    packets = [CLIP.sequence_obu + mastering + user + KEY.obu, INTER[0].obu]
    assert parsed(packets).stream.fallback is None
    assert model_differences(packets, 2) == []


def test_what_a_decoder_ignores() -> None:
    packet = CLIP.sequence_obu + framed(OBU_TEMPORAL_DELIMITER, b"") + framed(9, b"abc") + KEY.obu
    assert parsed([packet]).stream.fallback is None
    assert [frame.packet for frame in decoded({0: packet}, lenient())] == [0]
