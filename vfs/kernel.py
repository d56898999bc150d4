"""What the kernel has been told of the tree, and so may believe for a while.

Replies about attributes stay valid in the kernel for some time. This is the record of them: which
version of its source each frame's attributes came from. What turns out to be outdated is handed
out (twice, since a reply may have been on its way) to be invalidated.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from decoder.corpus import Source
from vfs import layout
from vfs.nodes import FolderNode, FrameNode, SourceNode, join


class Bits:
    """A set of small integers, an eighth of a byte each."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, number: int) -> None:
        """Puts ``number`` in."""
        place = number >> 3
        if place >= len(self._bytes):
            self._bytes.extend(bytes(place + 1 - len(self._bytes)))
        self._bytes[place] |= 1 << (number & 7)

    def update(self, other: Bits) -> None:
        """Puts all of ``other`` in."""
        missing = len(other._bytes) - len(self._bytes)
        if missing > 0:
            self._bytes.extend(bytes(missing))
        for place, byte in enumerate(other._bytes):
            if byte:
                self._bytes[place] |= byte

    def __contains__(self, number: int) -> bool:
        place = number >> 3
        return place < len(self._bytes) and bool(self._bytes[place] >> (number & 7) & 1)

    def __iter__(self) -> Iterator[int]:
        for place, byte in enumerate(self._bytes):
            if byte:
                yield from (place << 3 | bit for bit in range(8) if byte >> bit & 1)

    def __bool__(self) -> bool:
        return any(self._bytes)


@dataclass(slots=True)
class _Outdated:
    """What must be invalidated: frames by the digits of their names, and then the directory."""

    directory: bool = False
    frames: dict[int, Bits] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.directory

    def merge(self, other: _Outdated) -> None:
        self.directory |= other.directory
        for width, frames in other.frames.items():
            self.frames.setdefault(width, Bits()).update(frames)


@dataclass(slots=True)
class _Told:
    """What the kernel was told of one source's directory."""

    version: Source | None
    width: int
    told: float
    frames: Bits = field(default_factory=Bits)
    fresh: _Outdated = field(default_factory=_Outdated)  # never invalidated yet
    again: _Outdated = field(default_factory=_Outdated)  # invalidated once

    def move_to(self, version: Source | None, width: int) -> None:
        self.fresh.directory = True
        if self.frames:
            self.fresh.frames.setdefault(self.width, Bits()).update(self.frames)
            self.frames = Bits()
        self.version = version
        self.width = width


