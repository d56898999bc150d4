"""One clip: every peer reads every batch, in turn, and what comes is checked."""

from __future__ import annotations

import random
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.check import Reference, Verdict
from bench.patterns import Batch
from bench.remote import PeerDied, PeerFailed


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading of one batch by one peer.

    Attributes:
        ms, cpu_ms: of the call, by the clock and of the processor.
        counts: what `bench.peers.Peer.counts` grew by.
    """

    peer: str
    clip: str
    pattern: str
    batch: int
    repeat: int
    ms: float
    cpu_ms: float
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Fault:
    """A frame that is not what it should be, or (``frame`` is None) a call that failed."""

    peer: str
    clip: str
    frame: int | None
    what: str


@dataclass(slots=True)
class Check:
    """How the different images of one peer were found to be."""

    exact: int = 0
    close: int = 0
    wrong: int = 0
    least_psnr: float | None = None

    def add(self, verdict: Verdict) -> None:
        """Counts one more image."""
        setattr(self, verdict.kind, getattr(self, verdict.kind) + 1)
        if verdict.kind != "exact":
            least = self.least_psnr
            self.least_psnr = verdict.psnr if least is None else min(least, verdict.psnr)


@dataclass(slots=True)
class Results:
    """Everything that was measured and found."""

    samples: list[Sample] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    checks: dict[str, Check] = field(default_factory=dict)
    open_ms: dict[str, dict[str, float]] = field(default_factory=dict)
    profiles: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    floors: dict[str, dict[str, float]] = field(default_factory=dict)


class Asked(Protocol):
    """What is needed of a `bench.remote.Remote`."""

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """One request and its answer."""

    def image(self, place: int, shape: Sequence[int]) -> NDArray[np.uint8]:
        """One frame of the batch that was read last."""

    def close(self) -> None:
        """Ends it."""


class ClipRun:
    """Measures peers on one clip and adds to the results.

    A peer that fails is left out for the rest of the clip; what fails is a fault.

    Args:
        peers: those that still live; one that dies is taken out.
        clip, path: its name in the results, and the file.
    """

    def __init__(
        self,
        peers: MutableMapping[str, Asked],
        clip: str,
        path: str,
        reference: Reference,
        results: Results,
    ) -> None:
        self._peers = peers
        self._clip = clip
        self._path = path
        self._reference = reference
        self._results = results
        self._seen: dict[tuple[str, int, str], Verdict] = {}
        self._running = list(peers)

    def open(self, warm_up: Sequence[int]) -> None:
        """Opens the clip in every peer and reads one batch that does not count."""
        for name in list(self._running):
            answer = self._ask(name, "open", path=self._path)
            if answer is None:
                continue
            self._results.open_ms.setdefault(name, {})[self._clip] = answer["ms"]
            self._ask(name, "read", frames=list(warm_up))

    def repeat(
        self, number: int, batches: Sequence[Batch], seed: str, step: Callable[[], None]
    ) -> None:
        """One pass over all batches in a random order, each read by A B C, the next by B C A."""
        order = list(batches)
        random.Random(f"{seed} order {number}").shuffle(order)
        for turn, batch in enumerate(order):
            first = (turn + number) % max(1, len(self._running))
            for name in self._running[first:] + self._running[:first]:
                self._read(name, batch, number)
                step()

    def profile(self, name: str, batches: Sequence[Batch]) -> None:
        """Where the time of one peer goes, pattern by pattern; and the bare decoder's speed."""
        if name not in self._running:
            return
        by_pattern: dict[str, list[list[int]]] = {}
        for batch in batches:
            by_pattern.setdefault(batch.pattern, []).append(list(batch.frames))
        for pattern, frames in by_pattern.items():
            answer = self._ask(name, "profile", batches=frames)
            if answer is not None:
                del answer["bytes"]
                found = {"clip": self._clip, "batches": len(frames), **answer}
                self._results.profiles.setdefault(pattern, []).append(found)
        answer = self._ask(name, "floor", path=self._path)
        if answer is not None:
            del answer["bytes"]
            self._results.floors[self._clip] = answer

    def _read(self, name: str, batch: Batch, repeat: int) -> None:
        answer = self._ask(name, "read", frames=list(batch.frames))
        if answer is None:
            return
        self._results.samples.append(
            Sample(
                name,
                self._clip,
                batch.pattern,
                batch.number,
                repeat,
                answer["ms"],
                answer["cpu_ms"],
                answer["counts"],
            )
        )
        for place, (n, found) in enumerate(zip(batch.frames, answer["digests"], strict=True)):
            self._judge(name, place, n, found, answer["shape"])

    def _judge(self, name: str, place: int, n: int, digest: str, shape: list[int]) -> None:
        key = (name, n, digest)
        if key in self._seen:
            return
        if self._reference.is_exact(n, digest):
            verdict = Verdict("exact")
        else:
            verdict = self._reference.judge(n, self._peers[name].image(place, shape))
        self._seen[key] = verdict
        self._results.checks.setdefault(name, Check()).add(verdict)
        if not verdict.right:
            like = "" if verdict.shows is None else f", shows frame {verdict.shows}"
            self._fault(name, n, f"{verdict.psnr:.1f} dB{like}")

    def _ask(self, name: str, do: str, **request: Any) -> dict[str, Any] | None:
        try:
            return self._peers[name].ask(do, **request)
        except PeerFailed as error:
            self._running.remove(name)
            if isinstance(error, PeerDied):
                self._peers.pop(name).close()
            self._fault(name, None, f"{do}: {error}")
            return None

    def _fault(self, name: str, frame: int | None, what: str) -> None:
        self._results.faults.append(Fault(name, self._clip, frame, what))
