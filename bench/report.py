"""What was measured, to be read by people and by programs."""

from __future__ import annotations

import statistics
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.measure import Results
from bench.peers import Availability
from bench.stages import STAGES
from bench.summary import MEAN, Figure, Summary

_FAULTS_SHOWN = 20


def as_json(
    results: Results,
    summary: Summary,
    peers: dict[str, Availability],
    settings: dict[str, Any],
    machine: dict[str, Any],
) -> dict[str, Any]:
    """Everything, for ``--json``."""
    return {
        "settings": settings,
        "machine": machine,
        "peers": {name: asdict(found) for name, found in peers.items()},
        "summary": {
            pattern: {peer: asdict(figure) for peer, figure in row.items()}
            for pattern, row in summary.figures.items()
        },
        "geometric_mean": summary.geometric_mean,
        "mean_by_clip": summary.mean_by_clip,
        "checks": {peer: asdict(check) for peer, check in results.checks.items()},
        "faults": [asdict(fault) for fault in results.faults],
        "open_ms": results.open_ms,
        "profiles": results.profiles,
        "floors": results.floors,
        "samples": [asdict(sample) for sample in results.samples],
    }


def show(
    console: Console,
    results: Results,
    summary: Summary,
    peers: dict[str, Availability],
    subject: str,
) -> None:
    """Everything, as tables."""
    _show_peers(console, results, peers)
    _show_figures(console, summary, subject)
    if results.profiles:
        _show_profile(console, results, subject)
    _show_checks(console, results)


def _show_peers(console: Console, results: Results, peers: dict[str, Availability]) -> None:
    table = _table("peer", "version", "open [ms]")
    for name, found in peers.items():
        versions = ", ".join(f"{key} {value}" for key, value in found.versions.items())
        opened = results.open_ms.get(name)
        shown = f"{statistics.median(opened.values()):.0f}" if opened else ""
        words = f"left out: {found.why_not}" if found.why_not else versions
        table.add_row(name, escape(words), shown)
    console.print(table)


def _show_figures(console: Console, summary: Summary, subject: str) -> None:
    table = _table(
        "pattern",
        "peer",
        "ms a batch",
        "passes",
        "CPU ms",
        "pictures",
        f"x {subject}",
        "passes",
        "CPU x",
    )
    for pattern, row in summary.figures.items():
        for place, (peer, figure) in enumerate(row.items()):
            table.add_row(
                pattern if place == 0 else "",
                peer,
                f"{figure.ms:.1f}",
                _range(figure.ms_range, 1),
                f"{figure.cpu_ms:.1f}",
                _pictures(figure),
                "" if figure.ratio is None else f"{figure.ratio:.2f}",
                "" if peer == subject else _range(figure.ratio_range, 2),
                "" if figure.cpu_ratio is None else f"{figure.cpu_ratio:.2f}",
                end_section=place == len(row) - 1,
                style="bold" if pattern == MEAN else None,
            )
    console.print(table)
    means = ", ".join(
        f"{peer} {value:.2f}" for peer, value in summary.geometric_mean.items() if peer != subject
    )
    if means:
        console.print(f"Geometric mean of the patterns' ratios: {means}")
    by_clip = ", ".join(
        f"{peer} {clock:.2f} (CPU {cpu:.2f})"
        for peer, (clock, cpu) in summary.mean_by_clip.items()
        if peer != subject
    )
    if by_clip:
        console.print(f"Mean of the ratios of every clip in every pattern: {by_clip}")


def _show_profile(console: Console, results: Results, subject: str) -> None:
    patterns = list(results.profiles)
    table = _table(f"{subject}: CPU ms a batch", *patterns)
    batches = {p: sum(row["batches"] for row in results.profiles[p]) for p in patterns}
    for stage in STAGES:
        values = [
            sum(row["stages"][stage] for row in results.profiles[p]) / batches[p] for p in patterns
        ]
        table.add_row(stage, *(f"{value:.2f}" for value in values))
    table.add_section()
    for name, words in (("ms", "all of it"), ("plain_ms", "without the profiler")):
        values = [sum(row[name] for row in results.profiles[p]) / batches[p] for p in patterns]
        table.add_row(words, *(f"{value:.2f}" for value in values))
    bare = bare_ms(results)
    table.add_row("bare decoder, same pictures", *(f"{bare[p]:.2f}" for p in patterns))
    console.print(table)
    floors = list(results.floors.values())
    if floors:
        parts = {name: statistics.fmean(f[name] for f in floors) for name in floors[0]}
        console.print(
            f"By themselves: {parts['decode']:.2f} ms to decode a picture, "
            f"{parts['convert']:.2f} to convert and {parts['copy']:.2f} to copy a frame."
        )
    for pattern in patterns:
        top = _top(results.profiles[pattern], batches[pattern])
        console.print(f"Most time, {pattern}: " + "; ".join(escape(words) for words in top))


def bare_ms(results: Results) -> dict[str, float]:
    """By pattern, what the reconstructed pictures of a batch cost at the bare decoder's speed."""
    found = {}
    for pattern, rows in results.profiles.items():
        total = sum(
            row["counts"].get("reconstructed", 0) * results.floors[row["clip"]]["decode"]
            for row in rows
            if row["clip"] in results.floors
        )
        found[pattern] = total / sum(row["batches"] for row in rows)
    return found


def _top(rows: list[dict[str, Any]], batches: int) -> list[str]:
    total: dict[tuple[str, str], float] = {}
    for row in rows:
        for place, stage, ms, _ in row["top"]:
            total[place, stage] = total.get((place, stage), 0.0) + ms
    ranked = sorted(total.items(), key=lambda item: -item[1])[:6]
    return [f"{place} ({stage}) {ms / batches:.2f}" for (place, stage), ms in ranked]


def _show_checks(console: Console, results: Results) -> None:
    table = _table("frames", "exact", "close", "least dB", "wrong", "failed")
    names = dict.fromkeys([*results.checks, *(fault.peer for fault in results.faults)])
    for name in names:
        check = results.checks.get(name)
        failed = sum(f.peer == name and f.frame is None for f in results.faults)
        table.add_row(
            name,
            str(check.exact if check else 0),
            str(check.close if check else 0),
            "" if check is None or check.least_psnr is None else f"{check.least_psnr:.1f}",
            str(check.wrong if check else 0),
            str(failed),
            style="red" if failed or (check and check.wrong) else None,
        )
    console.print(table)
    for fault in results.faults[:_FAULTS_SHOWN]:
        where = "" if fault.frame is None else f" frame {fault.frame}"
        console.print(f"{fault.peer}: {escape(fault.clip)}{where}: {escape(fault.what)}")
    if len(results.faults) > _FAULTS_SHOWN:
        console.print(f"... and {len(results.faults) - _FAULTS_SHOWN} more (--json has all)")


def _pictures(figure: Figure) -> str:
    if figure.reconstructed is None:
        return ""
    more = f" + {figure.state_only:.1f}" if figure.state_only else ""
    return f"{figure.reconstructed:.1f}{more}"


def _range(values: tuple[float, float] | None, digits: int) -> str:
    return "" if values is None else f"{values[0]:.{digits}f}-{values[1]:.{digits}f}"


def _table(*columns: str) -> Table:
    table = Table()
    for place, name in enumerate(columns):
        words = name in ("peer", "version", "pattern") or place == 0
        table.add_column(name, justify="left" if words else "right")
    return table
