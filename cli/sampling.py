"""Samples of a corpus encoded: how large it would be, and one crf for all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import click

from cli import batch
from cli.errors import DONE, FAILED
from encoder import prediction
from encoder.common import ReferenceJob, common_crf, plain, pooled_psnr
from encoder.corpus import Unit, Work, remaining
from encoder.errors import EncodingFailed
from encoder.manifest import Manifest, Records
from encoder.prediction import Sampled
from encoder.settings import Settings
from encoder.summary import counted, ratio, size
from encoder.wish import Wish
from engines import Broken, Engine, Job

_Result = TypeVar("_Result")


def predict(work: Work, out: str, engine: Engine) -> int:
    """Says what would be done; writes nothing. The exit status."""
    work = remaining(work, Records.read(out), out)
    failures = list(work.refused)
    click.echo(
        f"{counted(len(work.pending), 'video')} to encode, "
        f"{size(sum(unit.source.fingerprint.size for unit in work.pending))}; "
        f"{len(work.done):,} done before"
    )
    samples = _sampled(prediction.SampleJob(), prediction.spread(work.pending), engine, failures)
    if samples:
        click.echo(_predicted(prediction.prediction(work.pending, samples)))
    for failure in sorted(failures):
        click.echo(f"  {failure}")
    return FAILED if failures else DONE


def with_common_crf(work: Work, wish: str, records: Records, engine: Engine) -> Work:
    """``work`` with one crf for all, by which they meet what each of them wishes for.

    The one that was chosen before, if ``records`` tell of it.

    Args:
        wish: in words, the same for the same wish.

    Raises:
        EncodingFailed: there is none.
    """
    if not work.pending:
        return work
    settings = plain(work.pending[0].settings)
    crf = records.chosen(settings, wish)
    if crf is None:
        crf = _sought(work.pending, engine)
        click.echo(f"crf {crf:g} for all, by samples of {counted(prediction.FRAMES, 'frame')}")
        if isinstance(records, Manifest):
            records.choose(settings, wish, crf)
    units = [replace(unit, settings=plain(unit.settings, crf)) for unit in work.pending]
    return Work(units, list(work.done), list(work.refused))


def _sought(units: Sequence[Unit], engine: Engine) -> float:
    chosen = prediction.spread(units)

    def trials(units: list[Unit]) -> list[Sampled]:
        return _sampled(prediction.SampleJob(), units, engine, [])

    return common_crf(units, _wish(units, chosen, engine), trials, chosen)


def _wish(units: Sequence[Unit], chosen: list[Unit], engine: Engine) -> Wish:
    """What all ``units`` together wish for."""
    settings: Settings = units[0].settings
    if settings.match_psnr is not None:
        return Wish("psnr", settings.match_psnr, settings.codec)
    if settings.match_ssim is not None:
        return Wish("ssim", settings.match_ssim, settings.codec)
    if settings.target_size is not None:
        total = sum(unit.settings.target_size or 0 for unit in units)
        return Wish("size", total, settings.codec)
    failures: list[str] = []
    references = _sampled(ReferenceJob(), chosen, engine, failures)
    if not references:
        raise EncodingFailed(f"not one reference can be measured: {failures[0]}")
    return Wish("psnr", pooled_psnr(references), settings.codec)


def _sampled(
    job: Job[Unit, _Result | str], units: Sequence[Unit], engine: Engine, failures: list[str]
) -> list[_Result]:
    """What ``job`` makes of ``units``; what it does not goes to ``failures``."""
    found: list[_Result] = []

    def take(unit: Unit, result: _Result | str | Broken) -> list[str]:
        if isinstance(result, Broken):
            failures.append(f"{unit.path}: {result.reason}")
        elif isinstance(result, str):
            failures.append(result)
        else:
            found.append(result)
        return []

    if not batch.go_through(job, units, verb="sampling", engine=engine, take=take):
        raise click.Abort
    return found


def _predicted(found: prediction.Prediction) -> str:
    """The prediction and what it is drawn from."""
    taken = max(sample.taken for sample in found.samples)
    whose = f"{len(found.samples):,} of {found.units:,} videos"
    if len(found.samples) == found.units:
        whose = "each video" if found.units > 1 else "it"
    return (
        f"about {size(found.bytes_out)} in the end, {ratio(found.bytes_out, found.bytes_in)}: "
        f"from {counted(taken, 'frame')} of {whose}"
    )
