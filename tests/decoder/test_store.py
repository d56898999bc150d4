from __future__ import annotations

import logging
import os
import random
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from decoder.corpus import Fingerprint, Source
from decoder.index import SourceIndex
from decoder.store import SCHEMA_VERSION, IndexStore, default_index_path
from tests.mounting import ROOT

OPTIONS = "stream=auto rotate=1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "index.sqlite"


def numbered(n: int) -> Source:
    return Source(f"/videos/{n}.mp4", Fingerprint(1000 + n, 10**18 + n))


def holds(store: IndexStore, source: Source, index: SourceIndex) -> bool:
    found = store.get(source, OPTIONS)
    return found is not None and found.to_bytes() == index.to_bytes()


def set_aside(path: Path, kind: str) -> list[Path]:
    found = path.parent.glob(f"{path.name}.{kind}-*")
    return [p for p in found if not p.name.endswith(("-wal", "-shm"))]


def test_keeps_one_version_per_file_and_options(path: Path, index: SourceIndex) -> None:
    store = IndexStore(str(path))
    source = numbered(1)
    assert store.get(source, OPTIONS) is None
    store.put(source, OPTIONS, index)
    assert holds(store, source, index)
    assert store.get(source, "stream=1 rotate=1") is None
    assert store.get(numbered(2), OPTIONS) is None
    newer = Source(source.path, Fingerprint(1001, 10**18 + 2))
    assert store.get(newer, OPTIONS) is None
    store.put(newer, OPTIONS, index)
    assert holds(store, newer, index)
    assert store.get(source, OPTIONS) is None
    store.close()
    again = IndexStore(str(path))
    assert holds(again, newer, index)
    again.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM sources").fetchone() == (1,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    connection.close()


def test_paths_that_are_not_utf8(path: Path, index: SourceIndex) -> None:
    store = IndexStore(str(path))
    source = Source(os.fsdecode(b"/videos/\xff\xe9.mp4"), Fingerprint(1, 2))
    store.put(source, OPTIONS, index)
    assert holds(store, source, index)
    assert store.get(Source(os.fsdecode(b"/videos/\xfe\xe9.mp4"), Fingerprint(1, 2)), "x") is None
    store.close()


def test_memory(index: SourceIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = IndexStore(":memory:")
    store.put(numbered(1), OPTIONS, index)
    assert holds(store, numbered(1), index)
    store.close()
    assert store.get(numbered(1), OPTIONS) is None
    assert list(tmp_path.iterdir()) == []


def test_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_index_path() == str(tmp_path / "framefs" / "index.sqlite")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_index_path() == str(tmp_path / ".cache" / "framefs" / "index.sqlite")


def test_many_threads(path: Path, index: SourceIndex) -> None:
    store = IndexStore(str(path))
    faults: list[int] = []

    def run(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(20):
            n = rng.randrange(10)
            if rng.random() < 0.5:
                store.put(numbered(n), OPTIONS, index)
            found = store.get(numbered(n), OPTIONS)
            if found is not None and found.frame_count != index.frame_count:
                faults.append(n)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults
    store.close()


# --- damage ----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"this is no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_damaged_file_is_set_aside_once(
    path: Path, index: SourceIndex, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    store = IndexStore(str(path))
    with caplog.at_level(logging.INFO):
        assert store.get(numbered(1), OPTIONS) is None
        store.put(numbered(1), OPTIONS, index)
    assert holds(store, numbered(1), index)
    store.close()
    assert [p.read_bytes() for p in set_aside(path, "damaged")] == [content]
    assert len(caplog.records) == 1
    assert "set aside" in caplog.text


def test_older_versions_are_made_anew(path: Path, index: SourceIndex) -> None:
    store = IndexStore(str(path))
    store.put(numbered(1), OPTIONS, index)
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION - 1}")
    connection.close()
    store = IndexStore(str(path))
    assert store.get(numbered(1), OPTIONS) is None
    store.put(numbered(1), OPTIONS, index)
    store.close()
    assert holds(IndexStore(str(path)), numbered(1), index)


def test_newer_version_is_set_aside(
    path: Path, index: SourceIndex, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        connection.execute("CREATE TABLE sources (something TEXT)")
    connection.close()
    store = IndexStore(str(path))
    store.put(numbered(1), OPTIONS, index)
    assert holds(store, numbered(1), index)
    store.close()
    (kept,) = set_aside(path, "newer")
    with sqlite3.connect(kept) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION + 1,)
    connection.close()
    assert len(caplog.records) == 1


def test_database_of_another_program_is_left_alone(
    path: Path, index: SourceIndex, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE letters (text TEXT)")
    connection.close()
    before = path.read_bytes()
    store = IndexStore(str(path))
    store.put(numbered(1), OPTIONS, index)
    assert store.get(numbered(1), OPTIONS) is None
    store.close()
    assert path.read_bytes() == before
    assert "another program" in caplog.text
    assert len(caplog.records) == 1


@pytest.mark.parametrize("seed", range(12))
def test_random_damage_costs_time_only(path: Path, index: SourceIndex, seed: int) -> None:
    """Whatever bytes are hit: no exception, no other index, and it works again afterwards."""
    rng = random.Random(seed)
    store = IndexStore(str(path))
    for n in range(12):
        store.put(numbered(n), OPTIONS, index)
    store.close()
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 3, 40])):
        start = rng.randrange(len(content)) if rng.random() < 0.6 else rng.randrange(100)
        length = rng.choice([1, 4, 100, 3000])
        content[start : start + length] = rng.randbytes(min(length, len(content) - start))
    if rng.random() < 0.3:
        del content[rng.randrange(len(content)) :]
    path.write_bytes(content)
    store = IndexStore(str(path))
    for _ in range(2):
        for n in range(12):
            found = store.get(numbered(n), OPTIONS)
            if found is None:
                store.put(numbered(n), OPTIONS, index)
            else:
                assert found.to_bytes() == index.to_bytes()
    store.close()


