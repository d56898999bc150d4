"""What `framefs index` and `framefs verify` have in common: the sources, and a progress bar."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Protocol, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli.errors import CommandFailed
from config import Settings
from decoder.errors import DecoderError
from decoder.store import default_index_path
from engines import Broken, Engine, Job
from engines.cluster import NoCluster
from inspection.sources import Found, find


class Named(Protocol):
    """A source, or something that is made of one."""

    @property
    def path(self) -> str:
        """Of the source."""


_Named = TypeVar("_Named", bound=Named)
_Result = TypeVar("_Result")


def index_path(settings: Settings) -> str:
    """The file of the index store.

    Raises:
        CommandFailed: it is to be kept in memory only, where no other process finds it.
    """
    path = settings.index.path or default_index_path()
    if path == ":memory:":
        raise CommandFailed(
            "indexes in :memory: are gone when the command ends; "
            "name a file with --index or the setting index.path"
        )
    return path


def sources_of(settings: Settings, source: str | None) -> Found:
    """The sources to go through.

    Raises:
        click.UsageError: none are named.
        CommandFailed: there are none there.
    """
    path = source or settings.source
    if path is None:
        raise click.UsageError("name the folder of videos, or one video: SRC")
    try:
        found = find(
            path,
            extensions=settings.corpus.extensions,
            follow_symlinks=settings.corpus.follow_symlinks,
        )
    except DecoderError as error:
        raise CommandFailed(f"{error}; check the path") from error
    if not found.sources and not found.refused:
        raise CommandFailed(
            f"{path}: there is no video in it; the setting corpus.extensions says what is one"
        )
    return found


def go_through(
    job: Job[_Named, _Result],
    sources: Sequence[_Named],
    *,
    verb: str,
    engine: Engine,
    take: Callable[[_Named, _Result | Broken], list[str]],
) -> bool:
    """Does ``job`` for all ``sources``, or what is made of them, with a progress bar on a terminal.

    Args:
        verb: what is being done, for the bar.
        engine: has it done.
        take: gets each result; returns lines to be said at once.

    Returns:
        Whether it came to its end and was not interrupted.

    Raises:
        CommandFailed: the engine cannot begin.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[name]}", markup=False),
        TimeRemainingColumn(),
    )
    results = engine.run(job, sources)
    hidden = not console.is_terminal
    with (
        interruptible(),
        contextlib.closing(results),
        Progress(*columns, console=console, transient=True, disable=hidden) as bar,
    ):
        task = bar.add_task(verb, total=len(sources), name="")
        try:
            for source, result in results:
                for line in take(source, result):
                    _say(bar, hidden, line)
                bar.update(task, advance=1, name=os.path.basename(source.path)[:40])
        except KeyboardInterrupt:
            return False
        except NoCluster as error:
            raise CommandFailed(str(error)) from error
    return True


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Has SIGTERM end work as Ctrl-C does: by KeyboardInterrupt, with nothing left behind."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _say(bar: Progress, hidden: bool, line: str) -> None:
    if hidden:
        click.echo(line)
    else:
        bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
