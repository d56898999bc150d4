"""``framefs compare``."""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from cli.errors import CommandFailed
from encoder.comparison import Comparison, Side, compared, cost, rows
from encoder.errors import EncoderError
from inspection import charts, drawing

_WIDTH = 120
"""Columns of a table that goes to no terminal."""


@click.command(name="compare", short_help="Set two encodings of the same frames side by side.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.option("--plot", metavar="FILE", help="Draw it: FILE ends in .svg, .png or .pdf.")
def command(first: str, second: str, as_json: bool, plot: str | None) -> None:
    """Set the videos A and B side by side: bytes, quality of B as an encoding of A, and what frames
    cost to read.

    Both must show the same number of frames of the same size; frame n of one is compared with
    frame n of the other.
    """
    if plot is not None:
        try:
            drawing.require(plot)
        except drawing.PlotsMissing as error:
            raise CommandFailed(str(error)) from error
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--plot") from error
    logging.getLogger().addHandler(logging.NullHandler())  # the table says it all
    try:
        found = compared(first, second)
    except EncoderError as error:
        raise CommandFailed(str(error)) from error
    if as_json:
        click.echo(json.dumps(_data(found)))
    else:
        table = Table("", os.path.basename(first), os.path.basename(second))
        for row in rows(found):
            table.add_row(*row)
        Console(width=None if sys.stdout.isatty() else _WIDTH).print(table)
    if plot is not None:
        _draw(plot, found)


def _data(found: Comparison) -> dict[str, object]:
    return {
        "first": _side(found.first),
        "second": _side(found.second),
        "psnr": found.quality.psnr,
        "ssim": found.quality.mean_ssim,
        "frame_psnr": found.quality.frame_psnr,
        "frame_ssim": found.quality.ssim.tolist(),
    }


def _side(side: Side) -> dict[str, object]:
    return {
        "path": side.path,
        "bytes": side.size,
        "codec": side.codec,
        "scheme": None if side.scheme is None else asdict(side.scheme),
        "structure": asdict(side.structure),
    }


def _draw(path: str, found: Comparison) -> None:
    one, other = found.first, found.second
    pairs = zip(one.structure.patterns, other.structure.patterns, strict=True)
    try:
        charts.draw_comparison(
            path,
            (os.path.basename(one.path), os.path.basename(other.path)),
            (one.sizes, other.sizes),
            found.quality.frame_psnr,
            {a.name: (cost(a), cost(b)) for a, b in pairs},
        )
    except OSError as error:
        raise CommandFailed(f"{path}: cannot be written ({error.strerror})") from error
