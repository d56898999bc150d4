"""``framefs stats``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cli.errors import CommandFailed
from cli.mounts import FILESYSTEM_TYPE, is_dead, mounted_at
from decoder.statistics import Latency
from vfs.hidden import DIRECTORY
from vfs.report import NAME, Report, decode

_WIDTH = 100


@click.command(name="stats", short_help="Say what a mount has done, and is doing.")
@click.argument("mountpoint", metavar="MNT")
@click.option("--json", "as_json", is_flag=True, help="As the mount tells it, for programs.")
@click.option(
    "--watch",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Again every so many seconds, each time for the time since, until Ctrl-C.",
)
def command(mountpoint: str, as_json: bool, watch: float | None) -> None:
    """Show the statistics of the mount at MNT since it came up.

    They are also the file .framefs/stats.json in the mount, which no listing shows.
    """
    root, content = read(mountpoint)
    before: Report | None = None
    while True:
        report = _decoded(mountpoint, content)
        if as_json:
            click.echo(content.rstrip())
        else:
            _show(Console(width=None if sys.stdout.isatty() else _WIDTH), report, before, root)
        if watch is None:
            return
        before = report
        time.sleep(watch)
        _, content = read(mountpoint)


def read(mountpoint: str) -> tuple[str, bytes]:
    """The corpus of the mount at ``mountpoint``, and its statistics as JSON.

    Raises:
        CommandFailed: nothing of framefs is mounted there, or it does not answer.
    """
    mounted = mounted_at(mountpoint)
    if mounted is None:
        raise CommandFailed(f"{mountpoint}: nothing is mounted here; name the mount point itself")
    if mounted.type != FILESYSTEM_TYPE:
        raise CommandFailed(f"{mountpoint}: what is mounted here is {mounted.type}, not framefs")
    try:
        with open(os.path.join(mountpoint, DIRECTORY.strip("/"), NAME), "rb") as file:
            return mounted.source, file.read()
    except OSError as error:
        if is_dead(mountpoint):
            raise CommandFailed(
                f"{mountpoint}: the process of the mount has died; framefs umount takes it away"
            ) from error
        raise CommandFailed(f"{mountpoint}: has no statistics ({error.strerror})") from error


def _decoded(mountpoint: str, content: bytes) -> Report:
    try:
        return decode(content)
    except ValueError as error:
        raise CommandFailed(
            f"{mountpoint}: its statistics are of another version of framefs ({error}); "
            "--json shows them as they are"
        ) from error


def _show(console: Console, report: Report, before: Report | None, root: str) -> None:
    process = report.process
    console.print(
        f"process {process.pid}, up {process.uptime:.0f} s, {process.cpu:.1f} s of processor, "
        f"{_bytes(process.resident)}, {process.threads} threads"
    )
    _show_counts(console, report, before)
    _show_latencies(console, report)
    if report.sources.top:
        _show_sources(console, report, root)


def _show_counts(console: Console, report: Report, before: Report | None) -> None:
    table = Table()
    table.add_column("")
    table.add_column("so far", justify="right")
    if before is not None:
        table.add_column("a second", justify="right")
    seconds = report.process.uptime - before.process.uptime if before is not None else 1.0
    earlier = {} if before is None else {name: n for part in _counts(before) for name, n in part}
    for part in _counts(report):
        for name, count in part:
            row = [name, _bytes(count) if name.startswith("bytes") else f"{count:,}"]
            if before is not None:
                rate = (count - earlier[name]) / max(seconds, 1e-9)
                row.append(_bytes(rate) if name.startswith("bytes") else f"{rate:,.1f}")
            table.add_row(*row)
        table.add_section()
    console.print(table)
    queues, memory = report.queues, report.memory
    console.print(
        f"now: {report.fuse.in_progress} requests of the kernel in progress; {queues.decoding} "
        f"plans are decoded, {queues.waiting} wait to be, {queues.resting} rest; {queues.idle} "
        f"readers idle; {queues.indexing} sources being indexed"
    )
    console.print(
        f"memory: decoded frames {_bytes(memory.frames)}, not asked for yet "
        f"{_bytes(memory.stock)}, files being read {_bytes(memory.files)}, indexes "
        f"{_bytes(memory.indexes)}"
    )


def _counts(report: Report) -> Iterable[list[tuple[str, int]]]:
    """Names and numbers that only grow, in groups."""
    requests, pictures, sources = report.requests, report.pictures, report.sources
    yield [
        ("frames decoded for a request", requests.decoded),
        ("requests that joined another's", requests.joined),
        ("requests that failed", requests.failed),
        ("requests not in time", requests.overdue),
    ]
    for name, level in report.levels.items():
        yield [
            (f"{name}: hits", level.hits),
            (f"{name}: misses", level.misses),
            (f"{name}: pushed out", level.evicted),
        ]
    yield [(f"decoded before: {worth}", hits) for worth, hits in report.stock.hits.items()]
    yield [
        ("pictures: targets", pictures.target),
        ("pictures: read ahead", pictures.read_ahead),
        ("pictures: read ahead for nobody so far", pictures.waste),
        ("pictures: references of targets", pictures.reference),
        ("pictures: state-only", pictures.state_only),
        ("pictures: dropped", pictures.dropped),
        ("frames decoded conservatively", pictures.conservative),
    ]
    yield [
        ("bytes read from sources", sources.bytes_read),
        ("files opened", sources.opened),
        ("seeks in containers", sources.seeks),
        ("sources with an alarm", sources.alarms),
    ]


def _show_latencies(console: Console, report: Report) -> None:
    table = Table("", *("count", "total s", "50 %", "90 %", "99 %", "most"))
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, latencies in (("stage", report.stages), ("FUSE", report.fuse.operations)):
        for name, latency in latencies.items():
            if latency.count:
                table.add_row(f"{kind} {name}", *_columns(latency))
        table.add_section()
    console.print(table)


def _columns(latency: Latency) -> list[str]:
    times = (latency.p50, latency.p90, latency.p99, latency.max)
    return [f"{latency.count:,}", f"{latency.seconds:.2f}", *map(_duration, times)]


def _show_sources(console: Console, report: Report, root: str) -> None:
    table = Table("source", *("requests", "pictures", "state-only", "read", "seconds"))
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    for one in report.sources.top:
        table.add_row(
            escape(one.path.removeprefix(root).lstrip("/")),
            f"{one.requests:,}",
            f"{one.reconstructed:,}",
            f"{one.state_only:,}",
            _bytes(one.bytes_read),
            f"{one.seconds:.2f}",
        )
    console.print(table)


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
