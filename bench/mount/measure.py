"""One measurement: a loader reads windows from one kind of data, and what it cost."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.mount import filesystems
from bench.mount.accept import Accept
from bench.mount.data import Opened
from bench.mount.patterns import Window, dealt

_PROJECT = Path(__file__).parents[2]

_PATIENCE = 1800.0
"""Seconds that an epoch may take."""


class LoaderFailed(Exception):
    """The loader did not answer, or could not read; in its own words."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """All windows read once.

    Attributes:
        frames: so many.
        seconds: from the first worker's start to the last one's end.
        loader_cpu, server_cpu: seconds of processor, of the workers and of the filesystem.
        reconstructed, state_only: pictures; None where nobody tells.
        reads, opens: requests of the kernel to the filesystem; None where it does not tell.
        bytes_read: of videos.
        wrong: (clip, frame) of frames that are not what they should be.
    """

    frames: int
    seconds: float
    loader_cpu: float
    server_cpu: float | None = None
    reconstructed: int | None = None
    state_only: int | None = None
    bytes_read: int | None = None
    reads: int | None = None
    opens: int | None = None
    wrong: list[tuple[str, int]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Frames a second."""
        return self.frames / self.seconds


class Loader:
    """The loader's process.

    Args:
        made: the windows, dealt out to ``workers`` processes.
        accept: says whether a frame is right.
    """

    def __init__(
        self,
        opened: Opened,
        made: Sequence[Window],
        workers: int,
        shape: tuple[int, int, int],
        accept: Accept,
    ) -> None:
        self._opened = opened
        self._shares = [share for share in dealt(made, workers) if share]
        self._shape = shape
        self._accept = accept

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Starts the workers, which have their memory and modules when this is entered."""
        path = os.pathsep.join([str(_PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.mount.loader"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        work = [
            [
                ([self._opened.file(window.clip, n) for n in window.frames], window.frames)
                for window in share
            ]
            for share in self._shares
        ]
        request = {
            "opener": self._opened.data.opener,
            "work": work,
            "shape": self._shape,
            "patience": _PATIENCE,
        }
        try:
            self._ask(json.dumps(request))
            yield
        finally:
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def epoch(self) -> Epoch:
        """Reads everything once. Raises LoaderFailed."""
        before = self._told()
        workers = self._ask("{}")["workers"]
        after = self._told()
        for worker in workers:
            if "error" in worker:
                raise LoaderFailed(worker["error"])
        told = {name: after[name] - before[name] for name in after}
        for worker in workers:
            for name, count in worker["counts"].items():
                told[name] = told.get(name, 0) + count
        began = min(worker["began"] for worker in workers)
        return Epoch(
            frames=sum(len(window.frames) for share in self._shares for window in share),
            seconds=max(worker["ended"] for worker in workers) - began,
            loader_cpu=sum(worker["cpu"] for worker in workers),
            wrong=self._wrong(workers),
            **told,
        )

    def _wrong(self, workers: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
        wrong: list[tuple[str, int]] = []
        for share, worker in zip(self._shares, workers, strict=True):
            frames = [(window.clip, n) for window in share for n in window.frames]
            digests = zip(frames, worker["digests"], strict=True)
            wrong += [(clip, n) for (clip, n), found in digests if not self._accept(clip, n, found)]
        return wrong

    def _told(self) -> dict[str, Any]:
        """Counts of the filesystem that only grow."""
        opened = self._opened
        if opened.process is None:
            return {}
        cpu = {"server_cpu": filesystems.processor_seconds(opened.process)}
        if opened.data.server != "framefs":
            return cpu
        found = filesystems.statistics(opened.root)
        operations, pictures = found["fuse"]["operations"], found["pictures"]
        counts = {name: operations.get(name, {"count": 0})["count"] for name in ("read", "open")}
        return {
            **cpu,
            "reconstructed": sum(
                pictures[why] for why in ("target", "read_ahead", "waste", "reference")
            ),
            "state_only": pictures["state_only"],
            "bytes_read": found["sources"]["bytes_read"],
            "reads": counts["read"],
            "opens": counts["open"],
        }

    def _ask(self, line: str) -> dict[str, Any]:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write(line + "\n")
            requests.flush()
            answer = answers.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise LoaderFailed(f"its process ended with {self._process.wait()}")
        found: dict[str, Any] = json.loads(answer)
        return found
