"""Written H.265 streams are what they are meant to be: FFmpeg decodes them to what was written."""

from __future__ import annotations

import io

import av
import numpy as np
import pytest

from decoder.bitstream.hevc.stream import PictureStream
from tests.hevcwriter.slices import Planes
from tests.hevcwriter.stream import Features, random_features, write


def decoded(content: bytes) -> list[Planes]:
    found = []
    with av.open(io.BytesIO(content), "r", format="hevc") as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        for frame in container.decode(stream):
            assert not frame.is_corrupt
            planes = [
                np.frombuffer(bytes(plane), np.uint8).reshape(plane.height, -1)[:, : plane.width]
                for plane in frame.planes
            ]
            found.append((planes[0], planes[1], planes[2]))
    return found


def same(one: Planes, other: Planes) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_written_is_what_is_decoded(seed: int) -> None:
    features = random_features(seed)
    features.collisions = False
    written = write(seed, features, 40)
    frames = decoded(written.content)
    assert len(frames) == len(written.shown)
    assert all(same(a, b) for a, b in zip(frames, written.shown, strict=True))


@pytest.mark.parametrize("seed", range(40, 60))
def test_headers_tell_all_that_pictures_read(seed: int) -> None:
    features = random_features(seed)
    features.collisions = False
    written = write(seed, features, 40)
    with av.open(io.BytesIO(written.content), "r", format="hevc") as container:
        packets = [bytes(packet) for packet in container.demux(video=0) if packet.size]
    stream = PictureStream(b"")
    pictures = [picture for packet in packets for picture in stream.feed(packet)]
    pictures += stream.flush()
    assert stream.fallback is None
    assert len(pictures) == len(written.read)
    for picture, read in zip(pictures, written.read, strict=True):
        assert read is None or read <= set(picture.references)
    assert len(stream.shown) == len(written.shown)


def test_streams_have_what_their_features_say() -> None:
    features = Features(
        log2_max_lsb=6, sub_layers=3, long_term=True, broken_links=True, hidden=True, slices=True,
        dependent=True, tiles=True, modification=True, extras=True, sets_change=True, gop=4,
    )  # fmt: skip
    kinds = {unit[0] >> 1 for seed in range(8) for unit in write(seed, features).units}
    assert kinds >= {0, 1, 6, 7, 8, 9, 16, 17, 18, 19, 20, 21, 32, 33, 34}
    written = write(1, features)
    assert len(written.shown) < len(written.read)
    assert any(len(read) > 2 for read in written.read if read is not None)


def test_cycles_are_read_as_the_decoder_reads_them() -> None:
    """FFmpeg carries cycles of long-term pictures on where the standard begins anew."""
    missed = 0
    for seed in range(60, 90):
        features = random_features(seed)
        features.long_term, features.collisions, features.log2_max_lsb = True, True, 4
        content = write(seed, features, 40).content
        with av.open(io.BytesIO(content), "r", format="hevc") as container:
            packets = [bytes(packet) for packet in container.demux(video=0) if packet.size]
        stream = PictureStream(b"")
        for packet in packets:
            stream.feed(packet)
        stream.flush()
        if stream.fallback is None:
            assert len(stream.shown) == frames_of(content)
        else:
            missed += stream.fallback.endswith("a picture refers to one that is not there")
    assert missed > 0


def frames_of(content: bytes) -> int:
    with av.open(io.BytesIO(content), "r", format="hevc") as container:
        container.streams.video[0].codec_context.thread_count = 1
        return sum(1 for _ in container.decode(video=0))
