"""Requests of the kernel: how many of each kind have come, and how long they took."""

from __future__ import annotations

from collections.abc import Iterable

from decoder.statistics import Histogram, Latency


class Requests:
    """Those of one kind. Any thread may count, without a lock: see `Histogram`.

    Attributes:
        arrived: how many have come.
        answered: how long each took, with success or not.
    """

    __slots__ = ("answered", "arrived")

    def __init__(self) -> None:
        self.arrived = 0
        self.answered = Histogram()


class Traffic:
    """All requests, by the names that libfuse has for them.

    A look-up comes as ``getattr`` of its path; what the kernel's caches answer does not come.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._kinds: dict[str, Requests] = {name: Requests() for name in names}

    def of(self, name: str) -> Requests:
        """The requests of one kind."""
        return self._kinds.setdefault(name, Requests())

    @property
    def arrived(self) -> dict[str, int]:
        """How many of each kind have come; without those of which none has."""
        counts = {name: kind.arrived for name, kind in list(self._kinds.items())}
        return {name: count for name, count in counts.items() if count}

    @property
    def latencies(self) -> dict[str, Latency]:
        """How long those of each kind took; without those of which none has been answered."""
        found = {name: kind.answered.latency for name, kind in list(self._kinds.items())}
        return {name: latency for name, latency in found.items() if latency.count}

    @property
    def in_progress(self) -> int:
        """How many are being answered now."""
        answered = sum(latency.count for latency in self.latencies.values())
        return max(0, sum(self.arrived.values()) - answered)
