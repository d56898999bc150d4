from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.check import Reference
from bench.measure import Asked, ClipRun, Results
from bench.patterns import Batch
from bench.remote import PeerDied, PeerFailed
from bench.worker import digest
from tests.oracle import full_decode

BATCHES = [Batch("random", k, (2 * k, 2 * k + 5)) for k in range(4)]


class Fake:
    """Answers as a worker does; ``shift`` makes it show other frames than those asked for."""

    def __init__(
        self, name: str, frames: list[NDArray[np.uint8]], calls: list[str], shift: int = 0
    ) -> None:
        self.name = name
        self.frames = frames
        self.calls = calls
        self.shift = shift
        self.fails: PeerFailed | None = None
        self.closed = False
        self.last: list[NDArray[np.uint8]] = []

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        if do != "read":
            return {"ms": 7.0, "bytes": 0}
        if self.fails is not None:
            raise self.fails
        self.calls.append(self.name)
        self.last = [self.frames[n + self.shift] for n in request["frames"]]
        return {
            "ms": 1.0,
            "cpu_ms": 1.0,
            "counts": {},
            "shape": list(self.last[0].shape),
            "digests": [digest(image) for image in self.last],
        }

    def image(self, place: int, shape: Sequence[int]) -> NDArray[np.uint8]:
        return self.last[place].reshape(shape)

    def close(self) -> None:
        self.closed = True


class Bench:
    """A run on ``clip`` with fakes."""

    def __init__(self, clip: Path) -> None:
        self.calls: list[str] = []
        frames = list(full_decode(clip))
        self.fakes = {name: Fake(name, frames, self.calls) for name in "ABC"}
        self.peers: dict[str, Asked] = dict(self.fakes)
        self.results = Results()
        asked = [n for batch in BATCHES for n in batch.frames]
        reference = Reference(str(clip), asked, least=40)
        self.run = ClipRun(self.peers, "clip", str(clip), reference, self.results)
        self.steps = 0

    def step(self) -> None:
        self.steps += 1


@pytest.fixture
def bench(clip: Path) -> Bench:
    made = Bench(clip)
    made.run.open(BATCHES[0].frames)
    made.calls.clear()
    return made


def test_peers_take_turns_and_nobody_is_always_first(bench: Bench) -> None:
    bench.run.repeat(0, BATCHES, "seed", bench.step)
    turns = ["".join(bench.calls[k : k + 3]) for k in range(0, 12, 3)]
    assert turns == ["ABC", "BCA", "CAB", "ABC"]
    assert bench.steps == 12


def test_each_pass_has_an_order_of_its_own_the_same_for_all(bench: Bench) -> None:
    for k in range(6):
        bench.run.repeat(k, BATCHES, "seed", bench.step)
    orders = {
        tuple(s.batch for s in bench.results.samples if (s.repeat, s.peer) == (k, "A"))
        for k in range(6)
    }
    assert len(orders) > 1
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    for s in bench.results.samples[::3]:
        assert {x.batch for x in bench.results.samples if x.repeat == s.repeat} == {0, 1, 2, 3}


def test_the_warm_up_does_not_count(bench: Bench) -> None:
    assert bench.results.samples == []
    assert bench.results.open_ms == {name: {"clip": 7.0} for name in "ABC"}


def test_right_frames_are_counted_once(bench: Bench) -> None:
    bench.run.repeat(0, BATCHES, "seed", bench.step)
    bench.run.repeat(1, BATCHES, "seed", bench.step)
    asked = {n for batch in BATCHES for n in batch.frames}
    assert bench.results.checks["A"].exact == len(asked)
    assert bench.results.faults == []


def test_wrong_frames_are_faults_that_name_what_is_shown(bench: Bench) -> None:
    bench.fakes["B"].shift = 1
    bench.run.repeat(0, BATCHES[:1], "seed", bench.step)
    found = {(f.peer, f.frame): f.what for f in bench.results.faults}
    assert set(found) == {("B", 0), ("B", 5)}
    assert found["B", 0].endswith("shows frame 1")
    assert (bench.results.checks["B"].wrong, bench.results.checks["A"].wrong) == (2, 0)


def test_a_frame_that_is_wrong_only_in_a_later_pass_is_found(bench: Bench) -> None:
    bench.run.repeat(0, BATCHES[:1], "seed", bench.step)
    bench.fakes["B"].shift = 1
    bench.run.repeat(1, BATCHES[:1], "seed", bench.step)
    assert {f.peer for f in bench.results.faults} == {"B"}


def test_a_peer_that_fails_is_left_out_of_the_clip(bench: Bench) -> None:
    bench.fakes["B"].fails = PeerFailed("no such frame")
    bench.run.repeat(0, BATCHES, "seed", bench.step)
    assert [(f.peer, f.frame, f.what) for f in bench.results.faults] == [
        ("B", None, "read: no such frame")
    ]
    assert set(bench.peers) == set("ABC"), "it may do better with the next clip"
    assert {s.peer for s in bench.results.samples} == {"A", "C"}
    assert len(bench.results.samples) == 8


def test_a_peer_that_dies_is_left_out_for_good(bench: Bench) -> None:
    bench.fakes["B"].fails = PeerDied("its process ended")
    bench.run.repeat(0, BATCHES, "seed", bench.step)
    assert set(bench.peers) == set("AC")
    assert bench.fakes["B"].closed
