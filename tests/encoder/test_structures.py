"""What the encoders make of a structure, read back from the stream."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from decoder import FrameReader
from decoder.bitstream.av1.obu import OBU_SEQUENCE_HEADER, split
from decoder.bitstream.av1.sequence import SequenceHeader
from decoder.closure import closure
from decoder.graph import REFERENCE
from decoder.index import PICTURE_TYPES
from encoder.settings import Settings
from encoder.unit import transcode
from tests.clips import read_barcode, write_clip


def spelled(path: Path) -> tuple[str, list[int]]:
    """Types of the frames, in lower case where no other reads them, and sizes of their closures."""
    with FrameReader(str(path)) as reader:
        index = reader.index
    assert index.feed is not None
    graph = index.feed.graph
    text, sizes = "", []
    for n in range(index.frame_count):
        picture = int(graph.packet_pictures[index.frames.packet[n]])
        letter = PICTURE_TYPES[index.frames.picture_type[n]]
        text += letter if graph.traits[picture] & REFERENCE else letter.lower()
        sizes.append(len(closure(graph, [picture])))
    return text, sizes


@pytest.mark.parametrize("profile", ["fast", "compact"])
@pytest.mark.parametrize("interval", [2, 5, 16, 17])
def test_ddra_has_anchors_and_b_pictures_that_nobody_reads(
    clip: Path, tmp_path: Path, profile: str, interval: int
) -> None:
    target = tmp_path / "new.mp4"
    settings = Settings.of_profile(
        profile, interval=interval, segment=3 * interval, anchors="fixed"
    )
    outcome = transcode(str(clip), str(target), settings)
    text, sizes = spelled(target)
    segment = "I" + ("b" * (interval - 1) + "I") * 3  # rounded up to whole intervals
    expected = (segment * 50)[:49] + "I"
    assert text.upper() == expected.upper()
    assert set(text) <= {"I", "i", "b"}
    assert outcome.bound == max(sizes) == 3
    assert outcome.mean_closure == pytest.approx(np.mean(sizes))
    assert outcome.interval == interval


@pytest.mark.parametrize("profile", ["fast", "compact"])
@pytest.mark.parametrize("interval", [3, 4, 16])
def test_with_bound_4_one_b_picture_of_an_interval_is_read(
    clip: Path, tmp_path: Path, profile: str, interval: int
) -> None:
    target = tmp_path / "new.mp4"
    outcome = transcode(
        str(clip),
        str(target),
        Settings.of_profile(profile, interval=interval, bound=4, anchors="fixed"),
    )
    text, sizes = spelled(target)
    assert outcome.bound == max(sizes) == 4
    for inner in text[:-1].split("I")[1:]:
        assert inner.count("B") == (1 if len(inner) > 1 else 0)


@pytest.mark.parametrize("bound", [5, 8, 16])
def test_a_hierarchy_keeps_its_bound(clip: Path, tmp_path: Path, bound: int) -> None:
    target = tmp_path / "new.mp4"
    outcome = transcode(str(clip), str(target), Settings.of_profile("small", bound=bound))
    assert outcome.bound == max(spelled(target)[1]) <= bound


@pytest.mark.parametrize("fastdecode", [True, False])
def test_a_hierarchy_without_what_is_slow_to_decode(
    clip: Path, tmp_path: Path, fastdecode: bool
) -> None:
    target = tmp_path / "new.mp4"
    transcode(str(clip), str(target), Settings.of_profile("small", fastdecode=fastdecode))
    with av.open(str(target)) as container:
        packet = bytes(next(container.demux(video=0)))
    (unit,) = [unit for unit in split(packet) if unit.obu_type == OBU_SEQUENCE_HEADER]
    header, _ = SequenceHeader.parse(packet[unit.payload : unit.end])
    assert header.enable_cdef == (not fastdecode)


@pytest.mark.parametrize("profile", ["fast", "compact", "small"])
@pytest.mark.parametrize("frames", [1, 2, 3, 17, 18])
def test_short_sources_are_whole(tmp_path: Path, profile: str, frames: int) -> None:
    source = write_clip(tmp_path / "short.mp4", frames=frames)
    target = tmp_path / "new.mp4"
    transcode(str(source), str(target), Settings.of_profile(profile))
    with FrameReader(str(target)) as reader:
        assert len(reader) == frames
        shown = reader.read(range(frames))
    assert [read_barcode(samples).frame for samples in shown] == list(range(frames))


@pytest.mark.parametrize("profile", ["fast", "compact", "small"])
def test_a_reader_that_seeks_by_time_finds_every_frame(
    clip: Path, tmp_path: Path, profile: str
) -> None:
    """It goes to the sync sample before a time and shows what comes then: no anchor misleads it."""
    target = tmp_path / "new.mp4"
    transcode(
        str(clip),
        str(target),
        Settings.of_profile(profile, interval=8, segment=24, anchors="fixed"),
    )
    with av.open(str(target)) as container:
        stream = container.streams.video[0]
        times = [frame.pts for frame in container.decode(stream)]
        assert stream.average_rate == stream.guessed_rate == 30
        for n, pts in reversed(list(enumerate(times))):
            assert pts is not None
            container.seek(pts, stream=stream)
            found = next(f for f in container.decode(stream) if f.pts is not None and f.pts >= pts)
            assert found.pts == pts
            assert read_barcode(found.to_ndarray(format="rgb24")).frame == n


@pytest.mark.parametrize("profile", ["fast", "compact", "small"])
def test_sync_samples_are_numbered_as_their_frames_are(
    clip: Path, tmp_path: Path, profile: str
) -> None:
    """Decord counts them among packets and takes that for the number of the frame."""
    target = tmp_path / "new.mp4"
    transcode(
        str(clip),
        str(target),
        Settings.of_profile(profile, interval=8, segment=24, anchors="fixed"),
    )
    with av.open(str(target)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    keys = [n for n, packet in enumerate(packets) if packet.is_keyframe]
    order = np.argsort(np.argsort([packet.pts or 0 for packet in packets]))
    assert len(keys) > 1
    assert [int(order[n]) for n in keys] == keys
