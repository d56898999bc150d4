"""Sparse decoding from the outside: when it is done, what it costs, when it is given up."""

from __future__ import annotations

import ctypes
import logging
import os
import random
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from decoder.corpus import Source, source_at
from decoder.errors import DecodeFailed, DecoderError, SourceChanged
from decoder.graph import REPLACEABLE
from decoder.index import SourceIndex
from decoder.indexing import index_source
from decoder.pool import ReaderPool
from decoder.reader import FrameReader
from decoder.scan import scan
from decoder.service import FrameService
from decoder.sparse import SparseDecoder
from decoder.store import IndexStore
from tests.bitstream.clip import corpus_files, h264_files
from tests.clips import concatenate, read_barcode, write_clip
from tests.damaging import damage_slice, damage_units
from tests.oracle import full_decode
from tests.protocol import Truth
from tests.streams import write_h264
from tests.x264 import BASE, Recipe, recipe_named
from tests.x264 import write as write_recipe


def made(recipe: Recipe | str, folder: Path, seed: int = 264) -> Source:
    recipe = recipe_named(recipe) if isinstance(recipe, str) else recipe
    return source_at(str(write_recipe(recipe, folder, seed)))


def by_headers(source: Source) -> SourceIndex:
    index = index_source(source)
    assert index.feed is not None, index.facts.fallback
    return index


# -- indexes


@pytest.mark.parametrize(
    "name", ["default", "open_gop_3", "interlaced_tff_4", "slices_4", "refs_16_b_3", "long"]
)
def test_an_index_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    source = made(name, tmp_path)
    index = by_headers(source)
    again = SourceIndex.from_bytes(index.to_bytes())
    assert again.feed is not None
    assert index.feed is not None
    for key, array in index.feed.arrays().items():
        other = again.feed.arrays()[key]
        assert other.dtype == array.dtype
        assert np.array_equal(other, array), key
    for key in ("stateful", "fixed", "starts"):
        assert np.array_equal(getattr(again.feed.graph, key), getattr(index.feed.graph, key))
    assert again.feed.graph.unsafe == index.feed.graph.unsafe
    assert again.facts == index.facts
    truth = Truth.of(Path(source.path))
    with FrameReader(source, index=again) as reader:
        assert {n: p.hash for n, p in reader.frames(range(len(reader)))} == dict(
            enumerate(truth.hashes)
        )
        assert reader.stats.alarms == 0


def test_reasons_come_back_too(tmp_path: Path) -> None:
    source = made(Recipe("unsafe", BASE, frames=30), tmp_path)
    index = by_headers(source)
    assert index.feed is not None
    index.feed.graph.unsafe[7] = "a reason"
    again = SourceIndex.from_bytes(index.to_bytes())
    assert again.feed is not None
    assert again.feed.graph.unsafe == {7: "a reason"}


@pytest.mark.parametrize("parameters", ["", "open-gop=1:keyint=12", "tff=1:slices=4"])
def test_size_of_an_index(parameters: str, tmp_path: Path) -> None:
    source = made(Recipe("size", parameters, frames=300, size=(64, 64)), tmp_path)
    assert len(by_headers(source).to_bytes()) / 300 <= 120


LONG = 100
LARGEST = 700_000


def test_size_of_the_indexes_of_clips(clips: Path) -> None:
    measured = 0
    for path in h264_files(clips)[::2]:
        if path.stat().st_size > LARGEST:
            continue
        try:
            index = index_source(source_at(str(path)))
        except DecoderError:
            continue
        if index.feed is not None and len(index.feed.graph) >= LONG:
            measured += 1
            assert len(index.to_bytes()) / len(index.feed.graph) <= 120, path
    assert measured > 3


