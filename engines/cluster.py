"""A Ray cluster, whose machines may come and go. Ray is met here only."""

from __future__ import annotations

import contextlib
import importlib.metadata
import signal
import socket
import sys
import uuid
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engines.engine import Broken, Item, Job, Result, Watch
from engines.local import Worker, stop

_LOOK = 0.5
"""Seconds between two moments at which an interrupt is heeded."""

_END = 10.0
"""Seconds for tasks to end that were told to."""

_QUEUED = 2
"""Items handed over for each processor: a cluster that can grow does so for what waits."""

_SAME = ("framefs", "av", "numpy")
"""Packages that make a result what it is; of one version on all machines."""

_workers: dict[str, Worker[Any, Any]] = {}
"""On a machine of the cluster: the process that did the last item of a run."""


class NoCluster(Exception):
    """Ray is not installed, or there is no cluster to be reached; says what to do."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An `engines.engine.Engine` of a Ray cluster.

    One processor has one item, in a process below that of Ray: what dies of an item, or hangs,
    is told from what is lost with a machine. Files are found at the same paths on all machines.
    Of steps done nothing is heard. While it runs, what is printed goes to stderr.

    Args:
        address: of the cluster, as `ray.init` has it; "auto": that of RAY_ADDRESS, or of this
            machine.
        patience: seconds, see `engines.local.Local`.
        most: items at once; by default as many as the cluster has processors.
        attempts: how many processes or machines may be lost with one item, at least 1.
    """

    address: str
    patience: float
    most: int | None = None
    attempts: int = 4

    def run(
        self, job: Job[Item, Result], items: Iterable[Item], watch: Watch[Item] | None = None
    ) -> Generator[tuple[Item, Result | Broken], None, None]:
        """See `engines.engine.Engine`.

        Raises:
            NoCluster: there is none.
        """
        with _connected(self.address) as ray:
            remote = ray.remote(num_cpus=1, max_retries=0)(_do)
            context = (uuid.uuid4().hex, _versions(), ray.put(job), self.patience)
            first = ((item, 1) for item in items)
            again: deque[tuple[Item, int]] = deque()
            flying: dict[Any, tuple[Item, int]] = {}
            try:
                while True:
                    room = self.most or _QUEUED * max(1, int(ray.cluster_resources().get("CPU", 1)))
                    while len(flying) < room:
                        task = again.popleft() if again else next(first, None)
                        if task is None:
                            break
                        flying[remote.remote(*context, task[0])] = task
                    if not flying:
                        return
                    done, _ = ray.wait(list(flying), timeout=_LOOK)
                    for reference in done:
                        item, attempt = flying.pop(reference)
                        result = _result(ray, reference)
                        if isinstance(result, Broken) and result.lost and attempt < self.attempts:
                            again.append((item, attempt + 1))
                        else:
                            yield item, result
            finally:
                _cancel(ray, list(flying))


def _cancel(ray: Any, tasks: list[Any]) -> None:
    """Ends tasks: those who work are asked first, and may tidy up."""
    for force in (False, True):
        for task in tasks:
            ray.cancel(task, force=force)
        if tasks:
            _, tasks = ray.wait(tasks, num_returns=len(tasks), timeout=_END)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        return Broken(f"an unexpected {type(error.cause).__name__}: {error.cause}")
    except ray.exceptions.RayError as error:
        words = str(error).strip().splitlines() or [type(error).__name__]
        return Broken(f"lost with its machine: {words[0]}", lost=True)


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Ray, connected with the cluster at ``address``."""
    try:
        import ray  # which takes its time, and not everybody has
    except ImportError as error:
        raise NoCluster(f"needs Ray ({error}); pip install 'framefs[cluster]'") from error
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (OSError, RuntimeError, ValueError) as error:
        raise NoCluster(
            f"no Ray cluster at {address}: {error}; start one with ray start --head"
        ) from error
    with contextlib.suppress(ValueError):  # not the main thread, where Ray sets no handler either
        signal.signal(signal.SIGTERM, handler)
    try:
        # Threads of Ray print what becomes of machines, in between what commands print.
        with contextlib.redirect_stdout(sys.stderr):
            yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raises OSError if nobody answers there; Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_END).close()


def _versions() -> dict[str, str]:
    found = {}
    for name in _SAME:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _do(run: str, versions: dict[str, str], job: Job[Any, Any], patience: float, item: Any) -> Any:
    """What a machine of the cluster does for one item; keeps its process for the next one."""
    if (here := _versions()) != versions:
        theirs, ours = (
            ", ".join(f"{name} {version}" for name, version in found.items())
            for found in (here, versions)
        )
        return Broken(f"{socket.gethostname()} has {theirs}, not {ours}; install the same there")
    worker = _workers.pop(run, None) or Worker(job)
    try:
        result = worker.do(item, patience)
    except KeyboardInterrupt:  # the task is cancelled
        stop([worker])
        raise
    if worker.alive:
        _workers[run] = worker
    else:
        worker.end()
    return result
