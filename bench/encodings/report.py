"""What was measured, to be read by people and by programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.encodings.figures import Figure, Shelved, by_clip, by_kind, surplus
from bench.encodings.reading import SIZES, Sample
from bench.encodings.ways import WAYS, kind_of


def show(console: Console, shelved: Shelved, samples: Sequence[Sample]) -> None:
    """A table for each kind of camera, one of all clips, and how anchors that follow did."""
    for kind, found in by_kind(shelved, samples).items():
        count = sum(kind_of(clip) == kind for clip in shelved)
        console.print(_kind(f"{kind} camera, {count} clips", found))
    console.print(_clips(by_clip(shelved, samples)))
    for way, ratios in surplus(shelved).items():
        worst = max(ratios, key=lambda clip: ratios[clip])
        console.print(
            f"{way} against the best fixed T: at most {100 * ratios[worst] - 100:+.1f} % of bytes "
            f"({worst}), at least {100 * min(ratios.values()) - 100:+.1f} %",
            highlight=False,
        )


def as_json(
    shelved: Shelved, samples: Sequence[Sample], settings: Any, machine: Any
) -> dict[str, Any]:
    """Everything, for ``--json``."""
    encoded = {
        clip: {way: {**asdict(one), "digests": len(one.digests)} for way, one in ways.items()}
        for clip, ways in shelved.items()
    }
    return {
        "settings": settings,
        "machine": machine,
        "by_kind": _plain(by_kind(shelved, samples)),
        "by_clip": _plain(by_clip(shelved, samples)),
        "surplus": surplus(shelved),
        "encoded": encoded,
        "samples": [asdict(sample) for sample in samples],
    }


def _kind(title: str, found: Mapping[str, Figure]) -> Table:
    table = Table("", "KB", "% of LeRobot", "% of JPEG", "dB", "SSIM", "closure", title=title)
    for pattern, size in SIZES.items():
        table.add_column(f"{pattern} {size}: ms, speed, pictures", justify="right")
    for column in table.columns[1:]:
        column.justify = "right"
    for way, figure in found.items():
        table.add_row(
            WAYS[way].label,
            f"{figure.size / 1000:,.0f}",
            f"{100 * figure.share:.1f}",
            _text(figure.jpeg_share, 100, 1),
            f"{figure.psnr:.2f}",
            _text(figure.ssim, 1, 4),
            _text(figure.mean_closure, 1, 2),
            *(_reading(figure, pattern) for pattern in SIZES),
        )
    return table


def _reading(figure: Figure, pattern: str) -> str:
    found = figure.readings.get(pattern)
    if found is None:
        return ""
    speed = "" if found.speed is None else f"{found.speed:.2f}x"
    return f"{found.ms:.2f} {speed:>6} {_text(found.pictures, 1, 2):>5}"


def _clips(found: Mapping[str, Mapping[str, Figure]]) -> Table:
    ways = list(next(iter(found.values())))
    table = Table("KB; speed in each pattern", *ways)
    for column in table.columns[1:]:
        column.justify = "right"
    for clip, figures in found.items():
        table.add_row(clip, *(_cell(figure) for figure in figures.values()))
    return table


def _cell(figure: Figure) -> str:
    speeds = [_text(reading.speed, 1, 1) for reading in figure.readings.values()]
    return f"{figure.size / 1000:,.0f}\n{' '.join(speeds)}"


def _text(value: float | None, factor: float, digits: int) -> str:
    return "" if value is None else f"{factor * value:.{digits}f}"


def _plain(figures: Mapping[str, Mapping[str, Figure]]) -> dict[str, Any]:
    return {
        name: {way: asdict(figure) for way, figure in row.items()} for name, row in figures.items()
    }
