"""AV1 through the whole of the decoder: store, reader, walks, alarms."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from decoder.corpus import Source, source_at
from decoder.index import SourceIndex
from decoder.indexing import Indexer, index_source
from decoder.reader import FrameReader
from decoder.scan import scan
from decoder.store import IndexStore

from .svt import encoded


def made(name: str, folder: Path) -> Source:
    path = folder / "clip.mkv"
    path.write_bytes(encoded(name).file)
    return source_at(str(path))


def by_headers(source: Source) -> SourceIndex:
    index = index_source(source)
    assert index.feed is not None, index.facts.fallback
    return index


@pytest.mark.parametrize("name", ["default", "open", "closed", "low_delay", "sizes", "grain"])
def test_reading_forward_and_jumping(name: str, tmp_path: Path) -> None:
    source = made(name, tmp_path)
    hashes = scan(source).frames.hash.tolist()
    indexer = Indexer(IndexStore(str(tmp_path / "index.sqlite")))
    indexer.make(source)
    index = indexer.stored(source)
    assert index is not None
    pictures = len(index.feed.graph) if index.feed is not None else 0
    with FrameReader(source, index=index) as reader:
        assert [reader.frame(n).hash for n in range(len(reader))] == hashes
        assert reader.stats.alarms == 0
        assert reader.stats.reconstructed <= 1.35 * pictures
        order = list(range(len(reader)))
        random.Random(1).shuffle(order)
        assert [reader.frame(n).hash for n in order] == [hashes[n] for n in order]
        assert {n: p.hash for n, p in reader.frames(order[:9])} == {n: hashes[n] for n in order[:9]}
        assert reader.stats.alarms == 0


def test_jumping_decodes_closures_only(tmp_path: Path) -> None:
    source = made("default", tmp_path)
    with FrameReader(source, index=by_headers(source)) as reader:
        costs = []
        for n in (30, 3, 21, 9, 39, 12):
            costs.append(reader.plan([n]).real)
            reader.frame(n)
        assert reader.stats.reconstructed == sum(costs)
        assert max(costs) < 12


def test_intra_frames_only_cost_themselves_and_the_one_before(tmp_path: Path) -> None:
    source = made("short_gop", tmp_path)
    with FrameReader(source, index=by_headers(source)) as reader:
        assert [reader.plan([n]).real for n in range(len(reader))] == [1, 2] * 6


def test_a_frame_that_cannot_be_decoded(tmp_path: Path) -> None:
    source = made("closed", tmp_path)
    index = by_headers(source)
    content = bytearray(Path(source.path).read_bytes())
    first = int(index.frames.packet[20])
    packet = first + int(np.argmax(index.packets.size[first:]))
    size = int(index.packets.size[packet])
    end = int(index.packets.position[packet]) + int(index.packets.offset[packet]) + size
    content[end - size // 2 : end] = b"\x55" * (size // 2)
    Path(source.path).write_bytes(content)
    source = source_at(source.path)
    truth = scan(source)
    assert truth.facts.damage
    with FrameReader(source, index=by_headers(source)) as reader:
        reader.read(range(len(truth.frames.hash)))
        assert reader.stats.alarms == 1
        assert reader.index.feed is None
        shown = [reader.frame(n).hash for n in range(len(reader))]
        assert np.array_equal(shown, truth.frames.hash)
