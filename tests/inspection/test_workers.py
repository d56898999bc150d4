from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

from inspection.workers import Broken, Pulse, work_through


class Misbehaving:
    """Squares numbers, with accidents at some."""

    def __call__(self, item: int, pulse: Pulse) -> int:
        if item == 3:
            os._exit(7)
        if item == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        if item == 5:
            raise ValueError("five")
        if item == 6:
            time.sleep(1000)
        if item == 7:
            for _ in range(20):  # longer than anybody's patience, but alive
                time.sleep(0.1)
                pulse.is_set()
        return item * item


def results(items: Iterable[int], processes: int = 2, patience: float = 1) -> dict[int, object]:
    done = work_through(Misbehaving(), items, processes=processes, patience=patience)
    return dict(done)


def test_accidents_cost_their_own_item_only() -> None:
    found = results(range(10))
    assert {n: found[n] for n in (0, 1, 2, 7, 8, 9)} == {n: n * n for n in (0, 1, 2, 7, 8, 9)}
    assert found[3] == Broken("the process that had it ended with status 7")
    assert found[4] == Broken("the process that had it ended by SIGKILL")
    assert found[5] == Broken("an unexpected ValueError: five")
    assert found[6] == Broken("no progress for 1 s; given up")


def test_nothing_to_do() -> None:
    assert results([]) == {}


def test_closing_ends_the_processes() -> None:
    running = work_through(Misbehaving(), [1, 6], processes=2, patience=100)
    assert next(running) == (1, 1)
    began = time.monotonic()
    running.close()
    assert time.monotonic() - began < 5
