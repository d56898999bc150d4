from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest

from decoder.crew import Crew, Job


@pytest.fixture
def crew() -> Iterator[Crew]:
    crew = Crew(threads=2, begun=4)
    yield crew
    crew.close()


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.002)


def counting(done: list[str], name: str, steps: int, seconds: float = 0.0) -> Job:
    for _ in range(steps):
        time.sleep(seconds)
        done.append(name)
        yield True


def test_jobs_are_done_by_few_threads(crew: Crew) -> None:
    done: list[str] = []
    before = threading.active_count()
    for n in range(50):
        crew.add(counting(done, str(n), 3))
    until(lambda: len(done) == 150)
    until(lambda: crew.load == (0, 0, 0))
    assert threading.active_count() - before <= 2


def test_a_long_job_does_not_keep_others_waiting(crew: Crew) -> None:
    done: list[str] = []
    for name in ("a", "b", "c"):
        crew.add(counting(done, name, 400, 0.005))
    crew.add(counting(done, "short", 1))
    until(lambda: "short" in done)
    assert len(done) < 200


def test_no_more_are_begun_than_may_be(crew: Crew) -> None:
    held = threading.Event()
    begun: list[int] = []

    def job(n: int) -> Job:
        begun.append(n)
        while not held.wait(0.005):
            yield True

    for n in range(10):
        crew.add(job(n))
    until(lambda: len(begun) == 4)
    time.sleep(0.1)
    assert len(begun) == 4
    assert crew.load == (4, 6, 0)
    held.set()
    until(lambda: len(begun) == 10)


def resting(done: list[str], name: str, closed: list[str]) -> Job:
    try:
        while True:
            done.append(name)
            yield False
    finally:
        closed.append(name)


def test_a_job_rests_until_it_is_woken(crew: Crew) -> None:
    done: list[str] = []
    job = resting(done, "a", [])
    crew.add(job)
    until(lambda: crew.load == (0, 0, 1))
    assert done == ["a"]
    crew.wake(job)
    until(lambda: done == ["a", "a"])


def test_waking_just_before_it_rests_is_not_lost(crew: Crew) -> None:
    due, done, inside = [1], [0], threading.Event()

    def job() -> Job:
        while True:
            while done[0] < due[0]:
                done[0] += 1
            inside.set()
            time.sleep(0.02)  # what is due now has been looked at
            yield False

    one = job()
    crew.add(one)
    for _ in range(20):
        assert inside.wait(10)
        inside.clear()
        due[0] += 1
        crew.wake(one)
        until(lambda: done[0] == due[0])


def test_the_one_that_has_rested_longest_is_closed(crew: Crew) -> None:
    done: list[str] = []
    closed: list[str] = []
    jobs = {name: resting(done, name, closed) for name in "abcde"}
    for name in "abcde":
        crew.add(jobs[name])
        until(lambda: len(done) == "abcde".index(name) + 1)  # noqa: B023
        time.sleep(0.02)
    until(lambda: closed == ["a"])
    crew.wake(jobs["a"])
    crew.wake(jobs["b"])
    until(lambda: done == [*"abcde", "b"])


def test_jobs_that_take_long_do_not_keep_others_from_beginning(crew: Crew) -> None:
    """Those that rest make room, and a woken one needs none."""
    done: list[str] = []
    closed: list[str] = []
    rest = [resting(done, name, closed) for name in "ab"]
    for place, one in enumerate(rest, 1):
        crew.add(one)
        until(lambda: crew.load == (0, 0, place))  # noqa: B023
    for name in ("long", "longer", "longest"):
        crew.add(counting(done, name, 3000, 0.002))
    until(lambda: {"long", "longer", "longest"} <= set(done))
    assert closed == ["a"]
    crew.wake(rest[1])
    until(lambda: done.count("b") == 2)
    assert done.count("longest") < 3000


def test_a_thread_that_is_stuck_is_replaced(crew: Crew) -> None:
    stuck = threading.Event()
    done: list[str] = []

    def job() -> Job:
        stuck.wait(30)
        yield True
        done.append("after")

    jobs = [job() for _ in range(4)]
    for one in jobs:
        crew.add(one)
    until(lambda: crew.load[0] == 4)
    crew.add(counting(done, "other", 1))
    time.sleep(0.1)
    assert not done
    for one in jobs[:2]:
        crew.forsake(one)
    # The other two are taken up by the threads in their place.
    time.sleep(0.05)
    for one in jobs[2:]:
        crew.forsake(one)
    until(lambda: "other" in done)
    stuck.set()
    time.sleep(0.1)
    assert done == ["other"]
    assert crew.load == (0, 0, 0)