def test_damage_while_in_use(path: Path, index: SourceIndex) -> None:
    store = IndexStore(str(path))
    store.put(numbered(1), OPTIONS, index)
    for suffix in ("", "-wal", "-shm"):
        file = Path(f"{path}{suffix}")
        if file.exists():
            file.write_bytes(b"\x55" * file.stat().st_size)
    for _ in range(3):
        for n in (1, 2):
            if store.get(numbered(n), OPTIONS) is None:
                store.put(numbered(n), OPTIONS, index)
    store.close()
    again = IndexStore(str(path))
    again.put(numbered(1), OPTIONS, index)
    assert holds(again, numbered(1), index)
    again.close()


def test_damaged_content_is_made_anew(
    path: Path, index: SourceIndex, caplog: pytest.LogCaptureFixture
) -> None:
    store = IndexStore(str(path))
    store.put(numbered(1), OPTIONS, index)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE sources SET content = zeroblob(length(content))")
    connection.close()
    assert store.get(numbered(1), OPTIONS) is None
    assert "made anew" in caplog.text
    store.put(numbered(1), OPTIONS, index)
    assert holds(store, numbered(1), index)
    store.close()


@pytest.mark.parametrize("where", ["/proc/framefs/index.sqlite", "/dev/null/index.sqlite"])
def test_place_that_cannot_be_written(
    where: str, index: SourceIndex, caplog: pytest.LogCaptureFixture
) -> None:
    store = IndexStore(where)
    for _ in range(3):
        store.put(numbered(1), OPTIONS, index)
        assert store.get(numbered(1), OPTIONS) is None
    store.close()
    assert len(caplog.records) == 1
    assert "index.path" in caplog.text


def test_directory_that_is_read_only(
    path: Path, index: SourceIndex, caplog: pytest.LogCaptureFixture, permissions: None
) -> None:
    path.parent.mkdir(mode=0o555)
    store = IndexStore(str(path))
    store.put(numbered(1), OPTIONS, index)
    assert store.get(numbered(1), OPTIONS) is None
    assert len(caplog.records) == 1


def test_damaged_file_that_cannot_be_set_aside(
    path: Path, index: SourceIndex, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database")
    Path(f"{path}.lock").mkdir()
    store = IndexStore(str(path))
    for _ in range(3):
        store.put(numbered(1), OPTIONS, index)
        assert store.get(numbered(1), OPTIONS) is None
    assert len(caplog.records) == 1
    assert path.read_bytes() == b"this is no database"


def test_path_that_is_a_directory(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.mkdir(parents=True)
    store = IndexStore(str(path))
    assert store.get(numbered(1), OPTIONS) is None
    assert store.get(numbered(2), OPTIONS) is None
    assert len(caplog.records) == 1


# --- several processes -----------------------------------------------------------------------

WORKER = """
import logging, random, sys
from decoder.index import SourceIndex
from decoder.store import IndexStore
from tests.decoder.test_store import OPTIONS, numbered
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
path, blob, seed = sys.argv[1:]
content = open(blob, "rb").read()
index = SourceIndex.from_bytes(content)
rng = random.Random(int(seed))
store = IndexStore(path)
found = 0
for _ in range(60):
    n = rng.randrange(20)
    if rng.random() < 0.5:
        store.put(numbered(n), OPTIONS, index)
    other = store.get(numbered(n), OPTIONS)
    if other is not None:
        assert other.to_bytes() == content
        found += 1
store.close()
print("found", found)
"""


def run_workers(path: Path, index: SourceIndex, count: int) -> list[str]:
    blob = path.parent.parent / "blob"
    blob.write_bytes(index.to_bytes())
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), str(blob), str(seed)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(count)
    ]
    said = []
    for worker in workers:
        out, err = worker.communicate(timeout=90)
        assert worker.returncode == 0, err
        said.append(out)
    return said


def test_processes_at_once(path: Path, index: SourceIndex) -> None:
    said = run_workers(path, index, 3)
    assert all(int(out.split()[-1]) > 10 for out in said)
    assert "set aside" not in "".join(said)
    assert list(path.parent.glob("*damaged*")) == []


def test_processes_that_find_the_same_damage(path: Path, index: SourceIndex) -> None:
    """One sets it aside, none loses the new one to another's clearing up."""
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 1000)
    Path(f"{path}-wal").write_bytes(b"nor is this")
    said = run_workers(path, index, 4)
    assert all(int(out.split()[-1]) > 10 for out in said)
    assert "".join(said).count("set aside") == 1
    assert len(set_aside(path, "damaged")) == 1
    store = IndexStore(str(path))
    assert any(holds(store, numbered(n), index) for n in range(20))
    store.close()


def test_after_a_fork_the_child_opens_it_for_itself(path: Path, index: SourceIndex) -> None:
    store = IndexStore(str(path))
    store.put(numbered(1), OPTIONS, index)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                store.put(numbered(2), OPTIONS, index)
                both = holds(store, numbered(1), index) and holds(store, numbered(2), index)
                store.close()
                status = 0 if both else 2
            finally:
                os._exit(status)
        store.put(numbered(3), OPTIONS, index)
        assert os.waitpid(child, 0)[1] == 0
        assert all(holds(store, numbered(n), index) for n in (1, 2, 3))
    store.close()