def test_headers_tell_the_frames_of_a_scan(tmp_path: Path) -> None:
    for name in ("default", "open_gop_3", "variable_rate", "interlaced_bff_8"):
        source = made(name, tmp_path)
        index, scanned = by_headers(source), scan(source)
        for key in ("packet", "picture_type", "geometry"):
            assert np.array_equal(getattr(index.frames, key), getattr(scanned.frames, key)), key
        for key in ("pts", "dts", "position", "size"):
            assert np.array_equal(getattr(index.packets, key), getattr(scanned.packets, key)), key
        assert index.geometries == scanned.geometries


# -- cost


@pytest.mark.parametrize("name", ["default", "open_gop_3", "pyramid_strict_7", "refs_16_b_3"])
@pytest.mark.parametrize("step", [1, 3])
def test_reading_forward_decodes_every_picture_about_once(
    name: str, step: int, tmp_path: Path
) -> None:
    source = made(replace(recipe_named(name), frames=150), tmp_path)
    truth = Truth.of(Path(source.path))
    with FrameReader(source, index=by_headers(source)) as reader:
        wanted = range(0, len(reader), step)
        assert [reader.frame(n).hash for n in wanted] == truth.hashes[::step]
        assert reader.stats.alarms == 0
        assert reader.stats.reconstructed <= 1.35 * len(reader)


def test_jumping_decodes_closures_only(tmp_path: Path) -> None:
    source = made("pyramid_strict_7", tmp_path)
    with FrameReader(source, index=by_headers(source)) as reader:
        expected = 0
        for n in (40, 3, 29, 55, 12):
            expected += reader.plan([n]).real
            reader.frame(n)
        assert reader.stats.reconstructed == expected


@pytest.mark.parametrize("parameters", ["ref=1:bframes=7", "ref=4:bframes=2", "ref=3:bframes=0"])
def test_a_run_leads_on_to_later_places_to_start_from(parameters: str, tmp_path: Path) -> None:
    options = f"open-gop=1:scenecut=0:keyint=8:b-adapt=0:b-pyramid=none:{parameters}"
    source = made(Recipe("leading", options, frames=72), tmp_path)
    truth = Truth.of(Path(source.path))
    with FrameReader(source) as reader:
        for step in range(5, 13):
            wanted = range(step % 3, len(reader), step)
            found = {n: pixels.hash for n, pixels in reader.frames(wanted)}
            assert found == {n: truth.hashes[n] for n in wanted}
            if "ref=1" in parameters and step < 9:
                assert len(reader.plan(wanted).runs) == 1
        assert reader.stats.alarms == 0


def test_a_walk_survives_a_look_elsewhere(tmp_path: Path) -> None:
    source = made("default", tmp_path)
    truth = Truth.of(Path(source.path))
    order = [*range(8), 40, *range(8, 12), 3, 2, *range(12, 20), *range(12, 30, 9)]
    with FrameReader(source, index=by_headers(source)) as reader:
        assert [reader.frame(n).hash for n in order] == [truth.hashes[n] for n in order]
        assert list(dict(reader.frames([20, 21, 22]))) == [20, 21, 22]
        assert reader.frame(23).hash == truth.hashes[23]


def test_plans_that_are_not_finished_leave_nothing_behind(tmp_path: Path) -> None:
    source = made("default", tmp_path)
    truth = Truth.of(Path(source.path))
    with FrameReader(source, index=by_headers(source)) as reader:
        for n in (50, 20, 33):
            n_first, first = next(reader.frames(range(n, n + 8)))
            assert first.hash == truth.hashes[n_first]
            assert reader.frame(n + 2).hash == truth.hashes[n + 2]
        # The file for packets once, and the container again behind each plan that was given up:
        # a decoder keeps traces of what it has not shown.
        assert reader.stats.opened <= 5


# -- giving up


