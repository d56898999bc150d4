"""``framefs transcode``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from cli import batch, exploring, progress, sampling
from cli.engines import chosen_engine, engine_options
from cli.errors import DONE, FAILED, INTERRUPTED, CommandFailed
from config.values import ByteSize
from decoder.corpus import VIDEO_EXTENSIONS, source_at
from decoder.errors import DecoderError
from encoder import corpus
from encoder.corpus import Root, Work
from encoder.errors import EncoderError, SettingsError
from encoder.explore import PATTERNS
from encoder.explore import explore as explore_sources
from encoder.manifest import NAME, Manifest, Records
from encoder.running import Failed, Made, run
from encoder.settings import PROFILES, Settings
from encoder.summary import counted, summary
from engines import Engine
from engines.cluster import NoCluster
from inspection.sources import find

_ATTEMPTS = 2
"""Processes that may die of one video."""

_EXPLORED = 4
"""Videos that structures are tried on."""


def _target(context: click.Context, param: click.Parameter, text: str | None) -> float | int | None:
    """Bytes, or the part of a source's size."""
    if text is None:
        return None
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else int(ByteSize.parse(text))
    except (ValueError, OverflowError):
        value = 0
    if not 0 < value < float("inf"):
        raise click.BadParameter(f"{text!r} is neither a size such as 20MB nor a part such as 25%")
    return value


