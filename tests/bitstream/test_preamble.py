"""A preamble gives a fresh decoder the buffer that it would have at that point of the stream."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from decoder.bitstream import nal
from decoder.bitstream.h264.preamble import preamble
from decoder.bitstream.h264.slice import SliceHeader

from .buffer import Buffer, buffers
from .clip import Clip, Model, clip_of, corpus_file, demux, model


def relative(buffer: Buffer) -> list[tuple[str, int, int, int]]:
    """Picture order counts from that of the first entry: where they start does not matter."""
    return [(kind, place, number, poc - buffer[0][3]) for kind, place, number, poc in buffer]


def check(clip: Clip) -> int:
    """Every preamble of a clip against the decoder that has seen everything; how many."""
    known = model(clip)
    full = buffers(clip.extradata, clip.packets)
    count = 0
    for picture in known.pictures:
        if not picture.preamble:
            continue
        first = picture.packets[0]
        packets = [known.head_before(first) + picture.preamble[0], *picture.preamble[1:]]
        rebuilt = buffers(clip.extradata, packets)[-1]
        # what is shown last with a picture is the buffer after it
        assert relative(rebuilt) == relative(full[first - 1])
        # and the picture itself fits behind it
        after = buffers(clip.extradata, [*packets, clip.packets[first]])[-1]
        assert relative(after) == relative(full[first])
        count += 1
    return count


@pytest.mark.parametrize("recipe", ["open_gop_3", "open_gop_mbaff", "open_gop_refs"])
def test_the_buffer(recipe: str) -> None:
    assert check(clip_of(recipe)) >= 2


@pytest.mark.parametrize(
    "name",
    [
        "synth/s07_h264_opengop.mp4",
        "real/media__iibbibb_editlist_videoonly.mp4",
        "robot/native264_Wipe_robot0_eye_in_hand.mp4",
    ],
)
def test_clips(name: str) -> None:
    assert check(demux(corpus_file(name), 150))


def root() -> SliceHeader:
    """The slice header of an I picture that is not IDR."""
    clip = clip_of("open_gop_3")
    known: Model = model(clip)
    index = next(i for i, picture in enumerate(known.pictures) if picture.preamble)
    unit = nal.split(clip.packets[known.pictures[index].packets[0]], 4)[-1]
    return SliceHeader.parse(unit, known.stream._sets.pps.get)


def test_what_cannot_be_rebuilt() -> None:
    header = replace(root(), frame_num=7)
    state = [(4, 0, 0), (6, 8, 8)]
    packets = preamble(header, state, 255, 4)
    assert packets is not None
    assert len(packets) == 3
    poc1 = replace(header, sps=replace(header.sps, pic_order_cnt_type=1))
    planes = replace(header, sps=replace(header.sps, separate_colour_plane_flag=1))
    far = header.sps.max_pic_order_cnt_lsb
    for other, wrong in (
        (header, []),
        (header, [(6, 8, 8), (4, 0, 0)]),  # not in order of frame_num
        (header, [(6, 0, 0), (6, 8, 8)]),  # frame_num twice
        (header, [(4, 0, 0), (5, 8, 8)]),  # the reference before the picture is not there
        (header, [(4, 0, 0), (6, far, far)]),
        (poc1, state),
        (planes, state),
    ):
        assert preamble(other, wrong, 255, 4) is None


def test_a_frame_before_number_zero() -> None:
    header = replace(root(), frame_num=2)
    packets = preamble(header, [(0, 0, 0), (1, 8, 8)], 255, 4)
    assert packets is not None
    assert len(packets) == 3
    last = header.sps.max_frame_num - 1
    assert preamble(replace(header, frame_num=0), [(0, 0, 0), (last, 8, 8)], 255, 4) is None