def test_a_job_that_raises_is_logged_and_finished(
    crew: Crew, caplog: pytest.LogCaptureFixture
) -> None:
    def job() -> Job:
        yield True
        raise RuntimeError("out of the blue")

    done: list[str] = []
    crew.add(job())
    crew.add(counting(done, "next", 1))
    until(lambda: crew.load == (0, 0, 0))
    assert done == ["next"]
    assert "out of the blue" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_closing_ends_all(crew: Crew) -> None:
    done: list[str] = []
    closed: list[str] = []
    crew.add(resting(done, "a", closed))
    until(lambda: crew.load == (0, 0, 1))
    crew.add(counting(done, "long", 10**6, 0.001))
    crew.close()
    assert closed == ["a"]
    count = len(done)
    time.sleep(0.1)
    assert len(done) <= count + 1
    assert not crew.add(counting(done, "late", 1))
    time.sleep(0.05)
    assert "late" not in done


def test_no_more_hold_what_they_have_begun_with_than_there_may_be() -> None:
    # One at work, one that rests; a third would be begun while the first one waits for its turn.
    crew = Crew(threads=1, begun=2)
    begun: set[str] = set()
    most: list[int] = []
    free = {name: threading.Event() for name in "abc"}

    def job(name: str) -> Job:
        begun.add(name)
        most.append(len(begun))
        try:
            while True:
                free[name].wait(20)
                yield False
        finally:
            begun.discard(name)

    jobs = {name: job(name) for name in "abc"}
    free["a"].set()
    crew.add(jobs["a"])
    until(lambda: crew.load == (0, 0, 1))
    crew.add(jobs["b"])
    until(lambda: "b" in begun)
    crew.add(jobs["c"])
    crew.wake(jobs["a"])
    free["b"].set()
    free["c"].set()
    until(lambda: crew.load[:2] == (0, 0))
    assert max(most) <= 2
    crew.close()


def test_waking_in_the_last_turn_leaves_nothing(crew: Crew) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def job() -> Job:
        inside.set()
        go_on.wait(20)
        return
        yield True

    one = job()
    known = weakref.ref(one)
    crew.add(one)
    assert inside.wait(20)
    crew.wake(one)
    del one
    go_on.set()
    until(lambda: crew.load == (0, 0, 0))
    until(lambda: known() is None)


def test_others_go_on_while_threads_are_stalled(crew: Crew) -> None:
    free = threading.Event()

    def stuck() -> Job:
        free.wait()
        yield True

    jobs = [stuck(), stuck()]
    for job in jobs:
        crew.add(job)
    until(lambda: all(crew.is_stalled(job) for job in jobs))
    done: list[str] = []
    for name in ("a", "b", "c"):
        crew.add(counting(done, name, 2))
    crew.relieve()
    until(lambda: len(done) == 6)
    before = threading.active_count()
    free.set()
    until(lambda: crew.load == (0, 0, 0))
    until(lambda: threading.active_count() <= before - 2)  # two are enough


def test_threads_are_as_many_as_jobs_may_be_begun(crew: Crew) -> None:
    free = threading.Event()
    begun: list[int] = []

    def stuck() -> Job:
        begun.append(threading.get_ident())
        free.wait()
        yield True

    for _ in range(10):
        crew.add(stuck())
    limit = time.monotonic() + 1.5
    while time.monotonic() < limit:
        crew.relieve()
        time.sleep(0.01)
    assert len(begun) == len(set(begun)) == 4
    assert crew.load == (4, 6, 0)
    free.set()
    until(lambda: crew.load == (0, 0, 0))


@pytest.mark.parametrize("fails", [False, True])
def test_a_job_that_takes_long_to_close(fails: bool) -> None:
    crew = Crew(threads=1, begun=1)
    free, closing = threading.Event(), threading.Event()
    done: list[str] = []

    def job() -> Job:
        try:
            while True:
                yield False
        finally:
            closing.set()
            free.wait(20)
            if fails:
                raise OSError("the storage is gone")

    known = []
    for forsaken in (False, True):
        free.clear()
        closing.clear()
        one = job()
        known.append(weakref.ref(one))
        crew.add(one)
        until(lambda: crew.load == (0, 0, 1))
        crew.add(counting(done, "next", 1))
        assert closing.wait(20)
        crew.wake(one)  # it will not go on
        if forsaken:
            crew.forsake(one)
            until(lambda: len(done) == 2)
        del one
        free.set()
        until(lambda: crew.load == (0, 0, 0))
    if not fails:  # the log has the error, and so where it came from
        until(lambda: all(one() is None for one in known))
    # None is begun beyond those that may be.
    until(lambda: len(done) == 2)
    rest = [resting(done, name, []) for name in "ab"]
    for one in rest:
        crew.add(one)
    until(lambda: crew.load == (0, 0, 1))
    crew.close()