def _size(context: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Bytes, at least 1."""
    value = _target(context, param, text)
    if value is not None and not isinstance(value, int):
        raise click.BadParameter(f"{text!r} is no size such as 200MB")
    return value


@click.command(name="transcode", short_help="Encode videos so that any frame is cheap to read.")
@click.argument("sources", metavar="SRC...", nargs=-1)
@click.argument("out", metavar="OUT", required=False)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="fast",
    show_default=True,
    help="Where all other settings come from that are not given.",
)
@click.option("--crf", type=float, metavar="N", help="Quality, in the scale of the encoder.")
@click.option("--match-psnr", type=float, metavar="DB", help="RGB PSNR that is to be reached.")
@click.option("--match-ssim", type=float, metavar="N", help="SSIM that is to be reached.")
@click.option(
    "--like",
    metavar="REFERENCE",
    type=click.Path(exists=True),
    help="Another encoding whose RGB PSNR is to be met: a video, or a folder with one for each.",
)
@click.option(
    "--target-size",
    callback=_target,
    metavar="SIZE",
    help="What each file may have: 20MB, or 25% of its source.",
)
@click.option(
    "--per-corpus",
    is_flag=True,
    help="All videos together are to reach that, with one crf; not each by itself.",
)
@click.option("--structure", type=click.Choice(["ddra", "hierarchical"]), help="Who reads whom.")
@click.option("--codec", type=click.Choice(["h264", "h265", "av1"]), help="H.264, H.265 or AV1.")
@click.option("--anchors", type=click.Choice(["fixed", "adaptive"]), help="Where anchors are.")
@click.option("--interval", type=int, metavar="N", help="Frames from anchor to anchor.")
@click.option("--segment", type=int, metavar="N", help="Frames of a part that refers to no other.")
@click.option("--bound", type=int, metavar="N", help="Pictures that a frame costs at most.")
@click.option("--preset", metavar="NAME", help="Of the encoder.")
@click.option("--fastdecode/--no-fastdecode", default=None, help="Without what is slow to decode.")
@click.option("--retime", is_flag=True, help="Also where timestamps run backwards, at one rate.")
@click.option("--keep-tracks", is_flag=True, help="Copy audio and data as well.")
@click.option("--follow-symlinks", is_flag=True, help="Also where links lead out of SRC.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and how large it would be.")
@click.option(
    "--explore",
    is_flag=True,
    help="Try all structures on a few of the videos, and say which is cheapest; no OUT.",
)
@click.option("--bandwidth", callback=_size, metavar="SIZE", help="Of the storage, a second.")
@click.option("--pattern", type=click.Choice(PATTERNS), help="How frames are read most.")
@click.option("--plot", metavar="FILE", help="Draw the exploration (.svg, .png, .pdf).")
@engine_options
def command(
    sources: tuple[str, ...],
    out: str | None,
    like: str | None,
    target_size: float | int | None,
    per_corpus: bool,
    follow_symlinks: bool,
    dry_run: bool,
    explore: bool,
    bandwidth: int | None,
    pattern: str | None,
    plot: str | None,
    engine: str,
    address: str | None,
    jobs: int | None,
    patience: float,
    **chosen: Any,
) -> int:
    """Encode the videos SRC, and all below the folders SRC, into the folder OUT.

    Below OUT is the same tree, each video with the extension .mp4. Originals are not touched. What
    is there already, of the same version and with the same settings, is passed over: what Ctrl-C
    or anything else has stopped goes on where it was. OUT/framefs-transcode.jsonl has a line for
    each file. Exit status 1 if one failed.
    """
    if explore:
        return _explore(
            (*sources, *filter(None, [out])), chosen, follow_symlinks, bandwidth, pattern, plot
        )
    if bandwidth is not None or pattern is not None or plot is not None:
        raise click.UsageError("--bandwidth, --pattern and --plot go with --explore")
    if out is None or not sources:
        raise click.UsageError("name what to encode, and the folder for the results: SRC... OUT")
    out = os.path.abspath(out)
    given = {name: value for name, value in chosen.items() if value is not None}
    using = chosen_engine(engine, address, jobs, patience, _ATTEMPTS)
    try:
        work = _work(sources, out, given, like, target_size, per_corpus, follow_symlinks)
        wish = _wish(per_corpus, work, given, like, target_size)
        if dry_run:
            if wish is not None:
                work = sampling.with_common_crf(work, wish, Records.read(out), using)
            return sampling.predict(work, out, using)
        return _encode(work, out, using, wish, keeps_tracks=bool(given.get("keep_tracks")))
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    except (EncoderError, NoCluster) as error:
        raise CommandFailed(str(error)) from error


def _work(
    sources: Sequence[str],
    out: str,
    given: dict[str, Any],
    like: str | None,
    target_size: float | int | None,
    per_corpus: bool,
    follow_symlinks: bool,
) -> Work:
    """What there is to do, whatever of it is done already."""
    if like is not None and not os.path.isdir(like):
        given = {**given, "like": os.path.abspath(like)}
    if isinstance(target_size, int) and not per_corpus:
        given = {**given, "target_size": target_size}
    settings = Settings.of_profile(**given)
    roots, refused = _roots(sources, follow_symlinks)
    corpus.check_place(roots, out)
    work = corpus.planned(roots, out, settings)
    work.refused += refused
    if "like" in given and len(work.pending) > 1:
        raise click.UsageError(
            "--like: one video cannot be the reference of several; name a folder"
        )
    if like is not None and "like" not in given:
        work = corpus.with_references(work, os.path.abspath(like), VIDEO_EXTENSIONS)
    if isinstance(target_size, int) and per_corpus:
        target_size /= max(1, sum(unit.source.fingerprint.size for unit in work.pending))
    if isinstance(target_size, float):
        work = corpus.with_shares(work, target_size)
    return work


def _explore(
    sources: Sequence[str],
    chosen: dict[str, Any],
    follow_symlinks: bool,
    bandwidth: int | None,
    pattern: str | None,
    plot: str | None,
) -> int:
    """Tries structures on the largest, the smallest and some videos in between."""
    if not sources:
        raise click.UsageError("name what to try structures on: SRC... --explore")
    roots, _ = _roots(sources, follow_symlinks)
    paths = sorted(
        {s.path: s.fingerprint.size for root in roots for s in root.sources}.items(),
        key=lambda one: (-one[1], one[0]),
    )
    count = min(_EXPLORED, len(paths))
    picked = [paths[n * (len(paths) - 1) // max(1, count - 1)][0] for n in range(count)]
    say = Console(stderr=True)
    try:
        with batch.interruptible(), say.status("exploring") as status:
            found = explore_sources(picked, psnr=chosen["match_psnr"], say=status.update)
    except EncoderError as error:
        raise CommandFailed(str(error)) from error
    exploring.show(found, bandwidth=bandwidth, pattern=pattern)
    if plot is not None:
        exploring.plot(plot, found, bandwidth)
    return DONE


def _wish(
    per_corpus: bool,
    work: Work,
    given: dict[str, Any],
    like: str | None,
    target_size: float | int | None,
) -> str | None:
    """What all videos together are to reach, in words; None where each does by itself."""
    if not per_corpus:
        return None
    wishes = {name: given.get(name) for name in ("match_psnr", "match_ssim")}
    wishes["like"] = None if like is None else os.path.abspath(like)
    wishes["target_size"] = target_size
    if work.pending and not work.pending[0].settings.searches:
        raise click.UsageError(
            "--per-corpus: of what? say --match-psnr, --match-ssim, --like or --target-size"
        )
    return " ".join(f"{name}={value}" for name, value in wishes.items() if value is not None)


def _roots(sources: Sequence[str], follow_symlinks: bool) -> tuple[list[Root], list[str]]:
    roots, refused = [], []
    for path in sources:
        try:
            if not os.path.isdir(path):
                source = source_at(path)
                roots.append(Root(os.path.dirname(source.path), (source,), single=True))
                continue
            found = find(path, extensions=VIDEO_EXTENSIONS, follow_symlinks=follow_symlinks)
        except DecoderError as error:
            raise CommandFailed(f"{error}; check the path") from error
        roots.append(Root(os.path.realpath(path), tuple(found.sources)))
        refused += found.refused
    if not refused and not any(root.sources for root in roots):
        raise CommandFailed(f"{' '.join(sources)}: there is no video in it")
    return roots, refused


def _encode(work: Work, out: str, engine: Engine, wish: str | None, *, keeps_tracks: bool) -> int:
    results: list[Made | Failed] = []
    complete = True
    with Manifest(out) as manifest:
        if manifest.unreadable:
            click.echo(f"{manifest.path}: line {manifest.unreadable[0]} is passed over", err=True)
        if wish is not None:
            work = sampling.with_common_crf(work, wish, manifest, engine)
        work = corpus.remaining(work, manifest, out)
        before = [outcome for _, outcome in work.done]
        with batch.interruptible(), progress.corpus_bar(work.pending) as bar:
            running = run(work.pending, out, manifest, engine, bar.watch)
            try:
                for result in running:
                    results.append(result)
                    bar.take(result)
            except KeyboardInterrupt:
                complete = False
            finally:
                running.close()
    made = [result.outcome for result in results if isinstance(result, Made)]
    failures = work.refused + [result.reason for result in results if isinstance(result, Failed)]
    for line in summary(made, before, failures):
        click.echo(line)
    if not keeps_tracks:
        click.echo("  audio and data are left out; --keep-tracks copies them")
    click.echo(os.path.join(out, NAME))
    if not complete:
        left = counted(len(work.pending) - len(results), "video")
        click.echo(f"stopped with {left} to go; the same command goes on from here", err=True)
        return INTERRUPTED
    return FAILED if failures else DONE
