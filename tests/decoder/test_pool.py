from __future__ import annotations

import random
import shutil
import threading
import time
from pathlib import Path

import pytest

from decoder.checked import KeyTrust
from decoder.corpus import Source, source_at
from decoder.errors import SourceChanged, Stopped
from decoder.index import SourceIndex
from decoder.pool import ReaderPool
from tests.clips import read_barcode


def open_files(path: str) -> int:
    """How often this process has ``path`` open."""
    count = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            count += str(entry.readlink()) == path
        except OSError:
            continue
    return count


def test_lends_the_reader_that_is_closest_before_the_frame(
    source: Source, index: SourceIndex
) -> None:
    pool = ReaderPool(4)
    trust = KeyTrust(index)
    with (
        pool.reader(source, index, trust, 5) as early,
        pool.reader(source, index, trust, 40) as late,
    ):
        assert early is not late
        early.frame(5)
        late.frame(40)
    with pool.reader(source, index, trust, 42) as reader:
        assert reader is late
    with pool.reader(source, index, trust, 7) as reader:
        assert reader is early
    pool.close()


def test_never_more_open_files_than_allowed(tmp_path: Path, h264: Path, index: SourceIndex) -> None:
    sources = []
    for n in range(6):
        path = shutil.copyfile(h264, tmp_path / f"{n}.mp4")
        sources.append(source_at(str(path)))
    pool = ReaderPool(3)
    trust = KeyTrust(index)
    faults: list[object] = []
    most = 0

    def run(seed: int) -> None:
        nonlocal most
        rng = random.Random(seed)
        for _ in range(15):
            source, n = rng.choice(sources), rng.randrange(60)
            with pool.reader(source, index, trust, n) as reader:
                code = read_barcode(reader.frame(n).array("rgb24"))
                opened = [open_files(s.path) for s in sources]
                most = max(most, sum(opened))
                if code != (1, n):
                    faults.append((code, n, opened))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults
    assert most <= 3 + 3  # for each one lent another may still be closing
    assert sum(open_files(s.path) for s in sources) <= 3
    pool.close()
    assert sum(open_files(s.path) for s in sources) == 0


def _use(pool: ReaderPool, source: Source, index: SourceIndex, trust: KeyTrust) -> None:
    with pool.reader(source, index, trust, 0) as reader:
        reader.frame(0)


def test_readers_that_failed_are_not_lent_again(
    tmp_path: Path, h264: Path, index: SourceIndex
) -> None:
    path = shutil.copyfile(h264, tmp_path / "a.mp4")
    source = source_at(str(path))
    pool = ReaderPool(1)
    trust = KeyTrust(index)
    with pool.reader(source, index, trust, 0) as first:
        first.frame(0)
    path.write_bytes(b"another")
    with pytest.raises(SourceChanged):
        _use(pool, source, index, trust)
    assert open_files(str(path)) == 0
    with pool.reader(source, index, trust, 0) as reader:
        assert reader is not first
    pool.close()


def test_closing_wakes_those_who_wait(source: Source, index: SourceIndex) -> None:
    pool = ReaderPool(1)
    trust = KeyTrust(index)
    outcome: list[BaseException] = []

    def wait() -> None:
        try:
            _use(pool, source, index, trust)
        except Stopped as error:
            outcome.append(error)

    with pool.reader(source, index, trust, 0) as reader:
        reader.frame(0)
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.05)
        pool.close()
        thread.join(10)
        with pytest.raises(Stopped):
            reader.frame(1)
    assert "shut down" in str(outcome[0])
    assert open_files(source.path) == 0
