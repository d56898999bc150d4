"""``python -m bench.encodings``: encodes, reads, prints tables."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from bench import entry, machine
from bench.encodings import report
from bench.encodings.reading import Readers, Sample, WrongFrame
from bench.encodings.shelf import Encoded, Shelf
from bench.encodings.ways import BASE, STOCK, WAYS
from bench.entry import DONE, FAULTS, known_names
from bench.remote import PeerFailed
from encoder.errors import EncoderError

_WIDTH = 170

_DEFAULT_FOLDER = Path(tempfile.gettempdir()) / f"framefs-bench-{os.getuid()}" / "encodings"


@click.command()
@click.option("--clips", multiple=True, required=True, help="Files, as a glob pattern; repeatable.")
@click.option(
    "--ways", default=",".join(STOCK), callback=known_names(tuple(WAYS)), show_default=True
)
@click.option("--batches", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--seed", default="1", show_default=True, help="Chooses the batches.")
@click.option("--read/--no-read", default=True, help="Or only encode.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=_DEFAULT_FOLDER,
    show_default=True,
    help="Keeps the encodings.",
)
@click.option("--json", "output", type=click.Path(dir_okay=False), help="All results, to a file.")
@click.pass_context
def command(
    context: click.Context,
    clips: tuple[str, ...],
    ways: list[str],
    batches: int,
    repeats: int,
    seed: str,
    read: bool,
    folder: Path,
    output: str | None,
) -> int:
    """Encode clips in all ways at equal PSNR, and read frames of all of them in turn."""
    paths = entry.named_apart(entry.files(clips), ", by which they go in the tables")
    began = machine.facts()
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    chosen = [WAYS[name] for name in dict.fromkeys((BASE, *ways))]
    shelved: dict[str, dict[str, Encoded]] = {}
    samples: list[Sample] = []
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

    with progress:
        try:
            shelf = Shelf(folder, say)
            for clip in paths:
                shelved[clip.stem] = shelf.encoded(clip, chosen)
            if read:
                with Readers(chosen) as readers:
                    for name, why_not in readers.missing.items():
                        print(f"bench: {name} is not read: {why_not}", file=sys.stderr)
                    for name, encoded in shelved.items():
                        say(f"{name}: reading")
                        samples += readers.read(name, encoded, batches, repeats, seed)
        except (EncoderError, PeerFailed, WrongFrame) as error:
            print(f"bench: {error}", file=sys.stderr)
            return FAULTS
    report.show(console, shelved, samples)
    if output is not None:
        ends = {**began, "load_after": machine.facts()["load"]}
        settings = {**context.params, "folder": str(folder)}
        whole = report.as_json(shelved, samples, settings, ends)
        entry.write(output, whole)
    return DONE


def main(arguments: Sequence[str] | None = None) -> int:
    """As `bench.entry.run`."""
    return entry.run(command, "python -m bench.encodings", arguments)


if __name__ == "__main__":
    sys.exit(main())
