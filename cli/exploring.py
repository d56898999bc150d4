"""How an exploration is shown: as a table, in words, and as a plot."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from cli.errors import CommandFailed
from encoder.explore import PATTERNS, Exploration
from inspection.charts import Point, draw_front

_WIDTH = 120
"""Columns of a table that goes to no terminal."""


def show(
    found: Exploration,
    *,
    bandwidth: float | None = None,
    pattern: str | None = None,
    console: Console | None = None,
) -> None:
    """Writes the table and the cheapest choice.

    Args:
        bandwidth: of the storage, bytes a second; None where it is no matter.
        pattern: one of `encoder.explore.PATTERNS` that is read most; None: all alike.
    """
    console = console or Console(width=None if sys.stdout.isatty() else _WIDTH)
    table = Table("", "bytes a frame", "PSNR, dB", "largest closure", title=_title(found))
    for name in PATTERNS:
        table.add_column(f"{name}, ms")
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for one in found.tried:
        table.add_row(
            f"* {one.label}" if one.best else f"  {one.label}",
            f"{one.size:,.0f}",
            f"{one.psnr:.2f}",
            f"{one.bound}",
            *(f"{1000 * one.readings[name].on(bandwidth):.2f}" for name in PATTERNS),
        )
    console.print(table)
    console.print("*: nothing else is both smaller and read faster; ms a frame", highlight=False)
    for label, reason in found.failed:
        console.print(f"{label}: left out, {reason}", highlight=False)
    console.print(words(found, bandwidth, pattern), highlight=False)


def words(found: Exploration, bandwidth: float | None, pattern: str | None) -> str:
    """Which one to take. Raises CommandFailed if there is none."""
    if not found.tried:
        raise CommandFailed("nothing could be encoded; the reasons are above")
    one = found.cheapest(bandwidth, pattern)
    where = "from memory" if bandwidth is None else f"at {bandwidth / 1e6:g} MB/s"
    what = "all patterns alike" if pattern is None else pattern
    return (
        f"Cheapest to read {where}, {what}: {one.label}, "
        f"{1000 * one.seconds(bandwidth, pattern):.2f} ms and {one.size:,.0f} bytes a frame"
    )


def plot(path: str, found: Exploration, bandwidth: float | None = None) -> None:
    """Draws bytes against time. Raises CommandFailed if ``path`` cannot be written."""
    points = [
        Point(one.label, one.settings.profile, one.size, 1000 * one.seconds(bandwidth), one.best)
        for one in found.tried
    ]
    try:
        draw_front(path, _title(found), points)
    except OSError as error:
        raise CommandFailed(f"{path}: cannot be written ({error.strerror})") from error


def _title(found: Exploration) -> str:
    count = len(found.sources)
    return f"{count} video{'s' if count > 1 else ''}, {found.frames} frames, at equal PSNR"
