from __future__ import annotations

import pytest

from bench.mount.patterns import PATTERNS, SIZE, Window, dealt, windows

COUNTS = {"a": 100, "b": 60}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_windows_lie_as_the_pattern_says(pattern: str) -> None:
    made = windows(pattern, COUNTS, number=3, seed="s")
    assert {window.clip for window in made} == {"a", "b"}
    for window in made:
        steps = {b - a for a, b in zip(window.frames, window.frames[1:], strict=False)}
        assert max(window.frames) < COUNTS[window.clip]
        match pattern:
            case "contiguous" | "whole":
                assert steps == {1}
            case "stride5":
                assert steps == {5}
            case "single":
                assert len(window.frames) == 1
    frames = sum(len(window.frames) for window in made)
    assert frames == 2 * 3 * SIZE
    assert made == windows(pattern, COUNTS, number=3, seed="s")
    if pattern != "whole":
        assert made != windows(pattern, COUNTS, number=3, seed="t")


def test_whole_clips_are_read_in_order_and_to_their_end() -> None:
    made = windows("whole", {"a": 25}, number=5, seed="s")
    assert [window.frames[0] for window in made] == [0, 10, 20]
    assert [n for window in made for n in window.frames] == list(range(25))


def test_clips_that_are_too_short_have_no_windows() -> None:
    assert windows("stride5", {"a": 40}, number=3, seed="s") == []
    assert len(windows("single", {"a": 4}, number=3, seed="s")) == 4


def test_windows_are_dealt_out_in_turn() -> None:
    made = [Window("a", (n,)) for n in range(7)]
    shares = dealt(made, 3)
    assert [window.frames[0] for window in shares[0]] == [0, 3, 6]
    assert sorted(w.frames[0] for share in shares for w in share) == list(range(7))
