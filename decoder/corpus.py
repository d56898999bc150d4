"""The sources below one root: which there are now, and which version of each.

Never opens a video. Answers come from the directory and from ``stat`` and are at most
``freshness`` seconds old, so that a file that is added, removed or replaced is seen soon while a
burst of look-ups costs one system call.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from decoder.errors import SourceNotFound, SourceUnreadable

VIDEO_EXTENSIONS = tuple(
    "264 265 3g2 3gp asf av1 avc avi divx dv f4v flv gif h264 h265 hevc ivf m1v m2ts m2v m4v mj2 "
    "mjpeg mjpg mk3d mkv mov mp4 mpeg mpg mts mxf nut obu ogg ogm ogv qt rm rmvb ts vob webm wmv "
    "xvid y4m".split()
)
"""What counts as a video by default; compared without regard to case."""

_V = TypeVar("_V")

_KEPT = 100_000
"""Folders and sources remembered at once: bounds the memory, not the corpus."""

_LINKS_FRESH = 0.5
"""Seconds for which a listing with symbolic links is believed: what a link leads to may come and
go without any sign in the directory."""

_CLOCK_TICK = 1.0
"""Seconds for which a directory's mtime may stay the same although it changed again: the coarsest
common timestamps (FAT 2 s aside) tick once a second."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """One version of a file. ``size`` in bytes, ``mtime_ns`` in nanoseconds since the epoch."""

    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Source:
    """One video file in one version. ``path`` is absolute."""

    path: str
    fingerprint: Fingerprint

    def __hash__(self) -> int:
        # That of a string is kept with it, and a path seldom has two versions at the same time.
        return hash(self.path)


@dataclass(frozen=True, slots=True)
class Folder:
    """The visible names in one directory of the corpus, sorted."""

    mtime_ns: int
    folders: tuple[str, ...]
    videos: tuple[str, ...]


def fingerprint_of(status: os.stat_result) -> Fingerprint:
    """The fingerprint in the result of a ``stat``."""
    return Fingerprint(status.st_size, status.st_mtime_ns)


def source_at(path: str) -> Source:
    """The file at ``path`` as it is now.

    Raises:
        SourceNotFound: there is no regular file at ``path``.
    """
    absolute = os.path.abspath(path)
    try:
        status = os.stat(absolute)
    except OSError as error:
        raise SourceNotFound(f"{absolute}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise SourceNotFound(f"{absolute}: not a regular file")
    return Source(absolute, fingerprint_of(status))


@dataclass(frozen=True, slots=True)
class _Listing:
    folder: Folder
    version: tuple[int, int, int, int]
    links: bool  # some names are symbolic links
    scanned: float  # time.time(), comparable with timestamps
    checked: float  # time.monotonic()

    def holds(self, version: tuple[int, int, int, int], now: float) -> bool:
        """Whether the directory, now in ``version``, must still hold the same names."""
        # A directory that changed just before it was scanned may have changed again since,
        # within the same tick of its timestamps.
        settled = self.scanned - max(version[2:]) / 1e9 > _CLOCK_TICK
        fresh = not self.links or 0 <= now - self.scanned < _LINKS_FRESH
        return self.version == version and settled and fresh


class Corpus:
    """The sources below ``root``. Thread safe.

    Hidden names (with a leading dot: temporary files of rsync, AppleDouble files) are not shown.
    Symbolic links that lead out of the root are not followed unless ``follow_symlinks`` is set;
    links inside it are, unless they lead back to a directory that they are in.
    """

    def __init__(
        self,
        root: str,
        *,
        extensions: Iterable[str] = VIDEO_EXTENSIONS,
        follow_symlinks: bool = False,
        freshness: float = 0.2,
    ) -> None:
        self.root = os.path.realpath(root)
        self._suffixes = tuple(f".{extension.lower().lstrip('.')}" for extension in extensions)
        self._follow_symlinks = follow_symlinks
        self._freshness = freshness
        self._lock = threading.Lock()
        self._listings: OrderedDict[str, _Listing] = OrderedDict()
        self._sources: OrderedDict[str, tuple[Source, float]] = OrderedDict()

    def folder(self, relpath: str) -> Folder:
        """The visible names in the directory ``relpath`` ("" is the root).

        Raises:
            SourceNotFound: there is no such directory in the corpus.
            SourceUnreadable: it exists and cannot be listed.
        """
        now = time.monotonic()
        with self._lock:
            listing = self._listings.get(relpath)
        if listing is not None and now - listing.checked < self._freshness:
            return listing.folder
        path = self._inside(relpath)
        status = self._stat(path)
        if not stat.S_ISDIR(status.st_mode):
            raise SourceNotFound(f"{path}: not a directory")
        # The ctime too, since copying tools set the mtime back when they are done.
        version = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        scanned = time.time()
        if listing is not None and listing.holds(version, scanned):
            fresh = replace(listing, checked=now)
        else:
            folder, links = self._scan(path, status.st_mtime_ns)
            fresh = _Listing(folder, version, links, scanned, now)
        with self._lock:
            _remember(self._listings, relpath, fresh)
        return fresh.folder

    def source(self, relpath: str) -> Source:
        """The video at ``relpath`` in its present version.

        Raises:
            SourceNotFound: there is no such file in the corpus, or it does not count as a video.
        """
        now = time.monotonic()
        with self._lock:
            known = self._sources.get(relpath)
        if known is not None and now - known[1] < self._freshness:
            return known[0]
        path = self._inside(relpath)
        status = self._stat(path)
        if not stat.S_ISREG(status.st_mode) or not self._is_video(os.path.basename(relpath)):
            raise SourceNotFound(f"{path}: not a video file")
        source = Source(path, fingerprint_of(status))
        if known is not None and known[0] == source:
            source = known[0]
        with self._lock:
            _remember(self._sources, relpath, (source, now))
        return source

    def _scan(self, path: str, mtime_ns: int) -> tuple[Folder, bool]:
        """The visible names in a directory, and whether there are symbolic links in it."""
        folders = []
        videos = []
        links = False
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    links = links or entry.is_symlink()
                    kind = self._kind(entry)
                    if kind == "folder":
                        folders.append(entry.name)
                    elif kind == "video":
                        videos.append(entry.name)
        except OSError as error:
            raise SourceUnreadable(
                f"{path}: the directory cannot be listed ({error.strerror}); "
                "check its permissions and the disk"
            ) from error
        return Folder(mtime_ns, tuple(sorted(folders)), tuple(sorted(videos))), links

    def _kind(self, entry: os.DirEntry[str]) -> Literal["folder", "video"] | None:
        """What to show an entry as; None where it is not shown."""
        try:
            if entry.is_symlink() and not self._may_follow(entry.path):
                return None
            if entry.is_dir():
                return None if entry.is_symlink() and self._leads_back(entry.path) else "folder"
            return "video" if self._is_video(entry.name) and entry.is_file() else None
        except OSError:
            return None  # a link to itself, or to where we may not look; the others are shown

    def _leads_back(self, path: str) -> bool:
        """Whether a link to a directory leads to one above it; those who walk would never end."""
        target = os.path.realpath(path)
        above = os.path.dirname(path)
        while above != self.root:
            if os.path.realpath(above) == target:
                return True
            above = os.path.dirname(above)
        return target == self.root

    def _inside(self, relpath: str) -> str:
        path = os.path.join(self.root, relpath) if relpath else self.root
        hidden = any(part.startswith(".") for part in relpath.split("/"))
        foreign = relpath.startswith("/") or "\0" in relpath
        if hidden or foreign or not self._may_follow(path):
            raise SourceNotFound(f"{path}: no such file or directory in the corpus")
        return path

    def _may_follow(self, path: str) -> bool:
        if self._follow_symlinks:
            return True
        real = os.path.realpath(path)
        return real == self.root or real.startswith(self.root.rstrip("/") + "/")

    def _stat(self, path: str) -> os.stat_result:
        try:
            return os.stat(path)
        except OSError as error:
            raise SourceNotFound(f"{path}: {error.strerror}") from error

    def _is_video(self, name: str) -> bool:
        return os.path.splitext(name)[1].lower() in self._suffixes


def _remember(memory: OrderedDict[str, _V], key: str, value: _V) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _KEPT:
        memory.popitem(last=False)
