from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfs.cache import ByteCache


def cache_of(budget: int) -> ByteCache[int, bytes]:
    return ByteCache(budget, len)


def forbidden() -> bytes:
    raise AssertionError("made again")


def test_what_is_held_is_not_made_again() -> None:
    cache = cache_of(100)
    assert cache.get(1, lambda: b"one") == b"one"
    assert cache.get(1, forbidden) == b"one"
    assert (cache.stats.hits, cache.stats.misses, cache.stats.size) == (1, 1, 3)


def test_the_least_recently_used_goes_first() -> None:
    cache = cache_of(30)
    for key in (1, 2, 3):
        cache.get(key, lambda: bytes(10))
    cache.get(1, forbidden)
    cache.get(4, lambda: bytes(10))
    cache.get(1, forbidden)
    with pytest.raises(AssertionError):
        cache.get(2, forbidden)
    assert cache.stats.evicted == 1


def test_what_is_larger_than_the_budget_is_returned_and_not_kept() -> None:
    cache = cache_of(10)
    cache.get(1, lambda: bytes(10))
    assert len(cache.get(2, lambda: bytes(11))) == 11
    cache.get(1, forbidden)
    assert cache.stats.oversized == 1
    assert cache.stats.size == 10


def test_a_failure_is_not_kept() -> None:
    cache = cache_of(10)
    with pytest.raises(AssertionError):
        cache.get(1, forbidden)
    assert cache.get(1, lambda: b"x") == b"x"


def test_many_askers_make_it_once_and_one_key_does_not_hold_up_another() -> None:
    cache = cache_of(100)
    go_on = threading.Event()
    made = []

    def make() -> bytes:
        made.append(1)
        assert go_on.wait(10)
        return b"slow"

    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(cache.get, 1, make) for _ in range(7)]
        while cache.stats.joined < 6:
            pass
        assert pool.submit(cache.get, 2, lambda: b"quick").result(10) == b"quick"
        go_on.set()
        assert {one.result(10) for one in waiting} == {b"slow"}
    assert len(made) == 1


def test_all_who_wait_learn_of_the_failure() -> None:
    cache = cache_of(100)
    go_on = threading.Event()

    def fail() -> bytes:
        assert go_on.wait(10)
        raise ValueError("no")

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(cache.get, 1, fail) for _ in range(4)]
        while cache.stats.joined < 3:
            pass
        go_on.set()
        for one in waiting:
            with pytest.raises(ValueError, match="no"):
                one.result(10)


@given(st.integers(0, 50), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60))))
def test_the_budget_is_never_exceeded(budget: int, requests: list[tuple[int, int]]) -> None:
    cache = cache_of(budget)
    for key, size in requests:
        cache.get(key, lambda size=size: bytes(size))  # type: ignore[misc]
        assert cache.stats.size <= budget


def test_a_raised_budget_sinks_to_its_own_again() -> None:
    cache = cache_of(10)
    cache.reserve(20)
    cache.get(1, lambda: bytes(20))
    cache.get(1, forbidden)
    cache.reserve(5)
    assert cache.stats.size == 0
    cache.get(1, lambda: bytes(10))
    cache.get(1, forbidden)
    cache.discard(1)
    assert cache.stats.size == 0
