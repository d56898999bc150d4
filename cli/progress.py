"""The progress bar of a run over a corpus: how much of it, how fast, how large so far."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from encoder.corpus import Unit
from encoder.running import Failed, Made
from encoder.summary import ratio, size


class CorpusBar:
    """Counts bytes of sources; those of a unit that is worked at as far as it has come.

    Args:
        units: all of the run.
        bar: that is shown.
    """

    def __init__(self, units: Sequence[Unit], bar: Progress) -> None:
        self._bar = bar
        self._files = len(units)
        self._task = bar.add_task("encoding", total=sum(map(_bytes, units)), said="")
        self._under_way: dict[str, float] = {}
        self._over = 0
        self._settled = 0
        self._came = 0
        self._went = 0
        self._failed = 0

    def watch(self, unit: Unit, done: int, total: int) -> None:
        """Hears that ``done`` of ``total`` frames of ``unit`` are encoded."""
        self._under_way[unit.target] = _bytes(unit) * done / total if total else 0.0
        self._show()

    def take(self, result: Made | Failed) -> None:
        """Hears what came of a unit."""
        self._under_way.pop(result.unit.target, None)
        self._over += 1
        self._settled += _bytes(result.unit)
        if isinstance(result, Made):
            self._came += result.outcome.bytes_in
            self._went += result.outcome.bytes_out
        else:
            self._failed += 1
        self._show()

    def _show(self) -> None:
        completed = self._settled + sum(self._under_way.values())
        elapsed = self._bar.tasks[self._task].elapsed or 0.0
        said = f"{self._over:,}/{self._files:,}"
        if elapsed:
            said += f"  {size(completed / elapsed)}/s"
        if self._went:
            said += f"  {size(self._went)} so far, {ratio(self._went, self._came)}"
        if self._failed:
            said += f"  {self._failed:,} failed"
        self._bar.update(self._task, completed=completed, said=said)


@contextlib.contextmanager
def corpus_bar(units: Sequence[Unit]) -> Iterator[CorpusBar]:
    """The bar, on a terminal; elsewhere nothing is shown."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}", markup=False),
        TimeRemainingColumn(),
    )
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        yield CorpusBar(units, bar)


def _bytes(unit: Unit) -> int:
    return unit.source.fingerprint.size
