"""What counting costs: ``python -m tests.counting``, the figures in docs/statistics.md.

Each is the difference between something done with and without its counting, in the best of many
short bursts: what the machine does besides lengthens most of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from decoder.corpus import Fingerprint, Source
from decoder.counters import Counters
from decoder.statistics import Statistics
from vfs.binding import load
from vfs.bridge import Hooks, Methods, Owner
from vfs.hidden import DIRECTORY
from vfs.traffic import Traffic

_BURST, _BURSTS = 200, 3000


def main() -> None:
    """The command."""
    statistics, counters = Statistics(), Counters()
    source = Source("/corpus/a.mp4", Fingerprint(1, 1))
    operations: Any = SimpleNamespace(releasedir=lambda handle: None)
    file = SimpleNamespace(contents=SimpleNamespace(fh=1))
    nothing = Hooks(lambda fuse: None, lambda: None)
    methods = Methods(load(), operations, Owner(0, 0, 0, 0), nothing, Traffic(), 64)
    answered = methods.guarded("releasedir")

    meter = statistics.work_of(source, counters)

    def request() -> None:
        counters.plan_seconds += 1e-4
        counters.read_seconds += 1e-4
        counters.decode_seconds += 1e-3
        meter.read()
        statistics.request(source, 0.01)

    def timed() -> None:
        began = time.perf_counter()
        counters.decode_seconds += time.perf_counter() - began

    def stage() -> None:
        began = time.perf_counter()
        statistics.stage("format", time.perf_counter() - began)

    hidden = DIRECTORY.encode()
    empty = _least(lambda: None)
    counted = _least(lambda: answered(b"/a", file))
    uncounted = _least(lambda: answered(hidden, file))
    for words, nanoseconds in (
        ("a request of the kernel", counted - uncounted),
        ("a request for a frame", _least(request) - empty),
        ("a stage outside the reader", _least(stage) - empty),
        ("a packet read, a call of the decoder", _least(timed) - empty),
    ):
        print(f"{nanoseconds:7.0f} ns  {words}")


def _least(call: Callable[[], object]) -> float:
    """Nanoseconds of one call."""
    best = float("inf")
    for _ in range(_BURSTS):
        began = time.perf_counter()
        for _ in range(_BURST):
            call()
        best = min(best, time.perf_counter() - began)
    return best / _BURST * 1e9


if __name__ == "__main__":
    main()
