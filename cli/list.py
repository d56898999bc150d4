"""``framefs list``."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator

import click
import msgspec

import config
from annotations.folders import FrameFolder, numbered
from annotations.formats import COUNTING, FORMATS, SPACED
from annotations.reels import folder_of, label_of
from cli import batch, options, places
from cli.choosing import chosen, settings_options
from cli.engines import job_options, local
from cli.errors import DONE, FAILED, INTERRUPTED, CommandFailed
from cli.running import complain
from config import Settings
from decoder.corpus import Source
from decoder.errors import DecoderError
from engines import Broken
from inspection.ahead import Failed, Indexed, IndexJob, tidy
from mount import composed
from vfs.errors import VfsError
from vfs.inventory import Listed
from vfs.tree import Tree

LAYOUTS = {
    "mmaction2": "mmaction2",
    "tsm": "tsm",
    "slowfast": "slowfast",
    "coco": "default",
    "imagefolder-csv": "imagefolder",
    "jsonl": "imagefolder",
}
"""For each format the layout of the loaders that read it."""


@click.command(name="list", short_help="Write the list of videos or frames that a loader wants.")
@click.argument("source", metavar="SRC", required=False)
@settings_options
@click.option("--as", "form", type=click.Choice(list(FORMATS)), required=True, help="Format.")
@click.option("--layout", metavar="NAME", help="Name frames so; by default as the loader does.")
@click.option("--prefix", default="", metavar="DIR", help="Put DIR/ before each path.")
@click.option("--output", metavar="FILE", help="Write to FILE; by default to stdout.")
@click.option("--classes", metavar="FILE", help="Take the classes from FILE, or write it.")
@job_options
def command(
    source: str | None,
    texts: tuple[str, ...],
    config_file: str | None,
    index: str | None,
    form: str,
    layout: str | None,
    prefix: str,
    output: str | None,
    classes: str | None,
    jobs: int | None,
    patience: float,
) -> int:
    """List the frames that a mount of the folder SRC shows, in the format of a loader.

    Paths and numbers are those of the loader's layout, or of the one that is chosen. The label of
    a video is the folder that it lies in. What cannot be read is left out and named on stderr:
    exit status 1.
    """
    settings = chosen(options.parse(texts), config_file, index, layout)
    if layout is None:
        settings = _with_layout_of(form, settings)
    settings = msgspec.structs.replace(settings, views={})
    found = batch.sources_of(settings, source)
    root = places.check_corpus(source or settings.source or "")
    failed = {}

    def take(video: Source, result: Indexed | Failed | Broken) -> list[str]:
        if isinstance(result, Failed | Broken):
            failed[video.path] = result.reason
        return []

    path = batch.index_path(settings)
    job = IndexJob(
        path, stream=settings.decoder.stream, rotate=settings.decoder.rotate, hashes=False
    )
    complete = batch.go_through(
        job, found.sources, verb="indexing", engine=local(jobs, patience), take=take
    )
    tidy(path)
    if not complete:
        return INTERRUPTED
    with composed(settings, root) as (tree, _):
        reader = _Reader(tree, form, prefix, failed)
        listed = tree.inventory()
        labels = [label_of(one) for one in listed]
        numbers = numbered(labels) if classes is None else _classes(classes, labels)
        _write(output, FORMATS[form](reader.folders(listed), numbers))
    for reason in found.refused:
        complain(reason)
    return FAILED if reader.failures or found.refused else DONE


class _Reader:
    """Finds out what is in clips, and says why where nothing can be shown of one."""

    def __init__(self, tree: Tree, form: str, prefix: str, failed: dict[str, str]) -> None:
        self._tree = tree
        self._form = form
        self._prefix = prefix
        self._failed = failed
        self.failures = 0

    def folders(self, listed: Iterable[Listed]) -> Iterator[FrameFolder]:
        for one in listed:
            try:
                yield self._folder(one)
            except (DecoderError, VfsError, CommandFailed) as error:
                self.failures += 1
                complain(str(error))

    def _folder(self, one: Listed) -> FrameFolder:
        source = self._tree.corpus.source(one.named.clip.relpath)
        if source.path in self._failed:
            # Trying again could take as long as it did before.
            reason = self._failed[source.path]
            known = reason.startswith(source.path)
            raise CommandFailed(reason if known else f"{source.path}: {reason}")
        folder = folder_of(one, self._tree.reel(one), self._prefix)
        if self._form in SPACED and len(folder.path.split()) != 1:
            raise CommandFailed(
                f"{folder.path}: a path with a space cannot be said in a list for {self._form}; "
                "rename the video or the folder"
            )
        if self._form in COUNTING and not one.place.directories:
            raise CommandFailed(
                f"{folder.path}: a list for {self._form} is of directories, and this layout has "
                "none for a video; choose another with --layout"
            )
        return folder


def _with_layout_of(form: str, settings: Settings) -> Settings:
    """``settings`` with the layout of the loader, where they say nothing of one."""
    frames = settings.frames
    if frames.layout == "default" and frames.directory is None and frames.file is None:
        return config.override(settings, "frames.layout", LAYOUTS[form])
    return settings


def _classes(path: str, labels: Iterable[str | None]) -> dict[str, int]:
    """The numbers of the classes by the file at ``path``, which is written where there is none."""
    present = numbered(labels)
    try:
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.writelines(f"{name}\n" for name in present)
            return present
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.strip() for line in file]
    except OSError as error:
        raise CommandFailed(f"{path}: {error.strerror}") from error
    numbers = {name: number for number, name in enumerate(filter(None, lines))}
    unknown = sorted(present.keys() - numbers.keys())
    if unknown:
        raise CommandFailed(
            f"{path}: there is no class {unknown[0]} in it; add a line, or name another file"
        )
    return numbers


def _write(output: str | None, pieces: Iterable[str]) -> None:
    """Writes a list; a file appears when it is complete."""
    if output is None:
        try:
            for piece in pieces:
                sys.stdout.buffer.write(piece.encode(errors="surrogateescape"))
            sys.stdout.flush()
        except BrokenPipeError:  # whoever reads has enough; nothing is to be flushed at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    part = f"{output}.part"
    try:
        with open(part, "wb") as file:
            for piece in pieces:
                file.write(piece.encode(errors="surrogateescape"))
        os.replace(part, output)
    except OSError as error:
        raise CommandFailed(f"{output}: cannot be written ({error.strerror})") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)
