"""What the clips of one folder are called in the tree, and which clip a name stands for. Pure.

A clip is named by its stem, ``a`` for ``a.mp4``. Where a name is wanted twice in one folder
(``a.mp4`` and ``a.mkv``, or ``a.mp4`` and a folder ``a``) the extension joins the stem: ``a_mp4``,
``a_mkv``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import xxhash

from vfs.clips import Clip
from vfs.template import Template


@dataclass(frozen=True, slots=True)
class Named:
    """A clip under the name by which it is found.

    Attributes:
        shown: the name of its directory, or where it has none the stem that its files begin with.
        stem, name: what these fields of a template mean for it.
    """

    clip: Clip
    shown: str
    stem: str
    name: str

    @property
    def values(self) -> dict[str, str | int]:
        """What fields of a template mean for this clip."""
        return {**self.clip.fields, "stem": self.stem, "name": self.name}


class Naming:
    """The names of one folder: those it shows, and what each stands for.

    Folders keep their names. Every shown name is unique, depends on nothing but the names in the
    folder, and changes only when a name appears or vanishes that it clashes with.

    Args:
        folders: names that are taken.
        template: makes the names of the clips' directories.
    """

    __slots__ = ("_named", "folders")

    def __init__(self, folders: Iterable[str], clips: Iterable[Clip], template: Template) -> None:
        self.folders = frozenset(folders)
        self._named = _assign(self.folders, tuple(clips), template)

    def named(self, shown: str) -> Named | None:
        """The clip that is shown as ``shown``, or None."""
        return self._named.get(shown)

    def clips(self) -> Iterator[Named]:
        """All clips."""
        return iter(self._named.values())


def _assign(
    folders: frozenset[str], clips: tuple[Clip, ...], template: Template
) -> Mapping[str, Named]:
    taken: dict[str, Named] = {}
    waiting = clips
    namesakes = {name for name, times in Counter(c.name for c in clips).items() if times > 1}
    step = 0
    while waiting:
        wanted = [_candidate(clip, step, template, clip.name in namesakes) for clip in waiting]
        times = Counter(one.shown for one in wanted)
        # A name that only one of them wants is settled before the others move on, so that a clash
        # never renames a bystander.
        settled = {
            one.shown: one
            for one in wanted
            if times[one.shown] == 1 and one.shown not in folders and one.shown not in taken
        }
        waiting = tuple(one.clip for one in wanted if settled.get(one.shown) is not one)
        taken.update(settled)
        step += 1
    return taken


def _digest(folder: str) -> str:
    return xxhash.xxh3_64_hexdigest(folder.encode("utf-8", "surrogateescape"))[:8]


def _candidate(clip: Clip, step: int, template: Template, namesake: bool) -> Named:
    """The name that ``clip`` would like, the second best, and so on without end."""
    stem, name = clip.stem, clip.name
    if step == 1 and clip.extension:
        stem = f"{stem}_{clip.extension}"
    elif step > 0:
        stem = name
    if step > 2:
        # Where several have the same name in different folders, only those tell them apart.
        far = f"{_digest(clip.folder)}~" if namesake else ""
        stem = name = f"{name}~{far}{step - 1}"
    shown = template.rendered({**clip.fields, "stem": stem, "name": name})
    if step > 2 and not template.names & {"stem", "name"}:
        shown = f"{shown}~{stem}"
    return Named(clip, shown, stem, name)
