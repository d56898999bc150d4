"""What is common to all engines: a job, its items, and what comes of each."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_ItemIn = TypeVar("_ItemIn", contravariant=True)
_ResultOut = TypeVar("_ResultOut", covariant=True)

Counters: TypeAlias = "ctypes.Array[ctypes.c_uint64]"
"""Of one worker, shared with who watches it: signs of life, steps done, steps in all; and whether
it is to stop, which it is told."""

Watch: TypeAlias = Callable[[Item, int, int], None]
"""Gets an item that is worked at, the steps done of it and how many there are; now and then."""


class Pulse(threading.Event):
    """An event that counts how often it is asked for: whoever looks whether to stop is alive.

    Decoding asks before every packet.
    """

    def __init__(self, counters: Counters) -> None:
        super().__init__()
        self._counters = counters

    def is_set(self) -> bool:
        """Whether to stop; counted."""
        self._counters[0] += 1
        return bool(self._counters[3]) or super().is_set()

    def report(self, done: int, total: int) -> None:
        """Tells that ``done`` of ``total`` steps of the item are done; a sign of life too."""
        self._counters[0] += 1
        self._counters[1], self._counters[2] = done, total


class Job(Protocol[_ItemIn, _ResultOut]):
    """What is done for one item, in a process of its own; to be pickled, as are both."""

    def __call__(self, item: _ItemIn, pulse: Pulse) -> _ResultOut:
        """Does it."""


@dataclass(frozen=True, slots=True)
class Broken:
    """In place of a result: why there is none, in words.

    Attributes:
        lost: the process that had the item has died; another may fare better.
    """

    reason: str
    lost: bool = False


class Engine(Protocol):
    """Has a job done for many items."""

    def run(
        self, job: Job[Item, Result], items: Iterable[Item], watch: Watch[Item] | None = None
    ) -> Generator[tuple[Item, Result | Broken], None, None]:
        """Each item with what ``job`` returned for it, in the order in which they get done.

        Items are taken one by one, when somebody is free to begin. An item whose process died is
        tried again, as often as the engine is told to. Closing the iterator asks all who work to
        stop, gives them a few seconds to leave nothing behind, and ends them.
        """
