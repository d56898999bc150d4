from __future__ import annotations

import ctypes
import multiprocessing
import random
from dataclasses import replace
from pathlib import Path

import pytest

from decoder.corpus import Source
from decoder.index import SourceIndex
from decoder.indexing import Indexer
from decoder.store import IndexStore
from engines import Pulse
from inspection.comparison import Compared, CompareJob, describe, requests_of, totals
from tests.inspection.graphs import forgetful

OPTIONS = "stream=auto rotate=1"


def compare(store: Path, source: Source, sample: int | None = None, seed: int = 0) -> Compared:
    job = CompareJob(str(store), stream=None, rotate=True, sample=sample, seed=seed)
    return job(source, Pulse(multiprocessing.RawArray(ctypes.c_uint64, 4)))


def test_sound_source(tmp_path: Path, source: Source) -> None:
    result = compare(tmp_path / "store", source)
    assert (result.compared, result.wrong, result.sparse) == (64, 0, True)
    assert describe(result) == []
    assert result.alarm is None
    assert IndexStore(str(tmp_path / "store")).get(source, OPTIONS) is not None


def test_wrong_plans_are_found_and_named(
    tmp_path: Path, source: Source, index: SourceIndex
) -> None:
    IndexStore(str(tmp_path / "store")).put(source, OPTIONS, forgetful(index))
    result = compare(tmp_path / "store", source, sample=20, seed=5)
    assert result.wrong > 0
    fault = result.faults[0]
    assert fault.frame in fault.request
    told = "\n".join(describe(result))
    assert f"{source.path}: frame {fault.frame} has other pixels than in a full decode" in told
    assert "run 1: from the random access point" in told
    assert "wrong" in totals([result], 0)[0]


def test_wrong_frame_list_is_found(tmp_path: Path, source: Source, index: SourceIndex) -> None:
    packets = index.frames.packet.copy()
    packets[[20, 21]] = packets[[21, 20]]
    swapped = SourceIndex(
        index.facts, index.packets, replace(index.frames, packet=packets), index.geometries,
        index.feed,
    )  # fmt: skip
    IndexStore(str(tmp_path / "store")).put(source, OPTIONS, swapped)
    result = compare(tmp_path / "store", source, sample=1)
    assert result.wrong == 1
    assert result.faults[0].what == "frame 20 comes from another packet in a full decode"


def test_unreadable_source(tmp_path: Path, source: Source) -> None:
    gone = replace(source, path=str(tmp_path / "gone.mp4"))
    result = compare(tmp_path / "store", gone)
    assert result.unreadable is not None
    assert describe(result)[0].startswith("unreadable: ")


@pytest.mark.parametrize("frames", [1, 19, 500])
def test_requests_cover_what_they_should(frames: int) -> None:
    everything = list(requests_of(frames, None, random.Random(1)))
    assert sorted(n for request in everything for n in request) == list(range(frames))
    sample = [n for request in requests_of(frames, 10, random.Random(1)) for n in request]
    assert len(set(sample)) == len(sample) == min(10, frames)
    assert all(1 <= len(request) <= 20 for request in everything)


def test_indexer_adds_hashes(tmp_path: Path, source: Source) -> None:
    indexer = Indexer(IndexStore(str(tmp_path / "store")))
    assert not indexer.keeps(source)
    index = indexer.make(source)
    assert indexer.keeps(source)
    hashed = indexer.add_hashes(source, index)
    assert hashed.feed is not None
    assert hashed.frames.hash.tolist() == indexer.decode(source).frames.hash.tolist()
    stored = indexer.stored(source)
    assert stored is not None
    assert len(stored.frames.hash) == 64
    assert stored.feed is not None


def test_indexer_keeps_the_decode_where_headers_say_otherwise(
    tmp_path: Path, source: Source, index: SourceIndex
) -> None:
    short = replace(
        index.frames,
        packet=index.frames.packet[:-1],
        picture_type=index.frames.picture_type[:-1],
        geometry=index.frames.geometry[:-1],
    )
    wrong = SourceIndex(index.facts, index.packets, short, index.geometries, index.feed)
    kept = Indexer(IndexStore(str(tmp_path / "store"))).add_hashes(source, wrong)
    assert kept.feed is None
    assert kept.frame_count == 64
    assert kept.facts.fallback == "63 frames were indexed, a full decode shows 64"
