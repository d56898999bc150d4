from __future__ import annotations

import contextlib
import logging
import os
import random
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decoder.indexes
from decoder.corpus import Source, source_at
from decoder.errors import (
    DecoderError,
    FrameOutOfRange,
    SourceChanged,
    SourceNotFound,
    SourceUnreadable,
    Stopped,
    TimedOut,
)
from decoder.index import SourceIndex
from decoder.indexing import Indexer
from decoder.service import FrameService
from decoder.store import IndexStore
from tests.clips import read_barcode, write_clip
from tests.oracle import full_decode


@pytest.fixture
def service() -> Iterator[FrameService]:
    service = FrameService(IndexStore(":memory:"), readers=4)
    yield service
    service.close()


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_frames_in_every_pixel_format(service: FrameService, source: Source) -> None:
    for pixel_format, shape, dtype in (
        ("rgb24", (96, 128, 3), "u1"),
        ("rgb48le", (96, 128, 3), "<u2"),
        ("gray", (96, 128), "u1"),
        ("gray16le", (96, 128), "<u2"),
    ):
        array = service.array(source, 33, pixel_format)  # type: ignore[arg-type]
        assert array.shape == shape
        assert array.dtype == np.dtype(dtype)
        assert array.flags.c_contiguous
        assert read_barcode(array) == (1, 33)
    for n in (-1, 60):
        with pytest.raises(FrameOutOfRange):
            service.array(source, n, "rgb24")


def test_random_frames_for_many_threads(tmp_path: Path) -> None:
    service = FrameService(IndexStore(str(tmp_path / "index.sqlite")), readers=3)
    sources = [
        source_at(str(write_clip(tmp_path / f"{n}.{suffix}", version=n, frames=40, gop=10)))
        for n, suffix in enumerate(("mp4", "mkv", "ts", "avi"))
    ]

    def read(seed: int) -> int:
        rng = random.Random(seed)
        for _ in range(40):
            version, n = rng.randrange(4), rng.randrange(40)
            array = service.array(sources[version], n, "rgb24")
            assert read_barcode(array) == (version, n)
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(read, range(8))) == 8
    service.close()


def test_indexed_once_however_many_ask(
    service: FrameService, source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    assert service.known(source) is None
    with caplog.at_level(logging.INFO), ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda n: service.index(source), range(12)))
    assert all(index is found[0] for index in found)
    assert service.known(source) is found[0]
    assert caplog.text.count("indexed 60 frames") == 1


def test_indexes_are_found_again_in_the_store(
    tmp_path: Path, source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        for options in ({}, {}, {"rotate": False}, {"stream": 0}):
            service = FrameService(IndexStore(str(tmp_path / "i.sqlite")), **options)
            assert service.index(source).frame_count == 60
            service.close()
    assert caplog.text.count("indexed 60 frames") == 3


def test_an_index_that_does_not_fit_is_no_wrong_frame(tmp_path: Path, h264: Path) -> None:
    """The file was changed and made to look like the version that the stored index is of."""
    path = tmp_path / "a.mp4"
    shutil.copyfile(h264, path)
    source = source_at(str(path))
    store = str(tmp_path / "i.sqlite")
    first = FrameService(IndexStore(store))
    first.index(source)
    first.close()
    other = write_clip(tmp_path / "b.mp4", version=2, gop=15, options={"sc_threshold": "0"})
    content = other.read_bytes()[: source.fingerprint.size]
    path.write_bytes(content + bytes(source.fingerprint.size - len(content)))
    os.utime(path, ns=(source.fingerprint.mtime_ns, source.fingerprint.mtime_ns))
    assert source_at(str(path)) == source
    second = FrameService(IndexStore(store))
    for n in (0, 20, 59):
        with pytest.raises(DecoderError):
            second.array(source, n, "rgb24")
    second.close()


# --- failures --------------------------------------------------------------------------------


def broken(path: Path, content: bytes = b"no video" * 100) -> Source:
    path.write_bytes(content)
    os.utime(path, ns=(10**18, 10**18))
    return source_at(str(path))


def test_failures_are_remembered_for_a_version_and_a_time(
    tmp_path: Path,
    service: FrameService,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decoder.indexes, "_FAILURE_SECONDS", 0.4)
    monkeypatch.setattr(decoder.indexes, "_FAILURE_FACTOR", 0)
    source = broken(tmp_path / "a.mp4")
    assert service.known(source) is None
    for _ in range(5):
        with pytest.raises(SourceUnreadable, match=r"a\.mp4: cannot be opened"):
            service.index(source)
        with pytest.raises(SourceUnreadable):
            service.array(source, 0, "rgb24")
    assert isinstance(service.known(source), SourceUnreadable)
    assert len(caplog.records) == 1
    time.sleep(0.45)
    assert service.known(source) is None
    with pytest.raises(SourceUnreadable):
        service.index(source)
    assert len(caplog.records) == 2
    write_clip(tmp_path / "a.mp4", frames=3)
    mended = source_at(source.path)
    assert service.index(mended).frame_count == 3
    assert isinstance(service.known(source), SourceUnreadable)


def test_passing_failures_are_not_remembered(
    tmp_path: Path, service: FrameService, h264: Path
) -> None:
    path = tmp_path / "a.mp4"
    shutil.copyfile(h264, path)
    source = source_at(str(path))
    moved = tmp_path / "b.mp4"
    path.rename(moved)
    with pytest.raises(SourceNotFound):
        service.index(source)
    assert service.known(source) is None
    moved.rename(path)
    assert service.index(source).frame_count == 60


def test_everybody_who_waits_hears_of_the_failure(tmp_path: Path, service: FrameService) -> None:
    source = broken(tmp_path / "a.mp4")

    def ask(_: int) -> type[DecoderError] | None:
        try:
            service.index(source)
        except DecoderError as error:
            return type(error)
        return None

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(16))) == {SourceUnreadable}


