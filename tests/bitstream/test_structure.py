"""Streams whose frames a decoder has to tell: headers of pictures, and what is made of them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import av
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.bitstream import mpeg4, mpeg12, vp8, vp9
from decoder.bitstream.bits import BitWriter
from decoder.bitstream.links import IntraPackets, LinkedPackets
from decoder.bitstream.mpeg4 import Mpeg4Parser
from decoder.bitstream.mpeg12 import Mpeg12Parser, PictureHeader, closed_gop
from decoder.bitstream.structure import Coded, StructureParser, places
from decoder.bitstream.vp8 import FrameHeader, Vp8Parser
from decoder.bitstream.vp9 import UncompressedHeader, Vp9Parser
from decoder.errors import InvalidSyntax
from tests.bitstream.headers_of import traced, values
from tests.coded import write_coded


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("structure")


def parsed(path: Path, parser: StructureParser) -> StructureParser:
    with av.open(path) as container:
        for packet in container.demux(video=0):
            if packet.size:
                parser.feed(bytes(packet), key=packet.is_keyframe)
    parser.finish()
    return parser


def types(path: Path) -> dict[int, str]:
    """Packet -> type of the picture that it shows, as a decoder tells it."""
    found = {}
    with av.open(path) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        for number, packet in enumerate(container.demux(stream)):
            packet.pts = packet.dts = number
            for frame in stream.codec_context.decode(packet if packet.size else None):
                found[frame.pts or 0] = "?IPBSipb"[frame.pict_type]
    return found


# -- headers as FFmpeg reads them


@pytest.mark.parametrize(
    "name", ["mpeg2.ts", "mpeg2-closed.mkv", "mpeg2-interlaced.mkv", "mpeg2-no-b.m2v"]
)
def test_mpeg2(name: str, folder: Path) -> None:
    count = 0
    for data, elements in traced(write_coded(name, folder)):
        headers = [PictureHeader.parse(data, at) for at in places(data, mpeg12.PICTURE_START_CODE)]
        for element in ("picture_coding_type", "picture_structure"):
            assert [getattr(h, element) for h in headers] == values(elements, element)
        groups = [closed_gop(data, at) for at in places(data, mpeg12.GROUP_START_CODE)]
        assert groups == values(elements, "closed_gop")
        count += len(headers)
    assert count == 60


@pytest.mark.parametrize("name", ["vp8.webm", "vp8-layers.webm", "vp8-two-layers.ivf"])
def test_vp8(name: str, folder: Path) -> None:
    for data, elements in traced(write_coded(name, folder)):
        header = FrameHeader.parse(data)
        (frame_type,) = values(elements, "frame_type")
        assert header.key_frame == (not frame_type)
        assert [header.segmentation_enabled] == values(elements, "segmentation_enable")
        maps = values(elements, "update_segment_map") or [0]
        assert [header.update_mb_segmentation_map] == maps
        deltas = values(elements, "ref_lf_deltas") + values(elements, "mode_lf_deltas")
        assert list(header.deltas.values()) == deltas
        if not header.key_frame:
            assert header.refreshes == any(
                sum(values(elements, element))
                for element in (
                    "refresh_golden_frame", "refresh_alternate_frame", "copy_buffer_to_golden",
                    "copy_buffer_to_alternate", "refresh_entropy_probs", "refresh_last_frame",
                )
            )  # fmt: skip


@pytest.mark.parametrize("name", ["vp9.webm", "vp9-layers.webm", "vp9-two-layers.webm"])
def test_vp9(name: str, folder: Path) -> None:
    for data, elements in traced(write_coded(name, folder)):
        headers = [UncompressedHeader.parse(frame) for frame in vp9.frames(data)]
        kinds = values(elements, "frame_type")
        existing = values(elements, "show_existing_frame")
        assert len(headers) == len(existing)
        coded = [header for header, shown in zip(headers, existing, strict=True) if not shown]
        assert [header.key_frame for header in coded] == [not kind for kind in kinds]
        resilient = values(elements, "error_resilient_mode")
        assert [header.resets for header in coded] == [
            bool(r or not k) for r, k in zip(resilient, kinds, strict=True)
        ]
        saved = values(elements, "refresh_frame_flags") + values(elements, "refresh_frame_context")
        assert any(header.saves for header in headers) == (any(saved) or 0 in kinds)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("mpeg1.m1v", lambda _: Mpeg12Parser()),
        ("mpeg2.mpg", lambda _: Mpeg12Parser()),
        ("mpeg4.avi", Mpeg4Parser),
        ("mpeg4-qpel.mp4", Mpeg4Parser),
        ("mpeg4-interlaced.mkv", Mpeg4Parser),
    ],
)
def test_types_are_those_of_the_decoder(
    name: str, make: Callable[[bytes], StructureParser], folder: Path
) -> None:
    path = write_coded(name, folder)
    with av.open(path) as container:
        extradata = bytes(container.streams.video[0].codec_context.extradata or b"")
    parser = parsed(path, make(extradata))
    assert parser.fallback is None
    shown = types(path)
    assert len(shown) == len(parser.pictures) == 60
    for picture in parser.pictures:
        kind = "B" if picture.droppable else "I" if picture.start else "P"
        assert shown[picture.packets[0]] == kind


# -- references


def references(parser: StructureParser) -> list[tuple[int, ...]]:
    return [picture.references for picture in parser.pictures]


def picture_of_mpeg2(
    kind: int, structure: int = 3, *, closed: int | None = None, matrix: bool = False
) -> bytes:
    """Headers of a picture, with those of a group where ``closed`` is given, and a slice."""
    writer = BitWriter()
    if closed is not None:
        writer.u(32, 0x1B8)
        writer.u(25, 1 << 12)
        writer.u(2, closed << 1)
        writer.u(5, 0)
    writer.u(32, 0x100)
    writer.u(10, 0)
    writer.u(3, kind)
    writer.u(16, 0xFFFF)
    writer.u(3, 0)
    writer.u(32, 0x1B5)
    writer.u(4, mpeg12.PICTURE_CODING_EXTENSION_ID)
    writer.u(16, 0xFFFF)
    writer.u(2, 0)
    writer.u(2, structure)
    writer.u(16, 0x1F00)
    if matrix:
        writer.u(32, 0x1B5)
        writer.u(4, mpeg12.QUANT_MATRIX_EXTENSION_ID)
        writer.u(4, 0)
    writer.u(32, 0x101)
    writer.u(32, 0x7F7F7F7F)
    return writer.to_bytes()


def fed(*packets: bytes) -> Mpeg12Parser:
    parser = Mpeg12Parser()
    for packet in packets:
        parser.feed(packet, key=False)
    parser.finish()
    return parser


I, P, B = 1, 2, 3  # noqa: E741


def test_b_pictures_refer_to_the_last_two_anchors() -> None:
    parser = fed(*[picture_of_mpeg2(kind) for kind in (I, P, B, B, P, B)])
    assert references(parser) == [(), (0,), (0, 1), (0, 1), (1,), (1, 4)]
    assert [picture.droppable for picture in parser.pictures] == [0, 0, 1, 1, 0, 1]


@pytest.mark.parametrize("closed", [0, 1])
def test_b_pictures_behind_the_first_i_picture_of_a_group(closed: int) -> None:
    head = picture_of_mpeg2(I, closed=closed)
    parser = fed(*[picture_of_mpeg2(k) for k in (I, P)], head,
                 *[picture_of_mpeg2(k) for k in (B, P, B)])  # fmt: skip
    assert references(parser)[2:] == [(), (2,) if closed else (1, 2), (2,), (2, 4)]


def test_two_fields_are_one_picture() -> None:
    top, bottom = 1, 2
    one = fed(picture_of_mpeg2(I, top) + picture_of_mpeg2(P, bottom), picture_of_mpeg2(P))
    assert [picture.packets for picture in one.pictures] == [(0,), (1,)]
    assert one.pictures[0].start
    two = fed(picture_of_mpeg2(I, top), picture_of_mpeg2(P, bottom), picture_of_mpeg2(P))
    assert [picture.packets for picture in two.pictures] == [(0, 1), (2,)]
    assert one.fallback is two.fallback is None


@pytest.mark.parametrize(
    ("packets", "reason"),
    [
        ([picture_of_mpeg2(I, 1), picture_of_mpeg2(P)], "a field without its partner"),
        ([picture_of_mpeg2(I), picture_of_mpeg2(B, 1)], "a field without its partner"),
        ([picture_of_mpeg2(I, 1), picture_of_mpeg2(B, 2)], "a field without its partner"),
        ([picture_of_mpeg2(I) + picture_of_mpeg2(P)], "2 pictures in a packet"),
        ([b"\0\0\1\xb3" + bytes(20)], "picture_start_code"),
        ([picture_of_mpeg2(4)], "picture_coding_type is 4"),
    ],
)
def test_what_has_no_structure_says_why(packets: list[bytes], reason: str) -> None:
    assert reason in (fed(*packets).fallback or "")


def test_a_b_picture_that_changes_matrices_for_later_ones_is_kept() -> None:
    parser = fed(picture_of_mpeg2(I), picture_of_mpeg2(P), picture_of_mpeg2(B, matrix=True))
    assert not parser.pictures[2].droppable


def test_headers_are_handed_on_where_a_start_has_none() -> None:
    sequence = b"\0\0\1\xb3" + bytes(range(1, 9))
    bare = fed(sequence + picture_of_mpeg2(I), picture_of_mpeg2(I))
    assert bare.heads() == [(0, sequence)]
    assert fed(*[sequence + picture_of_mpeg2(I)] * 2).heads() == []


def vop(kind: int, increment: int, coded: int = 1) -> bytes:
    writer = BitWriter()
    writer.u(32, 0x1B6)
    writer.u(2, kind)
    writer.u(1, 0)
    writer.u(1, 1)
    writer.u(5, increment)
    writer.u(1, 1)
    writer.u(1, coded)
    writer.u(32, 0x12345678)
    return writer.to_bytes()


def layer(interlaced: int = 0) -> bytes:
    """A VideoObjectLayer of 30 ticks a second, 128x96."""
    writer = BitWriter()
    writer.u(32, 0x120)
    writer.u(1, 0)
    writer.u(8, 17)
    writer.u(1, 0)
    writer.u(4, 1)
    writer.u(1, 0)
    writer.u(2, 0)
    writer.u(1, 1)
    writer.u(16, 30)
    writer.u(1, 1)
    writer.u(1, 0)
    for size in (128, 96):
        writer.u(1, 1)
        writer.u(13, size)
    writer.u(1, 1)
    writer.u(1, interlaced)
    writer.u(16, 0x1234)
    return writer.to_bytes()


def planes(*vops: bytes, interlaced: int = 0) -> Mpeg4Parser:
    parser = Mpeg4Parser(layer(interlaced))
    for packet in vops:
        parser.feed(packet, key=False)
    return parser


def test_vops_that_are_not_coded_are_no_anchors() -> None:
    parser = planes(vop(0, 0), vop(1, 3), vop(1, 3, coded=0), vop(2, 1), b"\x7f")
    assert references(parser) == [(), (0,), (1,), (0, 1), (2,)]
    assert parser.fallback is None


def test_packed_bitstreams_have_no_structure() -> None:
    assert "packed" in (planes(vop(0, 0), vop(1, 3) + vop(2, 1)).fallback or "")


def test_interlaced_b_vops_come_in_order() -> None:
    """Their times are measured by the first one that a decoder meets."""
    stream = vop(0, 0), vop(1, 3), vop(2, 1), vop(2, 2), vop(1, 6), vop(2, 4)
    assert references(planes(*stream)) == [(), (0,), (0, 1), (0, 1), (1,), (1, 4)]
    parser = planes(*stream, interlaced=1)
    assert references(parser) == [(), (0,), (0, 1), (0, 1, 2), (1,), (1, 4)]
    assert parser.fallback is None
    late = planes(*stream[:-1], vop(2, 5), interlaced=1)
    assert "rhythm" in (late.fallback or "")


def test_packets_of_which_nothing_is_known() -> None:
    for parser, expected in (
        (LinkedPackets(), [(), (0,), (1,), (), (3,)]),
        (IntraPackets(), [(), (), (), (), ()]),
    ):
        for number in range(5):
            parser.feed(b"x", key=number in (0, 3))
        assert references(parser) == expected


def test_superframes() -> None:
    frames = [b"a" * 3, b"b" * 300]
    marker = bytes((0b110_01_001,))
    index = marker + b"".join(len(f).to_bytes(2, "little") for f in frames) + marker
    assert vp9.frames(b"".join(frames) + index) == frames
    assert vp9.frames(b"abc") == [b"abc"]
    with pytest.raises(InvalidSyntax, match="frame_sizes"):
        vp9.frames(b"a" + index)


# -- hostile bytes


def sound(pictures: list[Coded]) -> None:
    for number, picture in enumerate(pictures):
        assert list(picture.references) == sorted(set(picture.references))
        assert all(0 <= reference < number for reference in picture.references)


@cache
def real_packets(name: str) -> list[bytes]:
    with (
        tempfile.TemporaryDirectory() as folder,
        av.open(write_coded(name, Path(folder))) as container,
    ):
        return [bytes(packet)[:120] for packet in container.demux(video=0) if packet.size][:24]


PARSERS: list[tuple[str, Callable[[], StructureParser]]] = [
    ("mpeg2-closed.mkv", Mpeg12Parser),
    ("mpeg4.avi", lambda: Mpeg4Parser(b"")),
    ("vp8-layers.webm", Vp8Parser),
    ("vp9-layers.webm", Vp9Parser),
]


@settings(deadline=None)
@given(data=st.data())
@pytest.mark.parametrize(("name", "make"), PARSERS)
def test_hostile_packets_are_refused(
    name: str, make: Callable[[], StructureParser], data: st.DataObject
) -> None:
    packets = list(real_packets(name))
    for _ in range(data.draw(st.integers(1, 12))):
        which = data.draw(st.integers(0, len(packets) - 1))
        action = data.draw(st.sampled_from(("change", "cut", "exchange", "replace")))
        packet = bytearray(packets[which])
        place = data.draw(st.integers(0, max(0, len(packet) - 1)))
        if action == "change" and packet:
            packet[place] = data.draw(st.integers(0, 255))
            packets[which] = bytes(packet)
        elif action == "cut":
            packets[which] = bytes(packet[:place])
        elif action == "exchange":
            packets[which], packets[0] = packets[0], packets[which]
        else:
            packets[which] = data.draw(st.binary(max_size=40))
    parser = make()
    for packet_bytes in packets:
        parser.feed(packet_bytes, key=False)
    parser.finish()
    assert len(parser.packets) == len(packets)
    sound(parser.pictures)


@pytest.mark.parametrize("size", range(40))
def test_heads_cut_anywhere(size: int) -> None:
    for name, make in PARSERS:
        packets = real_packets(name)
        parser = make()
        for packet in (packets[0], packets[1][:size], packets[0][:size], packets[2]):
            parser.feed(packet, key=False)
        parser.finish()
        assert len(parser.packets) == 4
        sound(parser.pictures)


@given(data=st.binary(max_size=80))
def test_hostile_headers_name_their_element(data: bytes) -> None:
    for read in (
        lambda: PictureHeader.parse(mpeg12.PICTURE_START_CODE + data, 0),
        lambda: closed_gop(mpeg12.GROUP_START_CODE + data, 0),
        lambda: mpeg4.VideoObjectLayer.parse(b"\0\0\1\x20" + data, 0),
        lambda: mpeg4.group_time(mpeg4.GROUP_OF_VOP_START_CODE + data, 0),
        lambda: FrameHeader.parse(data),
        lambda: vp8.FrameHeader.parse(b"\x01\0\0" + data),
        lambda: UncompressedHeader.parse(data),
        lambda: vp9.frames(data),
    ):
        message = "element:"
        try:
            read()
        except InvalidSyntax as error:
            message = str(error)
        element = re.split(":| is | and |,", message)[0]
        assert element.replace(" ", "_").isidentifier(), message
