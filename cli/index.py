"""``framefs index``."""

from __future__ import annotations

import time

import click

from cli import batch, options
from cli.choosing import chosen, settings_options
from cli.engines import RAY, chosen_engine, engine_options
from cli.errors import DONE, FAILED, INTERRUPTED
from decoder.corpus import Source
from engines import Broken, Engine
from inspection.ahead import (
    DistantIndexJob,
    Failed,
    Indexed,
    IndexJob,
    Made,
    counted,
    summary,
    tidy,
)


@click.command(name="index", short_help="Make the indexes of a folder of videos ahead of time.")
@click.argument("source", metavar="SRC", required=False)
@settings_options
@click.option("--hash", "hashes", is_flag=True, help="Decode everything and keep hashes as well.")
@engine_options
def command(
    source: str | None,
    texts: tuple[str, ...],
    config_file: str | None,
    index: str | None,
    hashes: bool,
    jobs: int | None,
    patience: float,
    engine: str,
    address: str | None,
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
    using = chosen_engine(engine, address, jobs, patience)
    began = time.monotonic()
    go = _on_a_cluster if engine == RAY else _here
    results: list[Indexed | Failed] = []
    complete = go(job, found.sources, using, results)
    tidy(path)
    for line in summary(results, found.refused):
        click.echo(line)
    click.echo(f"{path}, {time.monotonic() - began:.1f} s")
    if not complete:
        left = counted(len(found.sources) - len(results), "video")
        click.echo(f"stopped with {left} to go; the same command goes on from here", err=True)
        return INTERRUPTED
    return FAILED if found.refused or any(isinstance(r, Failed) for r in results) else DONE


def _here(
    job: IndexJob, sources: list[Source], engine: Engine, results: list[Indexed | Failed]
) -> bool:
    """Indexes ``sources``; whether it came to its end."""

    def take(video: Source, result: Indexed | Failed | Broken) -> list[str]:
        results.append(Failed(video.path, result.reason) if isinstance(result, Broken) else result)
        return []

    return batch.go_through(job, sources, verb="indexing", engine=engine, take=take)


def _on_a_cluster(
    job: IndexJob, sources: list[Source], engine: Engine, results: list[Indexed | Failed]
) -> bool:
    """The same; only this process works with the store."""
    distant = DistantIndexJob(job)
    indexer = job.indexer()
    results += filter(None, (distant.found(indexer, source) for source in sources))
    known = {result.path for result in results}

    def take(video: Source, result: Made | Failed | Broken) -> list[str]:
        if isinstance(result, Made):
            results.append(distant.keep(indexer, video, result))
        else:
            results.append(Failed(video.path, result.reason))
        return []

    rest = [source for source in sources if source.path not in known]
    complete = batch.go_through(distant, rest, verb="indexing", engine=engine, take=take)
    indexer.store.close()
    return complete
