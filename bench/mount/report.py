"""What was measured, to be read by people and by programs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.mount.corpora import Corpus
from bench.mount.data import BASE, DATA
from bench.mount.measure import Epoch
from bench.mount.run import Case, Results, Sample

_WRONG_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Figure:
    """One kind of data in one case and one epoch: medians over the repeats.

    Attributes:
        rate: frames a second; ``low`` and ``high`` over the repeats.
        ratio: to the folder of JPEG files, from the medians; None where that was not measured.
        pictures, state_only, reads, opens: a frame; None where nobody tells.
        loader_ms, server_ms: of processor, a frame.
        video_bytes: read of videos, a frame.
        wrong: frames that were not the right ones, in all repeats.
    """

    rate: float
    low: float
    high: float
    ratio: float | None
    pictures: float | None
    state_only: float | None
    reads: float | None
    opens: float | None
    loader_ms: float
    server_ms: float | None
    video_bytes: float | None
    wrong: int


Figures = dict[Case, dict[str, list[Figure]]]
"""By case and data, one for each epoch."""


def figures(results: Results) -> Figures:
    """The figures of everything that was measured."""
    found: Figures = {}
    for case in dict.fromkeys(sample.case for sample in results.samples):
        here = [sample for sample in results.samples if sample.case == case]
        base = [sample for sample in here if sample.data == BASE]
        found[case] = {
            name: _epochs([sample for sample in here if sample.data == name], base)
            for name in DATA
            if any(sample.data == name for sample in here)
        }
    return found


def _epochs(own: Sequence[Sample], base: Sequence[Sample]) -> list[Figure]:
    return [
        _figure([sample.epochs[k] for sample in own], [sample.epochs[k] for sample in base])
        for k in range(len(own[0].epochs))
    ]


def _figure(own: Sequence[Epoch], base: Sequence[Epoch]) -> Figure:
    rates = [epoch.rate for epoch in own]

    def each(of: Callable[[Epoch], float | None]) -> float | None:
        values = [of(epoch) for epoch in own]
        known = [v / e.frames for v, e in zip(values, own, strict=True) if v is not None]
        return statistics.median(known) if known else None

    server = each(lambda epoch: epoch.server_cpu)
    below = statistics.median(epoch.rate for epoch in base) if base else None
    loader = each(lambda epoch: epoch.loader_cpu)
    assert loader is not None
    return Figure(
        rate=statistics.median(rates),
        low=min(rates),
        high=max(rates),
        ratio=None if below is None else statistics.median(rates) / below,
        pictures=each(lambda epoch: epoch.reconstructed),
        state_only=each(lambda epoch: epoch.state_only),
        reads=each(lambda epoch: epoch.reads),
        opens=each(lambda epoch: epoch.opens),
        loader_ms=loader * 1e3,
        server_ms=None if server is None else server * 1e3,
        video_bytes=each(lambda epoch: epoch.bytes_read),
        wrong=sum(len(epoch.wrong) for epoch in own),
    )


def as_json(
    results: Results, found: Figures, corpus: Corpus, settings: dict[str, Any], machine: Any
) -> dict[str, Any]:
    """Everything, for ``--json``."""
    return {
        "settings": settings,
        "machine": machine,
        "shape": corpus.shape,
        "frames": corpus.frame_counts,
        "bytes_per_frame": _stored(corpus, found),
        "figures": [
            {**asdict(case), "data": name, "epochs": [asdict(figure) for figure in several]}
            for case, row in found.items()
            for name, several in row.items()
        ],
        "samples": [asdict(sample) for sample in results.samples],
        "failures": [
            {**asdict(case), "data": name, "why": why} for case, name, why in results.failures
        ],
    }


def show(console: Console, results: Results, found: Figures, corpus: Corpus) -> None:
    """Everything, as tables."""
    height, width, _ = corpus.shape
    console.print(f"{width}x{height}, {len(corpus.frame_counts)} clips")
    stored = _stored(corpus, found)
    epochs = max((len(s) for row in found.values() for s in row.values()), default=1)
    table = _table(epochs)
    for case, row in found.items():
        for place, (name, several) in enumerate(row.items()):
            first = place == 0
            table.add_row(
                f"{case.pattern}, {case.storage}" if first else "",
                str(case.workers) if first else "",
                name,
                *_columns(several[0]),
                *(_again(several[1]) if epochs > 1 else []),
                f"{stored[name]:,.0f}",
                str(sum(figure.wrong for figure in several)),
                end_section=place == len(row) - 1,
                style="red" if any(figure.wrong for figure in several) else None,
            )
    console.print(table)
    for name in stored:
        console.print(f"{name}: {DATA[name].about}")
    _show_faults(console, results)


def _table(epochs: int) -> Table:
    table = Table()
    names = ["pattern", "by", "data", "frames/s", "from-to", f"x {BASE}", "pictures", "reads"]
    names += ["loader", "server"]
    if epochs > 1:
        names += ["again/s", f"x {BASE}", "reads"]
    names += ["bytes", "wrong"]
    for place, name in enumerate(names):
        table.add_column(name, justify="left" if place in (0, 2) else "right", no_wrap=True)
    return table


def _columns(figure: Figure) -> list[str]:
    more = f" + {figure.state_only:.2f}" if figure.state_only else ""
    return [
        f"{figure.rate:.0f}",
        f"{figure.low:.0f}-{figure.high:.0f}",
        _number(figure.ratio),
        _number(figure.pictures) + more,
        _number(figure.reads, 1),
        _number(figure.loader_ms),
        _number(figure.server_ms),
    ]


def _again(figure: Figure) -> list[str]:
    return [f"{figure.rate:.0f}", _number(figure.ratio), _number(figure.reads, 1)]


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _stored(corpus: Corpus, found: Figures) -> dict[str, float]:
    names = dict.fromkeys(name for row in found.values() for name in row)
    return {
        name: _copied(corpus)
        if name in ("copy", "memory")
        else corpus.bytes_per_frame(DATA[name].kind)
        for name in names
    }


def _copied(corpus: Corpus) -> float:
    return statistics.fmean(file.stat().st_size for file in (corpus.folder / "copy").rglob("*.png"))


def _show_faults(console: Console, results: Results) -> None:
    for case, name, why in results.failures:
        console.print(f"{name}, {case.pattern}, {case.workers} workers: {escape(why)}")
    wrong = [
        f"{sample.data} {clip} frame {n}"
        for sample in results.samples
        for epoch in sample.epochs
        for clip, n in epoch.wrong
    ]
    for words in list(dict.fromkeys(wrong))[:_WRONG_SHOWN]:
        console.print(f"wrong: {escape(words)}")
    if len(wrong) > _WRONG_SHOWN:
        console.print(f"... {len(wrong)} in all (--json has them)")
