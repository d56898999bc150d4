"""Which engine does the work, and how many at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from engines import Engine, Local
from engines.cluster import Cluster

_Command = TypeVar("_Command", bound=Callable[..., Any])

LOCAL, RAY = "local", "ray"


def job_options(command: _Command) -> _Command:
    """Adds ``--jobs`` and ``--patience``."""
    for option in (
        click.option(
            "--patience",
            type=click.FloatRange(1, 86400),
            default=300.0,
            show_default=True,
            metavar="SECONDS",
            help="Give up a video that shows no progress for so long.",
        ),
        click.option(
            "--jobs",
            "--workers",
            "jobs",
            type=click.IntRange(1, 100_000),
            metavar="N",
            help="So many at once; by default one per core.",
        ),
    ):
        command = option(command)
    return command


def engine_options(command: _Command) -> _Command:
    """Adds ``--engine`` and ``--address`` to those."""
    for option in (
        click.option(
            "--address",
            metavar="ADDR",
            help="Of the Ray cluster; by default RAY_ADDRESS, or the one on this machine.",
        ),
        click.option(
            "--engine",
            "engine",
            type=click.Choice([LOCAL, RAY]),
            default=LOCAL,
            show_default=True,
            help="Processes of this machine, or a Ray cluster that sees the same files.",
        ),
    ):
        command = option(command)
    return job_options(command)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def local(jobs: int | None, patience: float, attempts: int = 1) -> Engine:
    """Processes of this machine."""
    return Local(jobs or cores(), patience, attempts)


def chosen_engine(
    name: str, address: str | None, jobs: int | None, patience: float, attempts: int = 1
) -> Engine:
    """The engine that these options mean.

    Args:
        attempts: how many processes may die of one item on this machine.

    Raises:
        click.UsageError: they contradict each other.
    """
    if name == RAY:
        return Cluster(address or "auto", patience, jobs)
    if address is not None:
        raise click.UsageError("--address is of a cluster; say --engine ray as well")
    return local(jobs, patience, attempts)
