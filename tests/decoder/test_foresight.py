from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import islice

import pytest

from decoder.corpus import Fingerprint, Source
from decoder.foresight import Foresight

A, B = (Source(f"/corpus/{name}.mp4", Fingerprint(1, 1)) for name in "ab")


class Reading:
    """Asks for frames, and counts what was foretold of them."""

    def __init__(self) -> None:
        self.foresight = Foresight()
        self.known: set[tuple[int, Source, int]] = set()
        self.asked = self.foretold = self.right = 0

    def ask(self, source: Source, n: int, process: int = 1) -> None:
        outlook = self.foresight.ask(source, n, process)
        self.asked += 1
        self.right += (process, source, n) in self.known
        for k in range(1, outlook.ahead + 1):
            frame = (process, source, n + k * outlook.stride)
            self.foretold += frame not in self.known
            self.known.add(frame)

    def window(self, source: Source, frames: Iterable[int], process: int = 1) -> None:
        for n in frames:
            self.ask(source, n, process)


def windows(stride: int, length: int = 10, seed: int = 1) -> Iterator[tuple[Source, range]]:
    rng = random.Random(seed)
    while True:
        first = rng.randrange(100_000)
        yield rng.choice((A, B)), range(first, first + length * stride, stride)


@pytest.mark.parametrize("stride", [1, 3, 5, 30])
def test_windows_are_known_from_their_first_frame_once_there_were_two(stride: int) -> None:
    foresight = Foresight()
    source = windows(stride)
    for _ in range(2):
        clip, frames = next(source)
        outlooks = [foresight.ask(clip, n, 1) for n in frames]
        assert outlooks[0].ahead == 0
        sure = outlooks[1:] if stride < 10 else outlooks[2:]
        assert {one.stride for one in sure} == {stride}
        assert all(one.ahead > 0 and not one.length for one in sure)
    foresight.ask(A, 500_000, 1)  # the second one has ended
    for _ in range(20):
        clip, frames = next(source)
        first, *others = [foresight.ask(clip, n, 1) for n in frames]
        assert (first.stride, first.ahead, first.length) == (stride, 9, 10)
        assert not any(one.ahead for one in others)


def test_another_process_is_known_by_what_others_did() -> None:
    foresight = Foresight()
    source = windows(1)
    for process in (1, 2, 3):
        clip, frames = next(source)
        for n in frames:
            foresight.ask(clip, n, process)
        foresight.ask(A, 500_000, process)
    assert foresight.ask(B, 7, 99).length == 10


def test_a_stride_is_known_before_any_walk_has_ended() -> None:
    foresight = Foresight()
    for n in range(0, 15, 5):
        foresight.ask(A, n, 1)
    assert foresight.ask(B, 70, 2).stride == 5
    assert foresight.ask(B, 70, 3).ahead == 0


def test_a_walk_through_a_whole_source_has_no_end() -> None:
    reading = Reading()
    for source in (A, B, A, B):
        reading.window(source, range(300))
    assert reading.right > 0.97 * reading.asked
    assert reading.foretold < 1.05 * reading.asked
    assert reading.foresight.ask(A, 0, 1).length == 0


@pytest.mark.parametrize("seed", range(5))
def test_next_to_nothing_is_foretold_of_single_frames(seed: int) -> None:
    rng = random.Random(seed)
    reading = Reading()
    for _ in range(2000):
        reading.ask(rng.choice((A, B)), rng.randrange(300))
    assert reading.foretold - reading.right < 0.02 * reading.asked


@pytest.mark.parametrize("seed", range(5))
def test_next_to_nothing_is_foretold_of_random_frames_of_an_episode(seed: int) -> None:
    rng = random.Random(seed)
    reading = Reading()
    for _ in range(100):
        reading.window(rng.choice((A, B)), sorted(rng.sample(range(300), 10)))
    assert reading.foretold - reading.right < 0.05 * reading.asked


@pytest.mark.parametrize("seed", range(5))
def test_windows_of_any_length_waste_little(seed: int) -> None:
    rng = random.Random(seed)
    reading = Reading()
    for _ in range(200):
        first = rng.randrange(100_000)
        reading.window(rng.choice((A, B)), range(first, first + rng.randrange(8, 40)))
    assert reading.foretold - reading.right < 0.15 * reading.asked
    assert reading.right > 0.5 * reading.asked


def test_foretelling_comes_back_when_it_would_have_been_right() -> None:
    rng = random.Random(1)
    reading = Reading()
    for _ in range(50):
        reading.window(A, sorted(rng.sample(range(300), 10)))
    before = reading.right
    source = windows(1)
    for _ in range(40):
        reading.window(*next(source))
    assert reading.right - before > 150


def test_walks_of_one_process_that_take_turns_are_told_apart() -> None:
    """Threads of one process, or processes that cannot be told apart."""
    foresight = Foresight()
    outlooks = [
        foresight.ask((A, B)[walk % 2], 1000 * walk + 2 * step, 0)
        for step in range(40)
        for walk in range(4)
    ]
    late = outlooks[-80:]
    assert {one.stride for one in late} == {2}
    assert all(one.ahead and one.left is None for one in late)


def test_a_frame_asked_for_again_is_no_step() -> None:
    foresight = Foresight()
    for n in (5, 5, 5, 6, 6, 7):
        outlook = foresight.ask(A, n, 1)
    assert outlook.stride == 1
    assert foresight.ask(A, 7, 1).stride == 0


def test_whoever_leaves_a_source_is_told() -> None:
    foresight = Foresight()
    assert foresight.ask(A, 5, 1).left is None
    assert foresight.ask(B, 5, 1).left == A
    assert foresight.ask(B, 6, 1).left is None
    assert foresight.ask(A, 0, 1).left == B


def test_processes_beyond_number_are_forgotten() -> None:
    foresight = Foresight()
    for process in range(5000):
        foresight.ask(A, 1, process)
    assert len(vars(foresight)["_processes"]) <= 1024


def test_processes_that_go_through_a_source_together() -> None:
    foresight = Foresight()
    together = []
    for clip in (A, B):
        for start in range(0, 400, 10):
            process = start // 10 % 4
            frames = range(start, start + 10)
            together += [foresight.ask(clip, n, process).together for n in frames]
    assert not any(together[:60])
    assert all(together[100:])


def test_shuffled_windows_are_not_taken_for_one_walk() -> None:
    foresight = Foresight()
    together = 0
    for k, (clip, frames) in enumerate(islice(windows(1), 300)):
        for n in frames:
            together += foresight.ask(clip, n, k % 4).together
    assert together <= 30


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_single_frames_that_are_close_by_chance_are_no_walks(seed: int) -> None:
    rng = random.Random(seed)
    foresight = Foresight()
    strides = 0
    for _ in range(400):
        strides += foresight.ask(rng.choice((A, B)), rng.randrange(300), 1).stride > 0
    assert strides <= 12
