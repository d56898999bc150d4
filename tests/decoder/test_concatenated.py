"""Streams put together from parts that the decoder does not reorder alike."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest

from decoder.corpus import source_at
from decoder.indexing import index_source
from decoder.scan import scan
from tests.clips import packets_of, write_clip


@pytest.mark.parametrize("first", [4, 10, 19])
def test_a_reordering_delay_that_grows_is_left_to_the_decoder(first: int, tmp_path: Path) -> None:
    # The first part declares that nothing is reordered, the second that it is.
    plain = write_clip(tmp_path / "a.h264", frames=20, b_frames=0)
    reordered = write_clip(tmp_path / "b.h264", frames=30, b_frames=3, version=1)
    both = [bytes(p) for p in packets_of(plain)][:first] + [bytes(p) for p in packets_of(reordered)]
    path = tmp_path / "both.mkv"
    with av.open(str(plain)) as template, av.open(str(path), "w") as output:
        stream = output.add_stream_from_template(template.streams.video[0])
        for number, data in enumerate(both):
            packet = av.Packet(data)
            packet.stream = stream
            packet.pts = packet.dts = 40 * number
            packet.time_base = Fraction(1, 1000)
            packet.is_keyframe = number in (0, first)
            output.mux(packet)
    source = source_at(str(path))
    index, full = index_source(source), scan(source)
    assert index.frames.packet.tolist() == full.frames.packet.tolist()
