from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import decoder.desk
import decoder.packets
import decoder.sparse
from decoder.corpus import Source, source_at
from decoder.errors import DecodeFailed, SourceChanged, Stopped, TimedOut
from decoder.foresight import ALONE, Outlook
from decoder.index import FrameTable, SourceIndex
from decoder.indexing import Indexer
from decoder.reader import FrameReader
from decoder.scan import scan
from decoder.service import FrameService
from decoder.store import IndexStore
from tests.clips import read_barcode, write_clip
from tests.oracle import full_frames

LENGTH = 96


@pytest.fixture(scope="module")
def ddra(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """An I picture every 8 frames, B pictures that nobody refers to between."""
    path = tmp_path_factory.mktemp("desks") / "ddra.mp4"
    options = {
        "x264-params": "keyint=8:min-keyint=8:scenecut=0:open-gop=1:bframes=7:b-adapt=0:"
        "b-pyramid=none:ref=1"
    }
    return source_at(str(write_clip(path, version=1, frames=LENGTH, gop=8, options=options)))


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """One I picture, and each other refers to the one before."""
    path = tmp_path_factory.mktemp("desks") / "chain.mp4"
    options = {"x264-params": "keyint=250:scenecut=0:bframes=0:ref=1"}
    return source_at(str(write_clip(path, version=2, frames=LENGTH, gop=250, options=options)))


@pytest.fixture
def service() -> Iterator[FrameService]:
    service = FrameService(IndexStore(":memory:"), readers=8)
    yield service
    service.close()


def read(service: FrameService, source: Source, n: int, process: int = 1) -> None:
    outlook = service.announce(source, n, process)
    code = read_barcode(service.array(source, n, "rgb24", outlook))
    assert code.frame == n


def reconstructed(service: FrameService) -> int:
    settle(service)
    return service.statistics.work().counters.reconstructed


def settle(service: FrameService) -> None:
    limit = time.monotonic() + 20
    while (load := service.load.desks).decoding or load.waiting:
        assert time.monotonic() < limit
        time.sleep(0.002)


def least(source: Source, frames: Sequence[int]) -> int:
    """Pictures of one request for all of them."""
    with FrameReader(source) as reader:
        reader.read(frames)
        return reader.stats.reconstructed


def teach(service: FrameService, source: Source, stride: int, process: int = 1) -> None:
    """Reads two windows, from which a third is known."""
    for first in (0, 3):
        for n in range(first, first + 5 * stride, stride):
            read(service, source, n, process)
    read(service, source, LENGTH - 1, process)
    settle(service)


@pytest.mark.parametrize("stride", [1, 5])
@pytest.mark.parametrize("kind", ["ddra", "chain"])
def test_a_window_costs_what_one_request_for_it_would(
    service: FrameService, kind: str, stride: int, request: pytest.FixtureRequest
) -> None:
    source = request.getfixturevalue(kind)
    teach(service, source, stride)
    before = reconstructed(service)
    window = range(41, 41 + 5 * stride, stride)
    for n in window:
        read(service, source, n)
    assert reconstructed(service) - before <= least(source, window)


@pytest.mark.parametrize("kind", ["ddra", "chain"])
def test_a_window_that_nothing_foretold_begins_anew_once(
    service: FrameService, kind: str, request: pytest.FixtureRequest
) -> None:
    source = request.getfixturevalue(kind)
    window = range(41, 51)
    for n in window:
        read(service, source, n)
    few = 5  # held back by the decoder, or read ahead
    assert reconstructed(service) <= least(source, [41]) + least(source, window) + few


@pytest.mark.parametrize("processes", [2, 8])
def test_processes_that_go_through_a_source_together_are_one_walk(
    service: FrameService, chain: Source, tmp_path: Path, processes: int
) -> None:
    """As loaders deal out batches in order: so many frames to each worker in turn."""
    sources = [chain]
    for n in range(3):
        path = tmp_path / f"{n}.mp4"
        shutil.copyfile(chain.path, path)
        sources.append(source_at(str(path)))

    def work(source: Source, process: int) -> None:
        for first in range(4 * process, LENGTH, 4 * processes):
            for n in range(first, first + 4):
                read(service, source, n, process)

    costs = []
    for source in sources:
        before = reconstructed(service)
        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(partial(work, source), range(processes)))
        costs.append(reconstructed(service) - before)
    # Each window by itself: 12.5 pictures a frame.
    assert sum(costs[2:]) <= 2 * 2.5 * LENGTH