@pytest.mark.parametrize(
    ("first", "second"), [("", "colormatrix=bt709"), ("colormatrix=bt709", "colormatrix=smpte170m")]
)
def test_colours_that_change_are_read_conservatively(
    first: str, second: str, tmp_path: Path
) -> None:
    parts = [
        write_recipe(
            Recipe(f"part{n}", f"{BASE}:{more}".rstrip(":"), frames=20, container="h264"), tmp_path
        )
        for n, more in enumerate((first, second))
    ]
    path = concatenate(tmp_path / "colours.h264", parts)
    truth = Truth.of(path)
    with FrameReader(str(path)) as reader:
        assert reader.index.feed is None
        assert "colour description changes" in (reader.index.facts.fallback or "")
        order = [30, 2, 25, 19, 20, 39, 0]
        assert [reader.frame(n).hash for n in order] == [truth.hashes[n] for n in order]
        assert "colour" in reader.plan([3]).explain()


def test_packets_marked_as_damaged(tmp_path: Path) -> None:
    path = write_recipe(Recipe("lossy", BASE, container="ts", size=(320, 240)), tmp_path)
    content = path.read_bytes()
    cells = [content[n : n + 188] for n in range(0, len(content), 188)]
    video = [n for n, cell in enumerate(cells) if cell[1] & 31 == 1 and cell[2] == 0]
    del cells[video[len(video) // 2]]
    path.write_bytes(b"".join(cells))
    index = index_source(source_at(str(path)))
    assert index.feed is None
    assert index.facts.fallback == "the container marks a packet as damaged"


def damaged(folder: Path, seed: int = 1, **more: int) -> tuple[Source, Truth]:
    """A clip with sound headers, one reference picture of which is damaged, and its full decode."""
    recipe = Recipe(f"damaged-{seed}", f"{BASE}:bframes=3:b-adapt=0:ref=3", frames=60)
    source = made(recipe, folder, seed)
    index = by_headers(source)
    assert index.feed is not None
    generator = random.Random(seed)
    large = [
        k
        for k in np.flatnonzero(index.feed.graph.traits & REPLACEABLE).tolist()
        if int(index.packets.size[k]) > 120
    ]
    for packet in generator.sample(large, more.get("count", 1)):
        damage_slice(Path(source.path), index, packet, seed)
    return source_at(source.path), Truth.of(Path(source.path))


def test_an_alarm_leads_to_an_index_by_decoding_and_the_right_frames(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, truth = damaged(tmp_path)
    index = by_headers(source)
    with FrameReader(source, index=index) as reader, caplog.at_level(logging.WARNING):
        found = {n: pixels.hash for n, pixels in reader.frames(range(len(reader)))}
        assert found == dict(enumerate(truth.hashes))
        assert reader.stats.alarms == 1
        assert reader.index.feed is None
        assert "came out damaged" in (reader.index.facts.fallback or "")
        for n in (59, 3, 30):
            assert reader.frame(n).hash == truth.hashes[n]
        assert reader.stats.alarms == 1
    assert sum("conservatively from now on" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("seed", range(2, 8))
def test_damaged_streams_give_no_wrong_frames(seed: int, tmp_path: Path) -> None:
    source, truth = damaged(tmp_path, seed, count=1 + seed % 3)
    index = index_source(source)
    generator = random.Random(seed)
    with FrameReader(source, index=index) as reader:
        for _ in range(6):
            start = generator.randrange(50)
            wanted = generator.choice(
                (range(start, start + 9), generator.sample(range(60), 8), [start])
            )
            assert {n: p.hash for n, p in reader.frames(wanted)} == {
                n: truth.hashes[n] for n in wanted
            }


@pytest.mark.parametrize("seed", range(15))
def test_slices_cut_short_or_overwritten_give_no_wrong_frames(seed: int, tmp_path: Path) -> None:
    parameters = (
        f"{BASE}:bframes=3:b-adapt=0",
        f"{BASE}:bframes=0:cabac=0",
        f"{BASE}:tff=1:slices=2",
    )[seed % 3]
    path = write_recipe(Recipe("cut", parameters, container="h264"), tmp_path, seed)
    path.write_bytes(damage_units(path.read_bytes(), seed))
    truth = Truth.of(path)
    index = index_source(source_at(str(path)))
    assert index.frame_count == len(truth.hashes)
    for n in range(seed % 6, index.frame_count, 6):
        with FrameReader(str(path), index=index) as reader:
            assert reader.frame(n).hash == truth.hashes[n]


def test_frames_delivered_before_an_alarm_are_right(tmp_path: Path) -> None:
    """What reads a damaged picture may be shown before it."""
    for seed in range(10, 16):
        source, truth = damaged(tmp_path, seed)
        with FrameReader(source, index=by_headers(source)) as reader:
            for n, pixels in reader.frames(range(len(reader))):
                assert pixels.hash == truth.hashes[n], (seed, n)


def test_a_walk_meets_the_damage(tmp_path: Path) -> None:
    source, truth = damaged(tmp_path)
    with FrameReader(source, index=by_headers(source)) as reader:
        assert [reader.frame(n).hash for n in range(len(reader))] == truth.hashes
        assert reader.stats.alarms == 1


def test_a_source_is_demoted_once_however_many_readers_meet_the_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, _ = damaged(tmp_path)
    expected = list(full_decode(source.path))
    service = FrameService(IndexStore(str(tmp_path / "store")), readers=8)
    assert service.index(source).feed is not None
    faults: list[int] = []

    def read(seed: int) -> None:
        generator = random.Random(seed)
        for _ in range(12):
            n = generator.randrange(60)
            if not np.array_equal(service.array(source, n, "rgb24"), expected[n]):
                faults.append(n)

    with caplog.at_level(logging.INFO), ThreadPoolExecutor(6) as pool:
        list(pool.map(read, range(6)))
    assert faults == []
    assert service.index(source).feed is None
    made_by_decoding = [r for r in caplog.records if "by decoding, because" in r.getMessage()]
    assert len(made_by_decoding) == 1
    service.close()


def test_a_demoted_source_stays_so_in_the_store(tmp_path: Path) -> None:
    source, _ = damaged(tmp_path)
    for _ in range(2):
        service = FrameService(IndexStore(str(tmp_path / "store")))
        for n in range(0, 60, 5):
            service.array(source, n, "rgb24")
        assert service.index(source).feed is None
        service.close()


# -- files, processes, readers


def test_after_a_fork_both_read_on(tmp_path: Path) -> None:
    source = made("default", tmp_path)
    truth = Truth.of(Path(source.path))
    with FrameReader(source, index=by_headers(source)) as reader:
        for n in range(12):
            reader.frame(n)
        child = os.fork()
        order = [12, 13, 14, 2, 50, 51]
        right = [reader.frame(n).hash for n in order] == [truth.hashes[n] for n in order]
        if child == 0:
            os._exit(0 if right else 1)
        _, status = os.waitpid(child, 0)
        assert right
        assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("container", ["mp4", "ts"])
def test_a_file_that_changes_is_no_wrong_frame(container: str, tmp_path: Path) -> None:
    first = write_clip(tmp_path / f"first.{container}", version=1, frames=40, gop=10)
    second = write_clip(tmp_path / f"second.{container}", version=2, frames=40, gop=10)
    path = tmp_path / f"clip.{container}"
    shutil.copyfile(first, path)
    source = source_at(str(path))
    index = by_headers(source)
    with FrameReader(source, index=index) as reader:
        assert read_barcode(reader.frame(5).array("rgb24")).version == 1
        replacement = shutil.copyfile(second, tmp_path / "new")
        replacement.replace(path)
        for n in (6, 30, 2):
            try:
                assert read_barcode(reader.frame(n).array("rgb24")) == (1, n)
            except SourceChanged:
                continue
    with pytest.raises(SourceChanged), FrameReader(source, index=index) as reader:
        reader.frame(0)


def test_bytes_written_over_in_place_are_never_shown(tmp_path: Path) -> None:
    """Packets are read as they lie; that their headers are the same proves nothing."""
    source = made("default", tmp_path)
    index = by_headers(source)
    with FrameReader(source, index=index) as reader:
        for n in range(4):
            reader.frame(n)
        damage_slice(Path(source.path), index, int(np.argmax(index.packets.size)))
        for wanted in ([4], [40], [5, 9], [59]):
            with pytest.raises(SourceChanged):
                dict(reader.frames(wanted))
        assert reader.stats.conservative == 0


def test_a_file_cut_short_under_a_reader(tmp_path: Path) -> None:
    source = made("default", tmp_path)
    truth = Truth.of(Path(source.path))
    with FrameReader(source, index=by_headers(source)) as reader:
        assert reader.frame(2).hash == truth.hashes[2]
        os.truncate(source.path, os.path.getsize(source.path) // 3)
        for n in (3, 59, 30, 58):
            try:
                assert reader.frame(n).hash == truth.hashes[n]
            except (SourceChanged, DecodeFailed):
                continue


def test_the_pool_lends_the_reader_that_walks_there(tmp_path: Path) -> None:
    source = made(Recipe("walks", BASE.replace("24", "60"), frames=120), tmp_path)
    index = by_headers(source)
    pool = ReaderPool(4)
    with (
        pool.reader(source, index, None, 0) as early,
        pool.reader(source, index, None, 70) as late,
    ):
        assert early is not late
        for n in range(6):
            early.frame(n)
            late.frame(70 + n)
    with pool.reader(source, index, None, 77) as reader:
        assert reader is late
    with pool.reader(source, index, None, 7) as reader:
        assert reader is early
    pool.close()


def test_many_threads_read_one_source_through_the_pool(tmp_path: Path) -> None:
    source = made("open_gop_3", tmp_path)
    index = by_headers(source)
    truth = Truth.of(Path(source.path))
    pool = ReaderPool(3)
    faults: list[int] = []
    lock = threading.Lock()

    def read(seed: int) -> None:
        generator = random.Random(seed)
        for _ in range(15):
            n = generator.randrange(60)
            with pool.reader(source, index, None, n) as reader:
                value = reader.frame(n).hash
            if value != truth.hashes[n]:
                with lock:
                    faults.append(n)

    with ThreadPoolExecutor(6) as executor:
        list(executor.map(read, range(6)))
    assert faults == []
    pool.close()


def test_streams_with_fields_are_read_from_ts(tmp_path: Path) -> None:
    """Through the demuxer, where a packet of two fields may be one or two."""
    for seed in (1012, 1016):
        path = write_h264(seed, tmp_path)
        truth = Truth.of(path)
        with FrameReader(str(path)) as reader:
            assert reader.index.feed is not None
            assert [reader.frame(n).hash for n in range(len(reader))] == truth.hashes


def test_the_interface(tmp_path: Path) -> None:
    source = made("default", tmp_path)
    with FrameReader(source) as reader:
        assert len(reader) == 60
        assert reader.fps == Fraction(25)
        batch = reader.read([17, 2, 17])
        assert batch.shape == (3, *reader.shape)
        assert np.array_equal(batch[0], batch[2])
        expected = list(full_decode(source.path))
        assert np.array_equal(batch[1], expected[2])
        assert "run 1" in reader.plan([17]).explain()
        assert reader.stats.requested == 2


@pytest.mark.parametrize("clip", corpus_files()[::6], ids=lambda clip: clip.name)
def test_nothing_but_our_errors(clip: Path) -> None:
    try:
        with FrameReader(str(clip)) as reader:
            assert reader.frame(len(reader) - 1).planes
    except DecoderError:
        pass


def test_behind_what_is_decoded_there_are_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoders read a little further than their packet."""
    source = made("default", tmp_path)
    behind: set[bytes] = set()
    decode = SparseDecoder._decode

    def looking(self: SparseDecoder, packet: av.Packet | None) -> list[av.VideoFrame]:  # type: ignore[type-arg]
        if packet is not None:
            behind.add(ctypes.string_at(packet.buffer_ptr + packet.buffer_size, 64))
        return decode(self, packet)

    monkeypatch.setattr(SparseDecoder, "_decode", looking)
    with FrameReader(source, index=by_headers(source)) as reader:
        reader.frame(40)
    assert behind == {bytes(64)}
