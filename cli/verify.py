"""``framefs verify``."""

from __future__ import annotations

import click

from cli import batch, options
from cli.choosing import chosen, settings_options
from cli.engines import job_options, local
from cli.errors import DONE, FAILED, INTERRUPTED
from decoder.corpus import Source
from engines import Broken
from inspection.comparison import Compared, CompareJob, describe, totals


@click.command(name="verify", short_help="Compare what a mount shows with a full decode.")
@click.argument("source", metavar="SRC", required=False)
@settings_options
@click.option("--all", "everything", is_flag=True, help="Compare every frame.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    metavar="N",
    help="Compare N frames of each video, picked at random.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Picks them.")
@job_options
def command(
    source: str | None,
    texts: tuple[str, ...],
    config_file: str | None,
    index: str | None,
    everything: bool,
    sample: int,
    seed: int,
    jobs: int | None,
    patience: float,
) -> int:
    """Compare frames of the videos below SRC, or of the video SRC, with a full decode of it.

    Compares the list of frames with size and timestamp of each, and the pixels of frames read in
    requests of 1 to 20. Exit status 1 if anything differs or a video cannot be read.
    """
    settings = chosen(options.parse(texts), config_file, index)
    found = batch.sources_of(settings, source)
    job = CompareJob(
        batch.index_path(settings),
        stream=settings.decoder.stream,
        rotate=settings.decoder.rotate,
        sample=None if everything else sample,
        seed=seed,
    )
    results: list[Compared] = []

    def take(video: Source, result: Compared | Broken) -> list[str]:
        if isinstance(result, Broken):
            result = Compared(video.path, unreadable=f"{video.path}: {result.reason}")
        results.append(result)
        return describe(result)

    complete = batch.go_through(
        job, found.sources, verb="comparing", engine=local(jobs, patience), take=take
    )
    for refused in found.refused:
        click.echo(f"unreadable: {refused}")
    for line in totals(results, len(found.refused)):
        click.echo(line)
    if not everything:
        click.echo(f"seed {seed}")
    if not complete:
        click.echo(f"stopped after {len(results)} of {len(found.sources)}", err=True)
        return INTERRUPTED
    fault = found.refused or any(r.wrong or r.unreadable is not None for r in results)
    return FAILED if fault else DONE
