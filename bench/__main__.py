"""``python -m bench``: measures, prints tables, ends with 1 where a frame was wrong."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from bench import entry, machine, report
from bench.check import Reference, UnsuitableClip, frame_count
from bench.entry import DONE, FAULTS, known_names
from bench.measure import Asked, ClipRun, Results
from bench.patterns import STRIDES, Batch, batches, fits
from bench.peers import NAMES, Availability
from bench.remote import PeerFailed, Remote
from bench.sets import NAMES as SETS
from bench.sets import NoClips, clips_of
from bench.summary import summarize

SUBJECT = NAMES[0]
_WIDTH = 120


def _pythons(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    for name, _, path in pairs:
        if name not in NAMES or not path:
            raise click.BadParameter(f"expected PEER=FILE, PEER one of {', '.join(NAMES)}")
    return {name: path for name, _, path in pairs}


def _count(default: int, least: int = 1) -> dict[str, Any]:
    return {"type": click.IntRange(min=least), "default": default, "show_default": True}


@click.command()
@click.option("--clips", multiple=True, help="Files, as a glob pattern; repeatable.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    type=click.Choice(SETS),
    help="A set of clips by name; repeatable. Those in AV1 are encoded when first asked for.",
)
@click.option(
    "--peers",
    default=",".join(NAMES),
    callback=known_names(NAMES),
    show_default=True,
    help=f"Who is compared; {SUBJECT} always is. One that is named must be there.",
)
@click.option(
    "--patterns",
    default=",".join(STRIDES),
    callback=known_names(tuple(STRIDES)),
    show_default=True,
    help="How the frames of a batch lie.",
)
@click.option("--batches", "number", **_count(4), help="Batches of a pattern in each clip.")
@click.option("--size", **_count(10), help="Frames in a batch.")
@click.option("--repeats", **_count(3), help="Passes over all batches of a clip.")
@click.option("--seed", default="1", show_default=True, help="Chooses the batches.")
@click.option(
    "--python",
    "pythons",
    multiple=True,
    callback=_pythons,
    metavar="PEER=FILE",
    help="Interpreter of another environment for a peer.",
)
@click.option(
    "--psnr", default=40.0, show_default=True, help="dB from which a frame may be the right one."
)
@click.option("--profile/--no-profile", default=True, help=f"Where the time of {SUBJECT} goes.")
@click.option("--json", "output", type=click.Path(dir_okay=False), help="All results, to a file.")
@click.pass_context
def command(
    context: click.Context,
    clips: tuple[str, ...],
    sets: tuple[str, ...],
    peers: list[str],
    patterns: list[str],
    number: int,
    size: int,
    repeats: int,
    seed: str,
    pythons: dict[str, str],
    psnr: float,
    profile: bool,
    output: str | None,
) -> int:
    """Compare framefs with other readers of video frames by number, each on one thread."""
    named = context.get_parameter_source("peers") is not click.core.ParameterSource.DEFAULT
    if not clips and not sets:
        raise click.UsageError("nothing to measure: give --clips or --set")
    paths = _expand(clips) + _of_sets(sets)
    results = Results()
    began = machine.facts()
    chosen = [SUBJECT, *(name for name in peers if name != SUBJECT)]
    with contextlib.ExitStack() as stack:
        remotes, found = _start(chosen, pythons, stack, required=chosen if named else [SUBJECT])
        quiet = not sys.stderr.isatty()
        with Progress(console=Console(stderr=True), transient=True, disable=quiet) as progress:
            for clip, path in _labels(paths).items():
                try:
                    total = frame_count(path)
                    asked = batches(
                        total, patterns=patterns, number=number, size=size, seed=f"{seed} {clip}"
                    )
                    frames = [n for batch in asked for n in batch.frames]
                    reference = Reference(path, frames, least=psnr)
                except UnsuitableClip as error:
                    raise click.UsageError(f"{path}: {error}") from error
                short = [p for p in patterns if not fits(p, total, size)]
                if short:
                    progress.console.print(
                        f"{clip}: {total} frames, too few for {', '.join(short)}"
                    )
                if not asked:
                    continue
                run = ClipRun(remotes, clip, path, reference, results)
                run.open(asked[0].frames)
                _repeat(run, asked, repeats, seed, progress, clip, len(remotes))
                if profile:
                    run.profile(SUBJECT, asked)
    if not results.samples:
        raise click.UsageError("nothing was measured: no clip is long enough, or no peer can read")
    summary = summarize(results.samples, SUBJECT)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    report.show(console, results, summary, found, SUBJECT)
    if output is not None:
        settings = {
            "clips": paths,
            "sets": list(sets),
            "patterns": patterns,
            "batches": number,
            "size": size,
            "repeats": repeats,
            "seed": seed,
            "psnr": psnr,
        }
        ends = {**began, "load_after": machine.facts()["load"]}
        whole = report.as_json(results, summary, found, settings, ends)
        entry.write(output, whole)
    return FAULTS if results.faults else DONE


def _repeat(
    run: ClipRun,
    asked: Sequence[Batch],
    repeats: int,
    seed: str,
    progress: Progress,
    label: str,
    peers: int,
) -> None:
    task = progress.add_task(label, total=repeats * len(asked) * peers)
    for k in range(repeats):
        run.repeat(k, asked, seed, lambda: progress.advance(task))
    progress.remove_task(task)


def _expand(clips: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(os.path.abspath(path) for path in entry.files(clips)))


def _of_sets(names: Sequence[str]) -> list[str]:
    try:
        say = functools.partial(click.echo, err=True)
        return [path for name in names for path in clips_of(name, say)]
    except NoClips as error:
        raise click.UsageError(str(error)) from error


def _labels(paths: Sequence[str]) -> dict[str, str]:
    """Short names, and the paths."""
    bare = [os.path.basename(path) for path in paths]
    return dict(zip(bare if len(set(bare)) == len(bare) else paths, paths, strict=True))


def _start(
    names: Sequence[str],
    pythons: dict[str, str],
    stack: contextlib.ExitStack,
    required: Sequence[str],
) -> tuple[dict[str, Asked], dict[str, Availability]]:
    """The peers that can be used, and what is known of all."""
    remotes: dict[str, Asked] = {}
    found: dict[str, Availability] = {}
    for name in names:
        try:
            remote = stack.enter_context(Remote(name, pythons.get(name)))
            answer = remote.ask("about")
            found[name] = Availability(answer["versions"], answer["why_not"])
        except PeerFailed as error:
            found[name] = Availability(why_not=str(error))
        if not found[name].why_not:
            remotes[name] = remote
        elif name in required:
            raise click.UsageError(f"{name}: {found[name].why_not}")
    return remotes, found


def main(arguments: Sequence[str] | None = None) -> int:
    """As `bench.entry.run`."""
    return entry.run(command, "python -m bench", arguments)


if __name__ == "__main__":
    sys.exit(main())
