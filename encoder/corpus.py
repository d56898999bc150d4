"""Which sources there are to encode, where each of them goes, and which are done already."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from decoder.corpus import Source
from encoder.errors import TargetFailed
from encoder.manifest import Records
from encoder.settings import Settings
from encoder.unit import Outcome

_EXTENSION = ".mp4"


@dataclass(frozen=True, slots=True)
class Unit:
    """One source that is to be encoded in one way.

    Attributes:
        target: below the folder of the results, with "/".
    """

    source: Source
    target: str
    settings: Settings

    @property
    def path(self) -> str:
        """Of the source."""
        return self.source.path


@dataclass(frozen=True, slots=True)
class Root:
    """A folder whose tree is mirrored, or the folder of a single source; and the sources in it."""

    path: str
    sources: tuple[Source, ...]
    single: bool = False


@dataclass(slots=True)
class Work:
    """What there is to do.

    Attributes:
        pending: what is to be encoded, in the order in which it is begun.
        done: what was encoded before, in this version and with these settings.
        refused: sources that are not encoded, and why.
    """

    pending: list[Unit] = field(default_factory=list)
    done: list[tuple[Unit, Outcome]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def check_place(roots: Iterable[Root], out: str) -> None:
    """Makes sure that results in the folder ``out`` leave the originals alone.

    Raises:
        TargetFailed: ``out`` is a file, or in the tree of a source.
    """
    if os.path.lexists(out) and not os.path.isdir(out):
        raise TargetFailed(f"{out}: not a folder; name the folder that the results go to")
    real = os.path.realpath(out)
    for root in roots:
        if not root.single and _inside(real, os.path.realpath(root.path)):
            raise TargetFailed(
                f"{out}: lies in the tree of the sources, {root.path}; choose a folder outside"
            )


def planned(roots: Sequence[Root], out: str, settings: Settings) -> Work:
    """All sources as pending, largest first, but those that cannot be done.

    Refused are sources that would go to the same file, and those whose file would lie in the tree
    of the sources.
    """
    work = Work()
    by_target: dict[str, list[Source]] = defaultdict(list)
    for root in roots:
        for source in root.sources:
            target = _target(os.path.relpath(source.path, root.path))
            if source not in by_target[target]:  # a folder may be named twice
                by_target[target].append(source)
    folders = _folders(by_target)
    places = _Places(roots, out)
    for target, sources in by_target.items():
        paths = sorted(source.path for source in sources)
        if len(sources) > 1:
            both = " and ".join(paths)
            work.refused.append(f"{both}: would both be {target}; rename one, or go one by one")
        elif target in folders:
            work.refused.append(f"{paths[0]}: {target} is a folder for others; rename one of them")
        elif (reason := places.wrong(target)) is not None:
            work.refused.append(f"{paths[0]}: {reason}")
        else:
            work.pending.append(Unit(sources[0], target, settings))
    work.pending.sort(key=lambda unit: (-unit.source.fingerprint.size, unit.target))
    return work


def with_references(work: Work, folder: str, extensions: Iterable[str]) -> Work:
    """``work`` where each source has the quality of its counterpart below ``folder``.

    The counterpart has the place and the name of the source, whatever its extension is.
    """
    suffixes = tuple(f".{extension.lower().lstrip('.')}" for extension in extensions)
    pending, refused = [], list(work.refused)
    for unit in work.pending:
        stem = os.path.splitext(unit.target)[0]
        found = _counterparts(os.path.join(folder, stem), suffixes)
        if len(found) == 1:
            settings = unit.settings.replaced(like=found[0])
            pending.append(replace(unit, settings=settings))
        else:
            several = " and ".join(found) or "no video"
            refused.append(f"{unit.source.path}: {several} in {folder} to be like")
    return Work(pending, list(work.done), refused)


def with_shares(work: Work, share: float) -> Work:
    """``work`` where each file may have ``share`` of the bytes of its source."""
    pending = []
    for unit in work.pending:
        target = max(1, int(unit.source.fingerprint.size * share))
        pending.append(replace(unit, settings=unit.settings.replaced(target_size=target)))
    return Work(pending, list(work.done), list(work.refused))


def remaining(work: Work, records: Records, out: str) -> Work:
    """``work`` without what ``records`` say is done, and what somebody else's file forbids."""
    left = Work(done=list(work.done), refused=list(work.refused))
    for unit in work.pending:
        outcome = records.done(unit.target)
        path = os.path.join(out, unit.target)
        if outcome is not None and _same(outcome, unit):
            left.done.append((unit, outcome))
        elif os.path.lexists(path) and not records.is_ours(unit.target):
            left.refused.append(
                f"{unit.source.path}: {path} is there and not from here; move it away"
            )
        else:
            left.pending.append(unit)
    return left


def fingerprint_text(source: Source) -> str:
    """The fingerprint as an `Outcome` has it."""
    return f"{source.fingerprint.size}-{source.fingerprint.mtime_ns}"


def _same(outcome: Outcome, unit: Unit) -> bool:
    return (
        outcome.fingerprint == fingerprint_text(unit.source) and outcome.settings == unit.settings
    )


class _Places:
    """Where results may not go."""

    def __init__(self, roots: Sequence[Root], out: str) -> None:
        self._out = out
        self._trees = [os.path.realpath(root.path) for root in roots if not root.single]
        self._sources = {os.path.realpath(s.path) for root in roots for s in root.sources}
        self._known: dict[str, str | None] = {}

    def wrong(self, target: str) -> str | None:
        """Why nothing may be put at ``target``; None if it may."""
        path = os.path.join(self._out, target)
        if os.path.realpath(path) in self._sources:
            return f"{path} is itself a source; choose another folder for the results"
        folder = os.path.dirname(path)
        if folder not in self._known:
            real = os.path.realpath(folder)
            tree = next((tree for tree in self._trees if _inside(real, tree)), None)
            self._known[folder] = tree
        if (tree := self._known[folder]) is not None:
            return f"{path} lies in the tree of the sources, {tree}; choose another folder"
        return None


def _target(relpath: str) -> str:
    return os.path.splitext(relpath)[0] + _EXTENSION


def _folders(targets: Iterable[str]) -> set[str]:
    """All that are folders where there are files with these paths."""
    found: set[str] = set()
    for target in targets:
        folder = os.path.dirname(target)
        while folder and folder not in found:
            found.add(folder)
            folder = os.path.dirname(folder)
    return found


def _counterparts(stem: str, suffixes: Collection[str]) -> list[str]:
    folder, name = os.path.split(stem)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [
        os.path.abspath(os.path.join(folder, other))
        for other in names
        if os.path.splitext(other)[0] == name and os.path.splitext(other)[1].lower() in suffixes
    ]


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
