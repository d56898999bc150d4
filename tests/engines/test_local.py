from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from engines import Broken, Local, Pulse
from tests.cli.commands import ROOT, eventually, is_running


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
    return dict(Local(processes, patience).run(Misbehaving(), items))


def test_accidents_cost_their_own_item_only() -> None:
    found = results(range(10))
    assert {n: found[n] for n in (0, 1, 2, 7, 8, 9)} == {n: n * n for n in (0, 1, 2, 7, 8, 9)}
    assert found[3] == Broken("the process that had it ended with status 7", lost=True)
    assert found[4] == Broken("the process that had it ended by SIGKILL", lost=True)
    assert found[5] == Broken("an unexpected ValueError: five")
    assert found[6] == Broken("no progress for 1 s; given up")


def test_nothing_to_do() -> None:
    assert results([]) == {}


def test_closing_ends_the_processes() -> None:
    running = Local(2, 100).run(Misbehaving(), [1, 6])
    assert next(running) == (1, 1)
    began = time.monotonic()
    running.close()
    assert time.monotonic() - began < 5


class Tidy:
    """Begins a file, waits to be asked to stop, and takes it away again."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self, item: int, pulse: Pulse) -> int:
        if item == 0:
            return item
        self._file.touch()
        while not pulse.is_set():
            time.sleep(0.01)
        self._file.unlink()
        return item


def test_who_is_asked_to_stop_may_tidy_up(tmp_path: Path) -> None:
    file = tmp_path / "file"
    running = Local(2, 100).run(Tidy(file), [1, 0])
    assert next(running) == (0, 0)
    eventually(file.exists, 20)
    running.close()
    assert not file.exists()


class Fragile:
    """Notes each attempt in a file of the item's; the process dies of all but the last."""

    def __init__(self, folder: Path, deaths: int) -> None:
        self._folder = folder
        self._deaths = deaths

    def __call__(self, item: int, pulse: Pulse) -> int:
        with open(self._folder / str(item), "a") as file:
            file.write("x")
        attempt = (self._folder / str(item)).stat().st_size
        if attempt <= self._deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        return attempt


def test_what_a_process_died_of_is_tried_again(tmp_path: Path) -> None:
    job = Fragile(tmp_path, deaths=1)
    assert dict(Local(2, 100, attempts=2).run(job, range(4))) == dict.fromkeys(range(4), 2)


def test_but_not_for_ever(tmp_path: Path) -> None:
    job = Fragile(tmp_path, deaths=9)
    ((_, result),) = Local(1, 100, attempts=2).run(job, [1])
    assert result == Broken("the process that had it ended by SIGKILL", lost=True)
    assert (tmp_path / "1").stat().st_size == 2


class Stepping:
    """Reports steps."""

    def __call__(self, item: int, pulse: Pulse) -> int:
        pulse.report(item, 10)
        time.sleep(1)
        return item


def test_steps_are_seen_while_they_are_done() -> None:
    seen = set()
    for _ in Local(1, 100).run(Stepping(), [3, 4], lambda *told: seen.add(told)):
        pass
    assert {(3, 3, 10), (4, 4, 10)} <= seen <= {(3, 0, 0), (3, 3, 10), (4, 0, 0), (4, 4, 10)}


def test_items_are_taken_when_somebody_is_free() -> None:
    taken = []

    def items() -> Iterable[int]:
        for n in range(10):
            taken.append(n)
            yield n

    running = Local(2, 100).run(Misbehaving(), items())
    next(running)
    assert len(taken) <= 4
    running.close()


class Endless:
    """Says who works, and never ends."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self, item: int, pulse: Pulse) -> None:
        with open(self._file, "a") as file:
            file.write(f"{os.getpid()}\n")
        while not pulse.is_set():
            time.sleep(0.05)


def test_processes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    said = tmp_path / "said"
    program = f"""
from pathlib import Path
from engines import Local
from tests.engines.test_local import Endless
if __name__ == "__main__":
    list(Local(2, 100).run(Endless(Path({str(said)!r})), [1, 2]))
"""
    script = tmp_path / "program.py"
    script.write_text(program)
    with subprocess.Popen(
        [sys.executable, script], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as process:
        try:
            eventually(lambda: said.exists() and len(said.read_text().split()) == 2, 40)
        finally:
            process.kill()
    workers = [int(number) for number in said.read_text().split()]
    eventually(lambda: not any(is_running(worker) for worker in workers))