@pytest.mark.parametrize("kind", ["ddra", "chain"])
def test_reading_all_of_a_source_reconstructs_each_picture_once(
    service: FrameService, kind: str, request: pytest.FixtureRequest
) -> None:
    source = request.getfixturevalue(kind)
    for n in range(LENGTH):
        read(service, source, n)
    assert reconstructed(service) <= LENGTH + least(source, [0, 1])


def test_single_frames_cost_their_closure(service: FrameService, ddra: Source) -> None:
    frames = [90, 13, 58, 3, 77, 35, 62, 20]
    for n in frames:
        read(service, ddra, n)
    assert reconstructed(service) <= sum(least(ddra, [n]) for n in frames)
    assert service.load.desks.tally.foretold == 0


def test_what_lies_on_the_way_is_kept(service: FrameService, ddra: Source) -> None:
    read(service, ddra, 28)
    before = reconstructed(service)
    read(service, ddra, 24, 2)
    read(service, ddra, 32, 3)
    assert reconstructed(service) == before
    assert service.load.desks.stock.hits["anchor"] == 2


def test_a_hundred_readers_of_one_frame_have_it_decoded_once(
    service: FrameService, chain: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.index(chain)
    free = threading.Event()
    hold_decoding(monkeypatch, free)
    with ThreadPoolExecutor(100) as pool:
        done = [pool.submit(read, service, chain, 90, process) for process in range(100)]
        limit = time.monotonic() + 20
        while service.load.desks.tally.joined < 99 and time.monotonic() < limit:
            time.sleep(0.01)
        free.set()
        for future in done:
            future.result(20)
    assert reconstructed(service) == 91
    assert service.load.desks.tally.joined == 99


def test_what_waits_at_the_same_time_is_planned_together(
    service: FrameService, chain: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.index(chain)
    hold_decoding(monkeypatch, threading.Event(), seconds=0.2)
    frames = [90, 80, 70, 60, 50, 40, 30, 20]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: read(service, chain, n, n), frames))
    assert reconstructed(service) < 3.5 * 91  # each by itself: 448


def hold_decoding(
    monkeypatch: pytest.MonkeyPatch, free: threading.Event, seconds: float = 60
) -> None:
    """The first packet of each decoder takes so long, unless ``free`` is set before."""
    real = decoder.sparse.SparseDecoder.run

    def run(self: Any, run: Any, **options: Any) -> Any:
        free.wait(seconds)
        return real(self, run, **options)

    monkeypatch.setattr(decoder.sparse.SparseDecoder, "run", run)


def test_a_reader_that_goes_away_leaves_nothing_behind(
    service: FrameService, ddra: Source, chain: Source
) -> None:
    for process in range(200):
        for n in range(3):
            read(service, (ddra, chain)[process % 2], 7 * process % 80 + n, process)
    settle(service)
    load = service.load.desks
    assert load.resting <= 8
    assert threading.active_count() < 20
    assert len(os.listdir("/proc/self/fd")) < 100


