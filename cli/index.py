"""``framefs index``."""

from __future__ import annotations

import time

import click

from cli import batch, options
from cli.choosing import chosen, settings_options
from cli.errors import DONE, FAILED, INTERRUPTED
from decoder.corpus import Source
from inspection.ahead import Failed, Indexed, IndexJob, counted, summary, tidy
from inspection.workers import Broken


@click.command(name="index", short_help="Make the indexes of a folder of videos ahead of time.")
@click.argument("source", metavar="SRC", required=False)
@settings_options
@click.option("--hash", "hashes", is_flag=True, help="Decode everything and keep hashes as well.")
@click.option("--jobs", type=batch.JOBS, metavar="N", help="Processes; by default one per core.")
@click.option(
    "--patience",
    type=batch.PATIENCE,
    default=batch.DEFAULT_PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="Give up a video that shows no progress for so long.",
)
def command(
    source: str | None,
    texts: tuple[str, ...],
    config_file: str | None,
    index: str | None,
    hashes: bool,
    jobs: int | None,
    patience: float,
) -> int:
    """Make the indexes of all videos below the folder SRC, or of the video SRC.

    A mount with the same index file and decoder settings finds them. Videos that have one already
    are passed over: what Ctrl-C has stopped goes on where it was. Exit status 1 if one failed.
    """
    settings = chosen(options.parse(texts), config_file, index)
    found = batch.sources_of(settings, source)
    path = batch.index_path(settings)
    job = IndexJob(
        path,
        stream=settings.decoder.stream,
        rotate=settings.decoder.rotate,
        hashes=hashes,
    )
    results: list[Indexed | Failed] = []

    def take(video: Source, result: Indexed | Failed | Broken) -> list[str]:
        if isinstance(result, Broken):
            result = Failed(video.path, result.reason)
        results.append(result)
        return []

    began = time.monotonic()
    complete = batch.go_through(
        job, found.sources, verb="indexing", jobs=jobs, patience=patience, take=take
    )
    tidy(path)
    for line in summary(results, found.refused):
        click.echo(line)
    click.echo(f"{path}, {time.monotonic() - began:.1f} s")
    if not complete:
        left = counted(len(found.sources) - len(results), "video")
        click.echo(f"stopped with {left} to go; the same command goes on from here", err=True)
        return INTERRUPTED
    return FAILED if found.refused or any(isinstance(r, Failed) for r in results) else DONE
