"""Where clips come from: the videos of a corpus, or a list; in folders, or all together."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator

from decoder.corpus import Corpus, Folder
from decoder.errors import DecoderError, SourceNotFound
from vfs.clips import Clip, ClipFolder, Clips

_FOLDERS_KEPT = 100_000

_FRESH = 0.2
"""Seconds for which all folders together are believed to be as they were."""


class CorpusClips:
    """The clips of a plain corpus: each video is one, where it lies."""

    fields: frozenset[str] = frozenset()

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._folders: dict[str, tuple[Folder, ClipFolder]] = {}

    def folder(self, relpath: str) -> ClipFolder:
        """As `Clips.folder`."""
        folder = self._corpus.folder(relpath)
        known = self._folders.get(relpath)
        if known is not None and known[0] is folder:
            return known[1]
        within = f"{relpath}/" if relpath else ""
        clips = tuple(Clip(within + name, relpath, name) for name in folder.videos)
        made = ClipFolder(folder.mtime_ns, frozenset(folder.folders), clips)
        if len(self._folders) >= _FOLDERS_KEPT:
            self._folders = {}
        self._folders[relpath] = folder, made
        return made


class FixedClips:
    """Clips that somebody has listed, for as long as this object lives.

    Args:
        clips: each in the folder that it names.
        mtime_ns: modification time of all folders.
    """

    def __init__(self, clips: Iterable[Clip], mtime_ns: int) -> None:
        inside: dict[str, list[Clip]] = {"": []}
        for clip in clips:
            inside.setdefault(clip.folder, []).append(clip)
        below: dict[str, set[str]] = {}
        for folder in list(inside):
            while folder:
                above, _, name = folder.rpartition("/")
                below.setdefault(above, set()).add(name)
                inside.setdefault(above, [])
                folder = above
        self._folders = {
            folder: ClipFolder(mtime_ns, frozenset(below.get(folder, ())), tuple(members))
            for folder, members in inside.items()
        }
        everyone = [set(clip.fields) for members in inside.values() for clip in members]
        self.fields = frozenset(set.intersection(*everyone)) if everyone else frozenset()

    def folder(self, relpath: str) -> ClipFolder:
        """As `Clips.folder`."""
        try:
            return self._folders[relpath]
        except KeyError:
            raise SourceNotFound(f"{relpath}: no such folder in the data set") from None


class FlatClips:
    """All clips in one folder, wherever they are."""

    def __init__(self, clips: Clips) -> None:
        self._clips = clips
        self._lock = threading.Lock()
        self._parts: tuple[ClipFolder, ...] = ()
        self._whole = ClipFolder(0, frozenset(), ())
        self._looked = -_FRESH

    @property
    def fields(self) -> frozenset[str]:
        """As `Clips.fields`."""
        return self._clips.fields

    def folder(self, relpath: str) -> ClipFolder:
        """As `Clips.folder`; there is only one."""
        if relpath:
            raise SourceNotFound(f"{relpath}: no such folder")
        with self._lock:
            now = time.monotonic()
            if now - self._looked >= _FRESH:
                parts = tuple(folder for _, folder in walk(self._clips))
                same = len(parts) == len(self._parts)
                if not same or any(a is not b for a, b in zip(parts, self._parts, strict=True)):
                    self._parts = parts
                    clips = tuple(clip for part in parts for clip in part.clips)
                    self._whole = ClipFolder(
                        max(part.mtime_ns for part in parts), frozenset(), clips
                    )
                self._looked = now
            return self._whole


def walk(clips: Clips, relpath: str = "") -> Iterator[tuple[str, ClipFolder]]:
    """(path, folder) of the folder ``relpath`` and of all below it, in order.

    A folder below it that cannot be listed is left out.
    """
    try:
        folder = clips.folder(relpath)
    except DecoderError:
        if not relpath:
            raise
        return
    yield relpath, folder
    for name in sorted(folder.folders):
        yield from walk(clips, f"{relpath}/{name}" if relpath else name)
