from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.peers import NAMES, Peer, load
from bench.peers.peer import words
from bench.peers.pyav import Reader as PyAV
from bench.peers.pyav_forward import Reader as Forward
from tests.clips import write_clip
from tests.oracle import full_decode

TOGETHER = ("framefs", "pyav", "opencv")
"""Libraries that do not mind each other in one process."""


@pytest.fixture(params=TOGETHER)
def peer(request: pytest.FixtureRequest) -> Peer:
    kind = load(request.param)
    found = kind.available()
    if found.why_not:
        pytest.skip(found.why_not)
    assert found.versions
    return kind()


@pytest.mark.parametrize("name", NAMES)
def test_every_peer_can_be_loaded_without_its_library(name: str) -> None:
    assert issubclass(load(name), Peer)


def test_frames_are_those_of_a_full_decode(peer: Peer, clip: Path) -> None:
    expected = np.stack(list(full_decode(clip)))
    source = random.Random(1)
    peer.open(str(clip))
    for size in (1, 2, 5, 10, 70):
        for _ in range(5):
            frames = sorted(source.sample(range(70), size))
            result = peer.read(frames)
            assert result.dtype == np.uint8
            np.testing.assert_array_equal(result, expected[frames])
    peer.close()


@pytest.mark.parametrize("container", ["mkv", "avi", "ts"])
def test_pyav_finds_frames_in_other_containers(tmp_path: Path, container: str) -> None:
    path = write_clip(tmp_path / f"clip.{container}", frames=40, gop=8, b_frames=0)
    expected = list(full_decode(path))
    reader = PyAV()
    reader.open(str(path))
    for n in (30, 7, 8, 39, 0):
        np.testing.assert_array_equal(reader.read([n])[0], expected[n])
    reader.close()


def pictures(reader: PyAV, frames: list[int]) -> int:
    before = reader.counts()["reconstructed"]
    read: NDArray[np.uint8] = reader.read(frames)
    assert len(read) == len(frames)
    return reader.counts()["reconstructed"] - before


def test_pyav_reads_targets_of_one_gop_in_one_pass(clip: Path) -> None:
    """GOPs of 15: what is given to the decoder ahead of the frames it shows is a few more."""
    reader = PyAV()
    reader.open(str(clip))
    ahead = 5
    assert pictures(reader, [31, 33, 35]) <= 6 + ahead
    assert 10 < pictures(reader, [40]) <= 11 + ahead, "from the key frame again"
    assert pictures(reader, [31]) <= 2 + ahead, "from the key frame again"
    assert pictures(reader, [1, 61]) <= 2 + 2 + 2 * ahead, "passes over the GOPs in between"
    reader.close()


def test_pyav_forward_goes_on_from_the_last_batch(clip: Path) -> None:
    reader = Forward()
    reader.open(str(clip))
    pictures(reader, [31, 33, 35])
    assert pictures(reader, [40]) <= 5
    assert pictures(reader, [31]) <= 7, "from the key frame again"
    reader.close()


def test_errors_are_told_in_one_short_line() -> None:
    assert words(ValueError("\n first \n second")) == "ValueError: first"
    assert len(words(ValueError("x" * 1000))) == 200
