from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from decoder.corpus import Source, source_at
from decoder.counters import Counters
from decoder.errors import DecodeFailed, SourceNotFound
from decoder.index import PacketTable, SourceIndex
from decoder.pixels import Pixels
from decoder.scan import scan
from decoder.session import Session
from tests.clips import write_clip


def drained(session: Session) -> list[tuple[int | None, int]]:
    found = []
    while not session.ended:
        found += [(frame.pts, Pixels(frame).hash) for frame in session.feed()]
    return found


def everything(index: SourceIndex) -> list[tuple[int, int]]:
    return list(zip(index.frames.packet.tolist(), index.frames.hash.tolist(), strict=True))


def test_from_the_start_it_is_the_scan(source: Source, index: SourceIndex) -> None:
    session = Session(source, index, Counters())
    for _ in range(2):
        session.start(0)
        assert drained(session) == everything(index)
    session.close()


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.mp4", "libx264"),
        ("a.mkv", "libx264"),
        ("a.ts", "libx264"),
        ("a.avi", "mpeg4"),
        ("a.mpg", "mpeg2video"),
        ("a.h264", "libx264"),
        ("a.webm", "libvpx"),
        ("a.flv", "flv"),
    ],
)
def test_any_packet_can_be_started_from(tmp_path: Path, name: str, codec: str) -> None:
    """Wherever the container's seek lands, the packet that is decoded next is the one named."""
    path = write_clip(tmp_path / name, codec=codec, frames=40, gop=8)
    source = source_at(str(path))
    index = scan(source)
    counters = Counters()
    session = Session(source, index, counters)
    for ordinal in (33, 8, 39, 1, 16, 17, 0, 24):
        session.start(ordinal)
        assert session.position == ordinal
        fed = counters.reconstructed
        drained(session)
        assert counters.reconstructed - fed == 40 - ordinal
    session.close()


def test_starting_where_it_stands_seeks_nothing(source: Source, index: SourceIndex) -> None:
    counters = Counters()
    session = Session(source, index, counters)
    session.start(0)
    for _ in range(15):
        session.feed()
    session.start(15)
    assert counters.seeks == 0
    assert counters.opened == 1
    tail = [pair for pair in everything(index) if pair[0] >= 15]
    assert drained(session) == tail
    session.close()


def test_packet_that_is_not_the_one_of_the_index(source: Source, index: SourceIndex) -> None:
    sizes = index.packets.size.copy()
    sizes[5] += 1
    lying = SourceIndex(
        index.facts, dataclasses.replace(index.packets, size=sizes), index.frames, index.geometries
    )
    session = Session(source, lying, Counters())
    session.start(0)
    for _ in range(5):
        session.feed()
    with pytest.raises(DecodeFailed, match="packet 5"):
        session.feed()
    with pytest.raises(DecodeFailed, match="packet 5"):
        session.start(20 if session.distrust_seeks() else 7)
    session.close()


def test_file_with_fewer_packets_than_the_index(source: Source, index: SourceIndex) -> None:
    columns = (getattr(index.packets, f.name) for f in dataclasses.fields(PacketTable))
    packets = PacketTable(*(np.append(column, column[-1]) for column in columns))
    longer = SourceIndex(index.facts, packets, index.frames, index.geometries)
    session = Session(source, longer, Counters())
    session.start(0)
    with pytest.raises(DecodeFailed, match="packet 60"):
        drained(session)
    session.close()


def test_closed_sessions_open_again(source: Source, index: SourceIndex) -> None:
    session = Session(source, index, Counters())
    session.start(30)
    session.close()
    session.close()
    session.start(45)
    assert session.feed() is not None
    session.close()


def test_gone_file(tmp_path: Path, source: Source, index: SourceIndex) -> None:
    gone = dataclasses.replace(source, path=str(tmp_path / "gone.mp4"))
    session = Session(gone, index, Counters())
    for ordinal in (0, 15):
        with pytest.raises(SourceNotFound):
            session.start(ordinal)
    session.close()