def test_a_broken_source_disturbs_no_other(
    tmp_path: Path, service: FrameService, source: Source
) -> None:
    bad = broken(tmp_path / "a.mp4")
    with pytest.raises(SourceUnreadable):
        service.array(bad, 0, "rgb24")
    assert read_barcode(service.array(source, 7, "rgb24")) == (1, 7)


# --- sources that change ---------------------------------------------------------------------


def test_replaced_source(tmp_path: Path, service: FrameService) -> None:
    path = write_clip(tmp_path / "a.mp4", version=1, gop=10)
    old = source_at(str(path))
    assert read_barcode(service.array(old, 20, "rgb24")) == (1, 20)
    os.replace(write_clip(tmp_path / "b.mp4", version=2, frames=50, gop=10), path)
    for n in (21, 5, 59):
        with pytest.raises(SourceChanged, match="read it again"):
            service.array(old, n, "rgb24")
    new = source_at(str(path))
    for n in (21, 5, 49):
        assert read_barcode(service.array(new, n, "rgb24")) == (2, n)
    path.unlink()
    for source in (old, new):
        with pytest.raises(SourceNotFound):
            service.array(source, 1, "rgb24")


def test_replaced_again_and_again_under_many_readers(tmp_path: Path) -> None:
    """Every frame that is served is of the version that was asked for."""
    masters = [
        write_clip(tmp_path / f"{n}.mp4", version=n, frames=30, gop=10).read_bytes()
        for n in range(3)
    ]
    folder = tmp_path / "corpus"
    folder.mkdir()
    path = folder / "a.mp4"
    versions: dict[tuple[int, int], int] = {}
    done = threading.Event()

    def replace(version: int, in_place: bool) -> None:
        if in_place and path.exists():
            path.write_bytes(masters[version])
        else:
            (folder / ".new").write_bytes(masters[version])
            os.replace(folder / ".new", path)
        status = path.stat()
        versions[status.st_size, status.st_mtime_ns] = version

    def churn() -> None:
        rng = random.Random(1)
        while not done.is_set():
            replace(rng.randrange(3), rng.random() < 0.5)
            time.sleep(rng.choice([0.01, 0.1, 0.25]))

    replace(0, False)
    service = FrameService(IndexStore(":memory:"), readers=4)
    until = time.monotonic() + 4

    def read(seed: int) -> tuple[int, int]:
        rng = random.Random(seed)
        served = refused = 0
        while time.monotonic() < until:
            source = source_at(str(path))
            n = rng.randrange(30)
            try:
                code = read_barcode(service.array(source, n, "rgb24"))
            except (SourceChanged, SourceUnreadable, SourceNotFound, FrameOutOfRange):
                refused += 1  # unreadable: half of it was written
                continue
            key = (source.fingerprint.size, source.fingerprint.mtime_ns)
            served += 1
            assert code.frame == n
            assert versions.get(key, code.version) == code.version
        return served, refused

    writer = threading.Thread(target=churn)
    writer.start()
    try:
        with ThreadPoolExecutor(6) as pool:
            counts = list(pool.map(read, range(6)))
    finally:
        done.set()
        writer.join()
    service.close()
    assert sum(served for served, _ in counts) > 50


