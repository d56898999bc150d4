"""``python -m bench.mount``: measures, prints a table, ends with 1 where a frame was wrong."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from bench import entry, machine
from bench.check import UnsuitableClip
from bench.entry import DONE, FAULTS, known_names
from bench.mount import corpora, path, report
from bench.mount.data import DATA
from bench.mount.patterns import PATTERNS
from bench.mount.run import CACHED, STORAGES, Plan, measure

_WIDTH = 170

_DEFAULT_FOLDER = Path(tempfile.gettempdir()) / f"framefs-bench-{os.getuid()}"


def _numbers(context: click.Context, option: click.Parameter, value: str) -> list[int]:
    try:
        numbers = [int(word) for word in value.split(",")]
    except ValueError:
        numbers = [0]
    if min(numbers) < 1:
        raise click.BadParameter("expected whole numbers from 1 on, such as 1,2,4")
    return numbers


def _size(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    if value is None:
        return None
    width, _, height = value.partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) % 2 == int(height) % 2 == 0):
        raise click.BadParameter("expected WIDTHxHEIGHT, both even, such as 256x256")
    return int(width), int(height)


@click.command()
@click.option("--clips", multiple=True, required=True, help="Files, as a glob pattern; repeatable.")
@click.option(
    "--data", default=",".join(DATA), callback=known_names(tuple(DATA)), show_default=True
)
@click.option(
    "--patterns", default=",".join(PATTERNS), callback=known_names(PATTERNS), show_default=True
)
@click.option("--workers", default="1,2,4,8", callback=_numbers, show_default=True)
@click.option("--storage", default=CACHED, callback=known_names(STORAGES), show_default=True)
@click.option(
    "--rate", type=click.IntRange(min=1), default=100, show_default=True, help="MiB/s, if limited."
)
@click.option(
    "--windows", type=click.IntRange(min=1), default=4, show_default=True, help="Of ten, in a clip."
)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--epochs", type=click.IntRange(min=1, max=2), default=2, show_default=True)
@click.option("--size", callback=_size, metavar="WxH", help="Scale and re-encode first.")
@click.option("--seed", default="1", show_default=True, help="Chooses the windows.")
@click.option("-o", "options", multiple=True, metavar="OPT", help="Of framefs; repeatable.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=_DEFAULT_FOLDER,
    show_default=True,
    help="Keeps what is made of the clips.",
)
@click.option("--path", "show_path", is_flag=True, help="Instead, where the time of a read goes.")
@click.option("--json", "output", type=click.Path(dir_okay=False), help="All results, to a file.")
@click.pass_context
def command(
    context: click.Context,
    clips: tuple[str, ...],
    data: list[str],
    patterns: list[str],
    workers: list[int],
    storage: list[str],
    rate: int,
    windows: int,
    repeats: int,
    epochs: int,
    size: tuple[int, int] | None,
    seed: str,
    options: tuple[str, ...],
    folder: Path,
    show_path: bool,
    output: str | None,
) -> int:
    """Read the same frames from mounts and from folders of images, as a loader does."""
    if "ffmpegfs" in data and shutil.which("ffmpegfs") is None:
        if context.get_parameter_source("data") is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError("ffmpegfs is not installed (apt-get install ffmpegfs)")
        data = [name for name in data if name != "ffmpegfs"]
    began = machine.facts()
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    task = progress.add_task("")

    def say(words: str) -> None:
        progress.update(task, description=words)

    with progress, tempfile.TemporaryDirectory(prefix="framefs-bench-") as made:
        scratch = Path(made)
        try:
            named = entry.named_apart(entry.files(clips), "; their images would have, too")
            corpus = corpora.prepare(folder, named, size, say)
        except UnsuitableClip as error:
            raise click.UsageError(str(error)) from error
        if show_path:
            whole = path.show(console, corpus, scratch, windows, seed, options, say)
            wrong = False
        else:
            plan = Plan(
                data=[DATA[name] for name in data],
                patterns=patterns,
                workers=workers,
                storages=storage,
                number=windows,
                repeats=repeats,
                epochs=epochs,
                rate=rate << 20,
                seed=seed,
                options=options,
            )
            results = measure(plan, corpus, scratch, say)
            found = report.figures(results)
            report.show(console, results, found, corpus)
            wrong = bool(results.failures) or any(
                epoch.wrong for sample in results.samples for epoch in sample.epochs
            )
            settings = {**context.params, "folder": str(folder)}
            ends = {**began, "load_after": machine.facts()["load"]}
            whole = report.as_json(results, found, corpus, settings, ends)
    if output is not None:
        entry.write(output, whole)
    return FAULTS if wrong else DONE


def main(arguments: Sequence[str] | None = None) -> int:
    """As `bench.entry.run`."""
    return entry.run(command, "python -m bench.mount", arguments)


if __name__ == "__main__":
    sys.exit(main())
