from __future__ import annotations

import pytest

from bench.patterns import STRIDES, batches, fits, span


def test_frames_of_a_batch_lie_as_the_pattern_says() -> None:
    for batch in batches(300, patterns=STRIDES, number=20, size=10, seed="a"):
        assert len(batch.frames) == 10
        assert batch.frames[0] >= 0
        assert batch.frames[-1] < 300
        steps = {b - a for a, b in zip(batch.frames, batch.frames[1:], strict=False)}
        stride = STRIDES[batch.pattern]
        if stride is None:
            assert min(steps) > 0, "ascending, none twice"
            assert len(steps) > 1
        else:
            assert steps == {stride}


def test_one_seed_gives_the_same_batches_and_another_gives_others() -> None:
    first = batches(300, patterns=STRIDES, number=5, size=10, seed="a")
    assert batches(300, patterns=STRIDES, number=5, size=10, seed="a") == first
    assert batches(300, patterns=STRIDES, number=5, size=10, seed="b") != first


def test_a_pattern_does_not_depend_on_which_others_are_measured() -> None:
    alone = batches(300, patterns=["random"], number=5, size=10, seed="a")
    among = batches(300, patterns=STRIDES, number=5, size=10, seed="a")
    assert alone == [batch for batch in among if batch.pattern == "random"]


def test_batches_are_numbered_within_their_pattern() -> None:
    made = batches(300, patterns=["stride5", "random"], number=3, size=10, seed="a")
    assert [(b.pattern, b.number) for b in made] == [
        *(("stride5", k) for k in range(3)),
        *(("random", k) for k in range(3)),
    ]


@pytest.mark.parametrize(("pattern", "least"), [("contiguous", 10), ("stride30", 271)])
def test_patterns_longer_than_the_clip_are_left_out(pattern: str, least: int) -> None:
    assert span(pattern, 10) == least
    assert fits(pattern, least, 10)
    assert not fits(pattern, least - 1, 10)
    assert len(batches(least, patterns=[pattern], number=2, size=10, seed="a")) == 2
    assert batches(least - 1, patterns=[pattern], number=2, size=10, seed="a") == []


def test_random_frames_need_as_many_as_are_drawn() -> None:
    assert fits("random", 10, 10)
    assert not fits("random", 9, 10)