# --- memory, processes, closing --------------------------------------------------------------


def test_memory_does_not_grow_with_failures(tmp_path: Path, service: FrameService) -> None:
    path = tmp_path / "a.mp4"

    def fail(times: int) -> None:
        for n in range(times):
            path.write_bytes(b"no video" * 1000)
            os.utime(path, ns=(10**18 + time.time_ns() % 10**15, 10**18 + n))
            with pytest.raises(SourceUnreadable):
                service.index(source_at(str(path)))

    fail(100)
    before = resident_mib()
    fail(500)
    assert resident_mib() - before < 12


def test_memory_does_not_grow_with_opens(h264: Path, source: Source, index: SourceIndex) -> None:
    from decoder.reader import FrameReader

    def open_and_read(times: int) -> None:
        for n in range(times):
            with FrameReader(source, index=index) as reader:
                reader.frame(n % 60).array("rgb24")

    open_and_read(100)
    before = resident_mib()
    open_and_read(500)
    assert resident_mib() - before < 12


def test_memory_does_not_grow_with_frames(service: FrameService, source: Source) -> None:
    for n in range(60):
        service.array(source, n, "rgb24")
    before = resident_mib()
    for n in range(600):
        service.array(source, n * 7 % 60, "rgb24")
    assert resident_mib() - before < 12


def test_memory_of_indexes_is_bounded(
    tmp_path: Path, h264: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder.indexes, "_BYTES", 9000)
    service = FrameService(IndexStore(":memory:"))
    sources = []
    for n in range(6):
        path = tmp_path / f"{n}.mp4"
        shutil.copyfile(h264, path)
        sources.append(source_at(str(path)))
    for source in sources:
        assert service.array(source, 5, "rgb24") is not None
    assert service.known(sources[0]) is None
    assert service.known(sources[-1]) is not None
    assert service.array(sources[0], 59, "rgb24") is not None
    service.close()


def test_after_a_fork(tmp_path: Path, source: Source) -> None:
    service = FrameService(IndexStore(str(tmp_path / "i.sqlite")), readers=2)
    assert read_barcode(service.array(source, 20, "rgb24")) == (1, 20)
    other = source_at(str(write_clip(tmp_path / "b.mp4", version=2, frames=12)))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            codes = [read_barcode(service.array(source, n, "rgb24")) for n in (21, 50, 3)]
            codes.append(read_barcode(service.array(other, 3, "rgb24")))
            status = 0 if codes == [(1, 21), (1, 50), (1, 3), (2, 3)] else 2
        finally:
            os._exit(status)
    for n in (21, 22, 59, 1):
        assert read_barcode(service.array(source, n, "rgb24")) == (1, n)
    assert os.waitpid(child, 0)[1] == 0
    assert read_barcode(service.array(other, 11, "rgb24")) == (2, 11)
    service.close()


