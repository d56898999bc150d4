"""The real commands on a real cluster of two nodes, one of which is killed in the middle."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decoder.corpus import source_at
from decoder.indexing import Indexer
from decoder.store import IndexStore
from encoder.settings import Settings
from encoder.unit import transcode
from tests.cli.commands import FRAMEFS, eventually, run, the_line
from tests.cli.test_transcode import QUICK, hidden_in, lines_of, results_in, started
from tests.clips import write_clip
from tests.clusters import two_nodes

pytestmark = pytest.mark.timeout(300)

COUNT = 12


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, Any, Any]]:
    with two_nodes() as found:
        yield found


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    for n in range(COUNT):
        write_clip(folder / f"{n}.mkv", frames=150, size=(128, 96), version=n)
    return folder


def test_indexes_are_made_there_and_kept_here(
    cluster: tuple[str, Any, Any], videos: Path, tmp_path: Path
) -> None:
    store = tmp_path / "index.sqlite"
    there = ("--index", store, "--engine", "ray", "--address", cluster[0])
    (tmp_path / "noise.mkv").write_bytes(b"no video" * 100)
    assert run(*FRAMEFS, "index", videos / "0.mkv", "--index", store).returncode == 0
    result = run(*FRAMEFS, "index", videos, *there, timeout=120)
    assert result.returncode == 0, result
    assert f"{COUNT} sources with 1,800 frames indexed, 1 of them before" in result.stdout
    indexer = Indexer(IndexStore(str(store)))
    assert all(indexer.keeps(source_at(str(path))) for path in videos.iterdir())
    result = run(*FRAMEFS, "index", tmp_path / "noise.mkv", *there, timeout=120)
    assert result.returncode == 1
    assert f"{tmp_path}/noise.mkv: cannot be opened as a video" in result.stdout
    result = run(*FRAMEFS, "index", videos / "1.mkv", "--hash", *there, timeout=120)
    assert result.returncode == 0, result
    found = indexer.stored(source_at(str(videos / "1.mkv")))
    assert found is not None
    assert len(found.frames.hash) == 150


def test_what_was_interrupted_goes_on(
    cluster: tuple[str, Any, Any], videos: Path, tmp_path: Path
) -> None:
    there = ("--engine", "ray", "--address", cluster[0])
    with started(videos, tmp_path, *QUICK, *there) as process:
        eventually(lambda: len(lines_of(tmp_path, "done")) >= 2, 100)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "the same command goes on from here" in errors
    assert hidden_in(tmp_path) == []
    done = len(lines_of(tmp_path, "done"))
    assert done < COUNT
    result = run(*FRAMEFS, "transcode", videos, tmp_path, *QUICK, timeout=120)
    assert result.returncode == 0, result
    assert f"{COUNT} videos encoded, {done} of them before" in result.stdout


def test_every_file_is_made_once_though_a_node_is_killed(
    cluster: tuple[str, Any, Any], videos: Path, tmp_path: Path
) -> None:
    address, nodes, second = cluster
    out = tmp_path / "out"
    with started(videos, out, *QUICK, "--engine", "ray", "--address", address) as process:
        eventually(lambda: len(lines_of(out, "done")) >= 3, 100)
        nodes.remove_node(second, allow_graceful=False)
        output, errors = process.communicate(timeout=200)
    assert process.returncode == 0, (output, errors)
    assert output.startswith(f"{COUNT} videos encoded\n")
    counts = Counter(str(line["target"]) for line in lines_of(out, "done"))
    assert counts == {f"{n}.mp4": 1 for n in range(COUNT)}
    assert hidden_in(out) == []
    for name, path in results_in(out).items():
        source = videos / name.replace(".mp4", ".mkv")
        transcode(
            str(source),
            str(tmp_path / "expected.mp4"),
            Settings.of_profile("fast", anchors="fixed"),
        )
        assert path.read_bytes() == (tmp_path / "expected.mp4").read_bytes()


def test_where_nothing_answers(videos: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    line = the_line(
        run(*FRAMEFS, "transcode", videos, tmp_path, "--engine", "ray", "--address", "127.0.0.1:1"),
        1,
    )
    assert "no Ray cluster at 127.0.0.1:1" in line
