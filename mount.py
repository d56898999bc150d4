#!/usr/bin/env python3
"""The mount command, and the one place where the parts of a mount are put together.

settings -> corpus -> index store -> frame service -> tree -> FUSE

Also works as ``/sbin/mount.framefs`` for mount(8) and fstab: a link to ``framefs`` or to this file.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import click

import config
from cli import daemon, helper, limits, logs, machine, options, places
from cli.choosing import chosen
from cli.errors import CommandFailed
from cli.notify import notify
from cli.ready import Readiness
from cli.running import run
from cli.streams import CapturedStderr
from cli.views import check_views, views_of
from config import Settings
from decoder.corpus import Corpus
from decoder.service import FrameService
from decoder.store import IndexStore, default_index_path
from vfs import lerobot
from vfs.adapter import MountOptions, serve
from vfs.catalog import CorpusClips, FixedClips
from vfs.clips import Clips
from vfs.errors import DataSetUnreadable, MountFailed
from vfs.report import Reporter
from vfs.traffic import Traffic
from vfs.tree import Tree

logger = logging.getLogger("framefs")


@dataclass(frozen=True, slots=True)
class MountRequest:
    """What to mount, where and how. Paths as the user gave them."""

    source: str
    mountpoint: str
    settings: Settings
    fuse_options: tuple[str, ...] = ()
    nonempty: bool = False
    foreground: bool = False
    debug: bool = False


def mount(request: MountRequest, announce: Callable[[str, str], None] | None = None) -> None:
    """Mount, and return when the mount answers, or in the foreground when it has been unmounted.

    Args:
        announce: called with the real paths of the corpus and of the mount point when it answers.

    Raises:
        CommandFailed: it cannot be mounted; the message says why and what to do.
        ConfigError: the frames of this corpus cannot be shown as the settings say.
    """
    source = places.check_corpus(request.source)
    mountpoint = places.check_mountpoint(request.mountpoint)
    places.check_apart(source, mountpoint)
    if not request.nonempty:
        places.check_empty(mountpoint)
    machine.require(machine.checks(allow_other=request.settings.mount.allow_other))
    check_views(views_of(request.settings), clips_of(corpus_of(request.settings, source)))

    def announced() -> None:
        if announce is not None:
            announce(source, mountpoint)

    if request.foreground:
        _serve(request, source, mountpoint, announced)
    else:
        daemon.start(lambda ready: _serve(request, source, mountpoint, ready))
        announced()


def corpus_of(settings: Settings, source: str) -> Corpus:
    """The corpus at ``source``."""
    return Corpus(
        source,
        extensions=settings.corpus.extensions,
        follow_symlinks=settings.corpus.follow_symlinks,
    )


def clips_of(corpus: Corpus) -> Clips:
    """What there is to show: the episodes of a LeRobot data set, or else every video.

    Raises:
        CommandFailed: the data set's description cannot be followed.
    """
    if not lerobot.is_data_set(corpus.root):
        return CorpusClips(corpus)
    try:
        return FixedClips(lerobot.read(corpus.root).clips(), corpus.folder("").mtime_ns)
    except DataSetUnreadable as error:
        raise CommandFailed(str(error)) from error


@contextlib.contextmanager
def composed(settings: Settings, source: str) -> Iterator[tuple[Tree, FrameService]]:
    """The tree over the corpus at ``source``, and what decodes for it; closed at the end.

    Raises:
        CommandFailed: the file named for the indexes cannot be used, or the corpus is a data set
            whose description cannot be followed.
        ConfigError: the settings for frames are wrong or contradict each other.
    """
    views = views_of(settings)
    store = IndexStore(settings.index.path or default_index_path())
    # Where nobody chose a place it is done without one; a chosen one is meant.
    if settings.index.path is not None and (problem := store.problem()):
        raise CommandFailed(
            f"index.path: {settings.index.path} cannot be used ({problem}); choose another"
        )
    stock = settings.cache.size // 2
    service = FrameService(
        store=store,
        stream=settings.decoder.stream,
        rotate=settings.decoder.rotate,
        readers=settings.decoder.readers,
        verify=settings.decoder.verify,
        stock=stock,
        deadline=settings.decoder.deadline,
    )
    corpus = corpus_of(settings, source)
    try:
        tree = Tree(
            corpus,
            service,
            views=views,
            clips=clips_of(corpus),
            cache_bytes=settings.cache.size - stock,
            statistics=service.statistics,
        )
        yield tree, service
    finally:
        service.close()


def _serve(
    request: MountRequest, source: str, mountpoint: str, announced: Callable[[], None]
) -> None:
    settings = request.settings
    limits.keep_frames_in_place()
    import sys as _s

    _s.setswitchinterval(float(os.environ.get("SWI", "0.005")))
    limits.allow_open_files()
    captured = CapturedStderr()
    try:
        stderr_used = logs.configure(
            settings.logging, daemon=not request.foreground, stderr=captured.original
        )

        def answered() -> None:
            _log_lines(captured.release())
            if not request.foreground and not stderr_used:
                captured.let_go()
            if not request.foreground:
                logger.info("%s is mounted at %s", source, mountpoint)
            else:
                _tell_manager("READY=1", f"STATUS={source} is mounted at {mountpoint}")
            announced()

        with composed(settings, source) as (tree, service):
            _run_filesystem(tree, service, request, mountpoint, captured, answered)
    finally:
        _log_lines(captured.release())
    logger.info("%s is unmounted from %s", source, mountpoint)


def _run_filesystem(
    tree: Tree,
    service: FrameService,
    request: MountRequest,
    mountpoint: str,
    captured: CapturedStderr,
    answered: Callable[[], None],
) -> None:
    wanted = request.settings.mount
    readiness = Readiness(mountpoint, answered)
    mount_options = MountOptions(
        uid=wanted.uid,
        gid=wanted.gid,
        umask=wanted.umask,
        allow_other=wanted.allow_other,
        max_threads=wanted.threads,
        read_ahead_kib=wanted.read_ahead // 1024,
        debug=request.debug,
        extra=request.fuse_options,
        on_ready=readiness.start,
        # who still waits for a frame when the mount is to end gives up
        on_exit=service.close,
    )
    traffic = Traffic()
    reporter = Reporter(service, tree, traffic)
    try:
        serve(tree, mountpoint, mount_options, traffic=traffic, hidden=[reporter.file()])
    except MountFailed as error:
        said = captured.release()
        raise CommandFailed(f"{error} ({said[-1]})" if said else str(error)) from error
    finally:
        readiness.stop()
        if request.foreground:
            _tell_manager("STOPPING=1")


def _log_lines(lines: Sequence[str]) -> None:
    for line in lines:
        logger.warning("%s", line)


def _tell_manager(*assignments: str) -> None:
    try:
        notify(*assignments)
    except (OSError, ValueError) as error:
        logger.error("the service manager cannot be told %s: %s", assignments[0], error)


def _say(source: str, mountpoint: str) -> None:
    click.echo(f"{source} is mounted at {mountpoint}")


@click.command(name="mount", short_help="Show every frame of a folder of videos as a file.")
@click.argument("source", metavar="SRC", required=False)
@click.argument("mountpoint", metavar="MNT", required=False)
@click.option("-o", "texts", metavar="OPT[,OPT...]", multiple=True, help=options.HELP)
@click.option("--config", "config_file", metavar="FILE", help="Read settings from a YAML file.")
@click.option("--layout", metavar="NAME", help="Name frames so; framefs layouts lists them.")
@click.option("--index", metavar="FILE", help='Keep the indexes in FILE, or in ":memory:".')
@click.option("-f", "--foreground", is_flag=True, help="Stay in the foreground until unmounted.")
@click.option("-d", "--debug", is_flag=True, help="Foreground, with every request in the log.")
@click.option("-v", "--verbose", is_flag=True, help="Say when the mount answers.")
@click.option("-s", "--sloppy", is_flag=True, help="Pass over unknown options in -o.")
@click.option("-n", "no_mtab", is_flag=True, hidden=True)
def command(
    source: str | None,
    mountpoint: str | None,
    texts: tuple[str, ...],
    config_file: str | None,
    layout: str | None,
    index: str | None,
    foreground: bool,
    debug: bool,
    verbose: bool,
    sloppy: bool,
    no_mtab: bool,
) -> None:
    """Mount the videos below the folder SRC at MNT, every frame of theirs as a file.

    Returns when the mount answers; unmount with framefs umount MNT. A configuration file may name
    SRC and MNT itself (source and mountpoint).
    """
    parsed = options.parse(texts, sloppy=sloppy)
    settings = chosen(parsed, config_file, index, layout)
    if debug:
        settings = config.override(settings, "logging.level", "debug")
    source = source or settings.source
    mountpoint = mountpoint or settings.mountpoint
    if source is None or mountpoint is None:
        raise click.UsageError("name the folder of videos and the folder to mount at: SRC MNT")
    foreground = foreground or debug
    request = MountRequest(
        source=source,
        mountpoint=mountpoint,
        settings=settings,
        fuse_options=parsed.fuse,
        nonempty=parsed.nonempty,
        foreground=foreground,
        debug=debug,
    )
    mount(request, announce=_say if foreground or verbose else None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mount command, as mount(8)'s helper where it is called so; the exit status."""
    name = os.path.basename(sys.argv[0])
    given = list(sys.argv[1:] if arguments is None else arguments)
    if helper.is_helper(name):
        translated = helper.arguments(given)
        if translated is None:
            return 0
        given = translated
    return run(command, name, given)


if __name__ == "__main__":
    sys.exit(main())
