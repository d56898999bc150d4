"""``framefs inspect``."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable

import click

from cli import options
from cli.choosing import chosen, settings_options
from cli.errors import CommandFailed
from decoder.corpus import source_at
from decoder.errors import DecoderError, FrameOutOfRange
from decoder.indexing import Indexer
from decoder.store import IndexStore, default_index_path
from inspection import drawing, report
from inspection.anatomy import anatomy


class _Frames(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    name = "frames"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        text = str(value)
        frames: list[int] = []
        for part in text.split(","):
            match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
            if match is None:
                self.fail(f"{text!r} is no list of frames such as 17,90 or 20-29", param, ctx)
            low, high = int(match[1]), int(match[2] or match[1])
            if not 0 <= high - low < 10_000:
                self.fail(f"{part!r} is no range of at most 10,000 frames", param, ctx)
            frames += range(low, high + 1)
        return tuple(frames)


@click.command(name="inspect", short_help="Show how a video is built, and what frames cost.")
@click.argument("video", metavar="VIDEO", required=False)
@settings_options
@click.option("--frames", type=_Frames(), metavar="17,90", help="Show how these are read together.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.option("--plot", metavar="FILE", help="Draw it: FILE ends in .svg, .png or .pdf.")
@click.option("--model", is_flag=True, help="Show what to expect of periodic encodings.")
def command(
    video: str | None,
    texts: tuple[str, ...],
    config_file: str | None,
    index: str | None,
    frames: tuple[int, ...] | None,
    as_json: bool,
    plot: str | None,
    model: bool,
) -> None:
    """Show what VIDEO is made of, what reading it costs, and why where it is read conservatively.

    With --model and no VIDEO: the expected cost of periodic encodings over the stride.
    """
    if plot is not None:
        try:
            drawing.require(plot)
        except drawing.PlotsMissing as error:
            raise CommandFailed(str(error)) from error
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--plot") from error
    if model and video is None:
        if as_json:
            click.echo(json.dumps(report.model_data()))
        else:
            click.echo("\n".join(report.model_lines()))
        if plot is not None:
            _draw(plot, lambda: drawing.draw_model(plot))
        return
    if video is None:
        raise click.UsageError("name a video: VIDEO")
    if model:
        raise click.UsageError("--model is about no video; leave VIDEO out")
    logging.getLogger().addHandler(logging.NullHandler())  # the report says it all
    settings = chosen(options.parse(texts), config_file, index)
    indexer = Indexer(
        IndexStore(settings.index.path or default_index_path()),
        stream=settings.decoder.stream,
        rotate=settings.decoder.rotate,
    )
    try:
        source = source_at(os.path.realpath(video))
        found = indexer.stored(source) or indexer.make(source)
        asked = report.request(found, frames) if frames else None
    except FrameOutOfRange as error:
        raise click.BadParameter(str(error), param_hint="--frames") from error
    except DecoderError as error:
        raise CommandFailed(str(error)) from error
    structure = anatomy(found)
    if as_json:
        click.echo(json.dumps(report.as_data(source.path, found, structure, asked)))
    else:
        click.echo("\n".join(report.lines(source.path, found, structure)))
        if asked is not None:
            click.echo("\n".join(["", *report.request_lines(asked)]))
    if plot is not None:
        title = os.path.basename(source.path)
        _draw(plot, lambda: drawing.draw_source(plot, title, found, asked))


def _draw(path: str, draw: Callable[[], None]) -> None:
    try:
        draw()
    except OSError as error:
        raise CommandFailed(f"{path}: cannot be written ({error.strerror})") from error