def test_forks_while_other_threads_read(tmp_path: Path, h264: Path) -> None:
    sources = []
    for n in range(4):
        path = tmp_path / f"{n}.mp4"
        shutil.copyfile(h264, path)
        sources.append(source_at(str(path)))
    service = FrameService(IndexStore(str(tmp_path / "i.sqlite")), readers=4)
    over = threading.Event()

    def read(seed: int) -> None:
        rng = random.Random(seed)
        while not over.is_set():
            service.array(rng.choice(sources), rng.randrange(60), "rgb24")
            os.utime(rng.choice(sources).path, ns=(seed, rng.randrange(9)))  # indexes, too
            service.statistics.work()

    def read_on(seed: int) -> None:
        while not over.is_set():
            with contextlib.suppress(DecoderError):
                read(seed)

    threads = [threading.Thread(target=read_on, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    try:
        steady = source_at(str(write_clip(tmp_path / "steady.mp4", version=2, frames=12)))
        for _ in range(40):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                status = 1
                try:
                    status = read_barcode(service.array(steady, 7, "rgb24")) != (2, 7)
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        over.set()
        for thread in threads:
            thread.join()
        service.close()


@pytest.mark.parametrize("what", ["load", "close"])
def test_a_fork_that_does_nothing_else(service: FrameService, source: Source, what: str) -> None:
    """Whatever the parent's threads are at, and whichever locks they hold with that."""
    service.array(source, 20, "rgb24")
    desks, indexes = service._desks, service._indexes
    locks = [
        vars(desks)["_lock"],
        vars(vars(desks)["_crew"])["_changed"],
        vars(vars(desks)["_pool"])["_returned"],
        vars(vars(indexes)["_crew"])["_changed"],
    ]
    with contextlib.ExitStack() as held:
        for lock in locks:
            held.enter_context(lock)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            status = 1
            try:
                if what == "load":
                    status = int(service.load.desks.decoding != 0)
                else:
                    service.close()
                    status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    assert read_barcode(service.array(source, 21, "rgb24")) == (1, 21)


def test_a_request_for_an_index_that_takes_long_ends(
    tmp_path: Path, source: Source, h264: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.mp4"
    shutil.copyfile(h264, other)
    service = FrameService(IndexStore(":memory:"), deadline=0.6)
    free = threading.Event()
    real = Indexer.make

    def make(self: Indexer, which: Source) -> SourceIndex:
        if which == source:
            free.wait(60)
        return real(self, which)

    monkeypatch.setattr(Indexer, "make", make)
    for _ in range(2):  # made once, and asked for by both
        with pytest.raises(TimedOut, match=r"not indexed within 0\.6 s; that goes on"):
            service.index(source)
    assert service.load.indexing == 1
    assert service.index(source_at(str(other))).frame_count == 60
    free.set()
    limit = time.monotonic() + 20
    while service.known(source) is None:
        assert time.monotonic() < limit
        time.sleep(0.01)
    assert read_barcode(service.array(source, 20, "rgb24")) == (1, 20)
    service.close()


def test_closed_service(source: Source) -> None:
    service = FrameService(IndexStore(":memory:"))
    service.array(source, 0, "rgb24")
    service.close()
    with pytest.raises(DecoderError, match="shut down"):
        service.array(source, 0, "rgb24")


def test_closing_ends_a_scan_that_is_going_on(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "long.mp4", frames=3000)
    service = FrameService(IndexStore(":memory:"))
    threading.Timer(0.3, service.close).start()
    began = time.monotonic()

    def index_again_and_again() -> None:
        while True:  # one scan may be done before it is closed
            service.index(source_at(str(path)))
            os.utime(path)

    with pytest.raises(Stopped):
        index_again_and_again()
    assert time.monotonic() - began < 5


def test_who_comes_while_an_index_is_given_up_hears_of_it(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = FrameService(IndexStore(":memory:"), deadline=10)
    making, give_up, asking = threading.Event(), threading.Event(), threading.Event()
    given_up = threading.Event()
    fail = decoder.indexes.Indexes._fail

    def make(self: Indexer, which: Source) -> SourceIndex:
        making.set()
        give_up.wait(20)
        raise Stopped("shut down")

    def stored(self: Indexer, which: Source) -> None:
        if making.is_set():
            asking.set()
            given_up.wait(20)

    def failed(self: decoder.indexes.Indexes, *arguments: Any) -> None:
        fail(self, *arguments)
        given_up.set()

    monkeypatch.setattr(Indexer, "make", make)
    monkeypatch.setattr(Indexer, "stored", stored)
    monkeypatch.setattr(decoder.indexes.Indexes, "_fail", failed)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(service.index, source)
        assert making.wait(10)
        service.close()
        second = pool.submit(service.index, source)
        assert asking.wait(10)
        give_up.set()
        for future in (first, second):
            with pytest.raises(Stopped):
                future.result(20)


def test_store_that_cannot_be_used_costs_no_frame(source: Source) -> None:
    service = FrameService(IndexStore("/proc/no/index.sqlite"))
    assert read_barcode(service.array(source, 9, "rgb24")) == (1, 9)
    service.close()


def test_stored_index_that_is_damaged_is_made_anew(tmp_path: Path, source: Source) -> None:
    store = tmp_path / "i.sqlite"
    FrameService(IndexStore(str(store))).index(source)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE sources SET content = substr(content, 1, 100)")
    connection.close()
    service = FrameService(IndexStore(str(store)))
    assert read_barcode(service.array(source, 9, "rgb24")) == (1, 9)
    service.close()


def test_rotation_can_be_switched_off(clips: Path) -> None:
    path = clips / "synth" / "s15_rot90.mp4"
    source = source_at(str(path))
    expected = next(iter(full_decode(path)))
    turned = FrameService(IndexStore(":memory:"))
    assert turned.index(source).shape(0) == (128, 96)
    assert np.array_equal(turned.array(source, 0, "rgb24"), expected)
    turned.close()
    plain = FrameService(IndexStore(":memory:"), rotate=False)
    assert plain.index(source).shape(0) == (96, 128)
    assert plain.array(source, 0, "rgb24").shape == (96, 128, 3)
    plain.close()
