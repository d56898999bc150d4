from __future__ import annotations

import threading
import time

from decoder.errors import DecodeFailed
from vfs.ahead import Ahead


def test_each_is_made_once_at_a_time() -> None:
    ahead: Ahead[int] = Ahead()
    go_on = threading.Event()
    made: list[int] = []

    def make() -> None:
        made.append(1)
        go_on.wait(10)

    for _ in range(5):
        ahead.make(1, make)
    time.sleep(0.1)
    assert made == [1]
    go_on.set()
    limit = time.monotonic() + 10
    while len(made) < 2 and time.monotonic() < limit:
        ahead.make(1, make)
        time.sleep(0.01)
    assert made == [1, 1]


def test_what_fails_is_left_to_whoever_reads_it() -> None:
    ahead: Ahead[int] = Ahead()
    done = threading.Event()

    def fail() -> None:
        raise DecodeFailed("no picture")

    ahead.make(1, fail)
    ahead.make(2, done.set)
    assert done.wait(10)


def test_no_more_wait_than_may() -> None:
    ahead: Ahead[int] = Ahead()
    go_on = threading.Event()
    made: list[int] = []

    def make() -> None:
        go_on.wait(10)
        made.append(1)

    for n in range(100):
        ahead.make(n, make)
    go_on.set()
    time.sleep(0.3)
    assert len(made) == 16