class KernelView:
    """The record. Thread safe; every call is short.

    Args:
        lifetime: seconds for which the kernel may believe a reply.
    """

    def __init__(self, lifetime: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.lifetime = lifetime
        self._clock = clock
        self._lock = threading.Lock()
        self._sources: dict[str, dict[str, _Told]] = {}  # by parent, then by directory
        self._folders: dict[str, tuple[int, float]] = {}  # path -> mtime_ns, when
        self._unchecked: set[str] = set()
        self._outdated: set[str] = set()
        self._next_expiry = 0.0

    def tell_folder(self, node: FolderNode) -> None:
        """Attributes of a folder are about to be told."""
        with self._lock:
            self._folders[node.path] = node.folder.mtime_ns, self._clock()

    def tell_source(self, node: SourceNode) -> None:
        """Attributes of a source's directory are about to be told."""
        with self._lock:
            self._told(node.path, node.source, None)

    def tell_frame(self, node: FrameNode) -> None:
        """Attributes of a frame are about to be told."""
        width = layout.digits(node.index.frame_count)
        with self._lock:
            told = self._told(node.directory, node.source, width)
            told.frames.add(_key(node.frame, node.extension))

    def tell_frames(self, node: SourceNode, frame_count: int, frames: Iterable[int]) -> None:
        """Attributes of listed frames are about to be told."""
        width = layout.digits(frame_count)
        with self._lock:
            told = self._told(node.path, node.source, width)
            for frame in frames:
                told.frames.add(_key(frame, layout.LISTED))

    def is_outdated(self, node: FrameNode) -> bool:
        """Whether the kernel may believe in another version of this frame than the node's."""
        with self._lock:
            told = self._sources.get(_parent(node.directory), {}).get(node.directory)
            if told is None:
                return False
            if told.version != node.source:
                return True
            key = _key(node.frame, node.extension)
            if key in told.frames:
                return False
            return any(key in frames for frames in told.fresh.frames.values())

    def has_moved_on(self, node: FrameNode) -> bool:
        """Whether the kernel was told of another version of the node's source."""
        with self._lock:
            told = self._sources.get(_parent(node.directory), {}).get(node.directory)
            return told is not None and told.version != node.source

    # For the watcher

    def folders(self) -> dict[str, int | None]:
        """All folders to look at: path -> mtime_ns told, None where only its sources were told."""
        with self._lock:
            known: dict[str, int | None] = dict.fromkeys(self._sources)
            known.update({path: mtime_ns for path, (mtime_ns, _) in self._folders.items()})
            return known

    def sources_in(self, folder: str) -> list[tuple[str, Source]]:
        """(directory, version told) of the sources of one folder."""
        with self._lock:
            return [
                (directory, told.version)
                for directory, told in self._sources.get(folder, {}).items()
                if told.version is not None
            ]

    def take_unchecked(self) -> list[tuple[str, Source]]:
        """(directory, version told) of sources that were told for the first time since last asked.

        A reply that took long may rest on what has changed since.
        """
        with self._lock:
            unchecked, self._unchecked = self._unchecked, set()
            told = [
                (directory, self._sources.get(_parent(directory), {}).get(directory))
                for directory in unchecked
            ]
        return [(path, one.version) for path, one in told if one is not None and one.version]

    def forget_folder(self, path: str) -> None:
        """The folder's attributes have been invalidated."""
        with self._lock:
            self._folders.pop(path, None)

    def outdate(self, directory: str, believed: Source) -> None:
        """All that was told of a source in the version ``believed`` is wrong now."""
        with self._lock:
            told = self._sources.get(_parent(directory), {}).get(directory)
            if told is not None and told.version == believed:
                told.move_to(None, told.width)
                self._outdated.add(directory)

    def take_outdated(self) -> list[str]:
        """The paths to invalidate now; forgets what the kernel has forgotten by itself."""
        paths: list[str] = []
        with self._lock:
            for directory in list(self._outdated):
                told = self._sources[_parent(directory)][directory]
                due = told.again
                due.merge(told.fresh)
                paths.extend(_paths(directory, due))
                told.again, told.fresh = told.fresh, _Outdated()
                if not told.again:
                    self._outdated.discard(directory)
                    if told.version is None:
                        self._forget(directory)
            now = self._clock()
            if now >= self._next_expiry:
                self._next_expiry = now + self.lifetime / 10
                self._expire(now - self.lifetime)
        return paths

    def _expire(self, before: float) -> None:
        for sources in list(self._sources.values()):
            for directory, told in list(sources.items()):
                if told.told < before and directory not in self._outdated:
                    self._forget(directory)
        for path, (_, when) in list(self._folders.items()):
            if when < before:
                del self._folders[path]

    def _forget(self, directory: str) -> None:
        parent = _parent(directory)
        sources = self._sources[parent]
        del sources[directory]
        if not sources:
            del self._sources[parent]

    def __len__(self) -> int:
        with self._lock:
            return len(self._folders) + sum(map(len, self._sources.values()))

    def _told(self, directory: str, version: Source, width: int | None) -> _Told:
        sources = self._sources.setdefault(_parent(directory), {})
        told = sources.get(directory)
        now = self._clock()
        if told is None:
            told = sources[directory] = _Told(version, width or layout.MINIMUM_DIGITS, now)
            self._unchecked.add(directory)
        elif told.version != version:
            told.move_to(version, width or told.width)
            self._outdated.add(directory)
            self._unchecked.add(directory)
        elif width is not None:
            told.width = width
        told.told = now
        return told


def _key(frame: int, extension: str) -> int:
    return frame * len(layout.EXTENSIONS) + layout.EXTENSIONS.index(extension)


def _paths(directory: str, outdated: _Outdated) -> Iterator[str]:
    if outdated.directory:
        yield directory
    for width, frames in outdated.frames.items():
        for key in frames:
            frame, extension = divmod(key, len(layout.EXTENSIONS))
            yield join(directory, layout.frame_name(frame, width, layout.EXTENSIONS[extension]))


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