def test_interleaved_walks_do_not_disturb_each_other(
    service: FrameService, ddra: Source, chain: Source
) -> None:
    for n in range(40):
        for process in range(4):
            read(service, (ddra, chain)[process % 2], n + 10 * (process // 2), process)
    # Two walks through each source; the later one finds much decoded already.
    assert reconstructed(service) <= 2 * 2 * 60


def test_a_frame_that_is_not_there_in_time(ddra: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    service = FrameService(IndexStore(":memory:"), deadline=0.3, readers=4)
    free = threading.Event()
    service.index(ddra)
    with monkeypatch.context() as held:
        hold_decoding(held, free)
        began = time.monotonic()
        with pytest.raises(TimedOut, match=r"frame 5 was not decoded within 0\.3 s; .*deadline"):
            service.array(ddra, 5, "rgb24")
        assert time.monotonic() - began < 10
    # What is stuck holds up neither the source nor, however often, the others.
    for n in (5, 6, 40):
        read(service, ddra, n, n)
    assert service.load.desks.tally.overdue == 1
    assert service.statistics.work().failed == 1
    free.set()
    service.close()


def test_decoders_that_are_stuck_are_written_off(
    ddra: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FrameService(IndexStore(":memory:"), deadline=0.2, readers=2)
    free = threading.Event()
    service.index(ddra)
    with monkeypatch.context() as held:
        hold_decoding(held, free)
        for n in (5, 50, 70, 20, 60):
            with pytest.raises(TimedOut):
                service.array(ddra, n, "rgb24")
    read(service, ddra, 5)
    free.set()
    service.close()


def test_a_source_whose_storage_has_stopped_keeps_no_other_waiting(
    service: FrameService, ddra: Source, chain: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.index(ddra)
    service.index(chain)
    free = threading.Event()
    real = decoder.sparse.SparseDecoder.run

    def run(self: Any, run: Any, **options: Any) -> Any:
        if self._source == ddra:
            free.wait(60)
        return real(self, run, **options)

    monkeypatch.setattr(decoder.sparse.SparseDecoder, "run", run)
    with ThreadPoolExecutor(24) as pool:
        stuck = [pool.submit(read, service, ddra, 3 * n, n) for n in range(24)]
        limit = time.monotonic() + 20
        while service.load.desks.decoding < 2:
            assert time.monotonic() < limit
            time.sleep(0.01)
        began = time.monotonic()
        for n in (5, 50, 20):
            read(service, chain, n, 99)
        assert time.monotonic() - began < 30  # and not until the deadline
        assert not any(future.done() for future in stuck)
        assert service.load.desks.decoding <= 8
        free.set()
        for future in stuck:
            future.result(20)


def test_threads_that_are_stuck_are_so_many_and_no_more(
    ddra: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FrameService(IndexStore(":memory:"), deadline=0.2, readers=4)
    free = threading.Event()
    service.index(ddra)
    before = threading.active_count()
    with monkeypatch.context() as held:
        hold_decoding(held, free)
        for n in range(40):
            with pytest.raises(TimedOut):
                service.array(ddra, n, "rgb24")
        assert threading.active_count() - before <= 16 + 4
    free.set()
    limit = time.monotonic() + 20
    while threading.active_count() - before > 4:
        assert time.monotonic() < limit
        time.sleep(0.01)
    while True:
        with contextlib.suppress(TimedOut):  # on a machine that is busy
            read(service, ddra, 5)
            break
    service.close()


def test_one_frame_that_fails_takes_no_others_along(
    service: FrameService, ddra: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = decoder.sparse.SparseDecoder.run
    graph = service.index(ddra).feed
    assert graph is not None
    packet = int(service.index(ddra).frames.packet[44])
    bad = int(graph.graph.packet_pictures[packet])

    def run(self: Any, run: Any, **options: Any) -> Any:
        for picture, frame in real(self, run, **options):
            if picture == bad:
                raise DecodeFailed(f"{ddra.path}: picture {picture} cannot be had")
            yield picture, frame

    monkeypatch.setattr(decoder.sparse.SparseDecoder, "run", run)
    teach(service, ddra, 1)
    for n in range(41, 46):
        if n == 44:
            with pytest.raises(DecodeFailed, match="cannot be had"):
                read(service, ddra, n)
        else:
            read(service, ddra, n)


def test_little_memory_ends_reading_ahead(ddra: Source) -> None:
    service = FrameService(IndexStore(":memory:"), stock=0)
    teach(service, ddra, 1)
    for n in range(LENGTH):
        read(service, ddra, n)
    assert service.load.desks.tally.foretold == 0
    assert service.load.desks.stock.size == 0
    service.close()


def test_closing_ends_those_who_wait(ddra: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    service = FrameService(IndexStore(":memory:"))
    service.index(ddra)
    free = threading.Event()
    hold_decoding(monkeypatch, free)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(service.array, ddra, n, "rgb24") for n in range(0, 80, 20)]
        time.sleep(0.2)
        service.close()
        for future in waiting:
            with pytest.raises(Stopped):
                future.result(10)
    free.set()


def test_frames_read_in_any_way_by_many_are_right(
    service: FrameService, ddra: Source, chain: Source, tmp_path: Path
) -> None:
    third = source_at(str(write_clip(tmp_path / "c.mkv", version=3, frames=40, gop=10)))
    sources = [(ddra, 1, LENGTH), (chain, 2, LENGTH), (third, 3, 40)]

    def walk(process: int) -> None:
        import random

        rng = random.Random(process)
        for _ in range(12):
            source, version, count = rng.choice(sources)
            stride = rng.choice((1, 1, 2, 5, 0))
            if stride:
                first = rng.randrange(count)
                frames: Sequence[int] = range(first, min(count, first + 12 * stride), stride)
            else:
                frames = [rng.randrange(count) for _ in range(6)]
            for n in frames:
                outlook = service.announce(source, n, process)
                assert read_barcode(service.array(source, n, "rgb24", outlook)) == (version, n)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(walk, range(8)))


def test_what_was_decoded_while_a_file_was_written_over_is_not_kept(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", version=1, frames=60, gop=60)
    other = write_clip(tmp_path / "b.mp4", version=2, frames=60, gop=60).read_bytes()
    content = path.read_bytes()
    source = source_at(str(path))
    service = FrameService(IndexStore(":memory:"))
    service.index(source)
    times = (source.fingerprint.mtime_ns, source.fingerprint.mtime_ns)
    path.write_bytes(other[: len(content)].ljust(len(content), b"\0"))
    with pytest.raises(SourceChanged):
        service.array(source, 40, "rgb24")
    settle(service)
    path.write_bytes(content)
    os.utime(path, ns=times)
    for n in (40, 0, 10, 20, 59):
        assert read_barcode(service.array(source, n, "rgb24")) == (1, n)
    service.close()


def test_what_is_read_ahead_is_not_pushed_out_by_the_same(ddra: Source, tmp_path: Path) -> None:
    """Many that walk at the same time in little memory: most that was foretold is asked for."""
    frame = 128 * 96 * 2
    service = FrameService(IndexStore(":memory:"), stock=20 * frame)
    copies = [
        source_at(shutil.copyfile(ddra.path, str(tmp_path / f"{process}.mp4")))
        for process in range(6)
    ]

    def walk(process: int) -> None:
        for first in range(process, LENGTH - 10, 9):
            for n in range(first, first + 10):
                read(service, copies[process], n, process)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(walk, range(6)))
    settle(service)
    load = service.load.desks
    assert load.tally.foretold - load.stock.hits["foretold"] <= 0.3 * load.tally.foretold + 10
    service.close()


def test_what_has_been_promised_is_kept_account_of(service: FrameService, ddra: Source) -> None:
    for process in range(12):
        teach(service, ddra, 1, process)
        read(service, ddra, 40 + process, process)  # a window that ends with its first frame
        read(service, ddra, 3, process)
    settle(service)
    stock = vars(vars(service)["_desks"])["_stock"]
    assert vars(stock)["_promised"] == 0


def test_what_goes_on_is_waited_for_by_those_who_give_up_together(
    chain: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FrameService(IndexStore(":memory:"), deadline=0.4)
    service.index(chain)
    real = decoder.packets.PacketReader.read

    def slow(self: Any, ordinal: int) -> bytes:
        time.sleep(0.01)
        return real(self, ordinal)

    monkeypatch.setattr(decoder.packets.PacketReader, "read", slow)
    barrier = threading.Barrier(4)

    def ask(_: int) -> None:
        barrier.wait()
        for _ in range(20):
            try:
                assert read_barcode(service.array(chain, 90, "rgb24")).frame == 90
            except TimedOut:
                continue
            return
        pytest.fail("never decoded")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))
    assert reconstructed(service) <= 2 * 91  # who comes late has it decoded again
    service.close()


def test_who_waited_with_a_walk_that_ends_is_served_by_another(
    ddra: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FrameService(IndexStore(":memory:"), deadline=10)
    service.index(ddra)
    free = threading.Event()
    with monkeypatch.context() as held, ThreadPoolExecutor(2) as pool:
        hold_decoding(held, free)
        second = pool.submit(service.array, ddra, 40, "rgb24", Outlook(2, 2, 7, 8))
        while service.load.desks.decoding == 0:
            time.sleep(0.002)
        held.undo()
        for n in range(20, 30):
            read(service, ddra, n, 1)  # what is decoded now ends before 44, what may be does not
        third = pool.submit(service.array, ddra, 44, "rgb24")
        time.sleep(0.1)
        service._desks._desk(ddra, service.index(ddra)).leave(2)
        assert read_barcode(third.result(5)).frame == 44
        assert read_barcode(second.result(5)).frame == 40
        free.set()
    service.close()


def test_a_walk_that_goes_on_elsewhere_is_decoded_once(
    service: FrameService, chain: Source
) -> None:
    service.array(chain, 2, "rgb24", Outlook(1, 1, 4))
    settle(service)
    before = reconstructed(service)
    service.array(chain, 80, "rgb24", Outlook(1, 1, 4))
    few = 5  # held back by the decoder
    assert reconstructed(service) - before <= least(chain, range(80, 85)) + few


def test_a_walk_that_rests_makes_room_at_once(
    ddra: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FrameService(IndexStore(":memory:"), readers=2)
    service.index(ddra)
    monkeypatch.setattr(decoder.desk, "STALL", 60)
    free = threading.Event()
    hold_decoding(monkeypatch, free)
    with ThreadPoolExecutor(2) as pool:
        walking = pool.submit(service.array, ddra, 20, "rgb24", Outlook(1, 1, 4))
        while service.load.desks.decoding == 0:
            time.sleep(0.002)
        other = pool.submit(service.array, ddra, 80, "rgb24")
        while not vars(service._desks._desk(ddra, service.index(ddra)))["_asked"].keys() >= {80}:
            time.sleep(0.002)
        free.set()
        assert read_barcode(walking.result(20)).frame == 20
        assert read_barcode(other.result(20)).frame == 80
    service.close()


def test_a_request_that_comes_after_closing_ends_at_once(ddra: Source) -> None:
    service = FrameService(IndexStore(":memory:"))
    index = service.index(ddra)
    desks = service._desks
    service.close()
    with pytest.raises(Stopped):
        desks.frame(ddra, index, 5, ALONE)


def padded(paths: Sequence[Path]) -> None:
    """Rewrites H.264 files so that a packet lies at the same place in all, by filler data."""
    contents = []
    for path in paths:
        with av.open(str(path)) as container:
            contents.append([bytes(p) for p in container.demux(video=0) if p.size])
    sizes = [max(map(len, packets)) + 6 for packets in zip(*contents, strict=True)]
    for path, packets in zip(paths, contents, strict=True):
        with av.open(str(path)) as given, av.open(f"{path}.mp4", "w") as made:
            stream = made.add_stream_from_template(given.streams.video[0])
            for packet, data, size in zip(given.demux(video=0), packets, sizes, strict=False):
                room = size - len(data) - 4
                filler = room.to_bytes(4, "big") + b"\x0c" + b"\xff" * (room - 2) + b"\x80"
                long = av.Packet(data + filler)
                long.pts, long.dts, long.time_base = packet.pts, packet.dts, packet.time_base
                long.is_keyframe = packet.is_keyframe
                long.stream = stream
                made.mux(long)
        os.replace(f"{path}.mp4", path)


def test_a_walk_through_a_file_that_was_another_for_a_while(tmp_path: Path) -> None:
    options = {"x264-params": "keyint=250:scenecut=0:bframes=0:ref=1"}
    path, other = (
        write_clip(tmp_path / f"{version}.mp4", version=version, frames=90, gop=90, options=options)
        for version in (1, 2)
    )
    padded([path, other])
    content = path.read_bytes()
    assert len(content) == other.stat().st_size
    source = source_at(str(path))
    service = FrameService(IndexStore(":memory:"))
    times = (source.fingerprint.mtime_ns, source.fingerprint.mtime_ns)
    for n in range(0, 20, 2):
        read(service, source, n)
    settle(service)
    path.write_bytes(other.read_bytes())
    with pytest.raises(SourceChanged):
        read(service, source, 20)
    settle(service)
    path.write_bytes(content)
    os.utime(path, ns=times)
    reference = [shown.array() for shown in full_frames(str(path))]
    for n in (*range(20, 90, 2), *range(90)):
        outlook = service.announce(source, n, 1)
        assert np.array_equal(service.array(source, n, "rgb24", outlook), reference[n]), n
    service.close()


def test_nothing_from_before_a_plan_failed_is_used_after_it(
    service: FrameService, ddra: Source
) -> None:
    for n in range(20):
        read(service, ddra, n)  # a walk that rests, and frames read ahead
    read(service, ddra, 60, 2)  # a reader that is open
    settle(service)
    old = service.index(ddra)
    service._demote(ddra, "it was damaged")
    assert service.load.desks.stock.entries == 0
    # Somebody who has not heard of it yet.
    service._desks.frame(ddra, old, 33, ALONE)
    before = service.statistics.work().counters.conservative
    for n in (20, 21, 61, 40):
        read(service, ddra, n)
    settle(service)
    assert service.statistics.work().counters.conservative - before >= 4
    assert service.load.desks.stock.entries == 0


def test_frames_of_an_old_index_are_not_kept_beside_a_new_one(
    ddra: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody comes with the new index before its maker has had everything else forgotten."""
    real = Indexer.make

    def make(self: Indexer, source: Source) -> SourceIndex:
        index = real(self, source)
        frames = index.frames
        fewer = FrameTable(
            frames.packet[1:], frames.picture_type[1:], frames.hash[1:], frames.geometry[1:]
        )
        return SourceIndex(index.facts, index.packets, fewer, index.geometries, index.feed)

    monkeypatch.setattr(Indexer, "make", make)
    service = FrameService(IndexStore(":memory:"))
    assert read_barcode(service.array(ddra, 5, "rgb24")).frame == 6
    free, inside = threading.Event(), threading.Event()
    run = decoder.sparse.SparseDecoder.run

    def hold(self: Any, one: Any, **options: Any) -> Any:
        inside.set()
        free.wait(60)
        return run(self, one, **options)

    monkeypatch.setattr(decoder.sparse.SparseDecoder, "run", hold)
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(service.array, ddra, 20, "rgb24", Outlook(1, 1, 8, 10))
        assert inside.wait(10)
        forget = service._desks.forget

        def forget_late(source: Source) -> None:
            read(service, ddra, 50, 2)
            forget(source)

        monkeypatch.setattr(service._desks, "forget", forget_late)
        service._demote(ddra, "it was damaged")
        free.set()
        begun.result(10)
    settle(service)
    assert service.load.desks.stock.entries == 0
    for n in range(20, 30):
        read(service, ddra, n)
    service.close()


def test_an_index_that_another_process_has_replaced(tmp_path: Path, ddra: Source) -> None:
    """Found in the store once the one in use is no longer in memory."""
    services = [FrameService(IndexStore(str(tmp_path / "i.sqlite"))) for _ in range(2)]
    teach(services[0], ddra, 1)
    for n in range(20, 24):
        read(services[0], ddra, n)
    settle(services[0])
    assert services[0].load.desks.stock.entries > 0
    services[1]._demote(ddra, "it was damaged")
    vars(services[0]._indexes)["_results"].clear()
    read(services[0], ddra, 60)
    settle(services[0])
    assert services[0].load.desks.stock.entries == 0
    for service in services:
        service.close()


def test_a_frame_beyond_those_that_are_there_is_far_from_any_reader(tmp_path: Path) -> None:
    source = source_at(str(write_clip(tmp_path / "a.mkv", version=1, frames=20, gop=5)))
    index = scan(source, fallback="it was damaged")
    with FrameReader(source, index=index) as reader:
        reader.frame(3)
        assert reader.distance(4) >= 0
        assert reader.distance(20) == -1
