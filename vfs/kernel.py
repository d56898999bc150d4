"""What the kernel has been told of the tree, and so may believe for a while.

Replies about attributes stay valid in the kernel for some time. This is the record of them: which
version of its source each frame's attributes came from. What turns out to be outdated is handed
out (twice, since a reply may have been on its way) to be invalidated.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from decoder.corpus import Source
from vfs.names import FrameNames
from vfs.nodes import ClipNode, FolderNode, FrameNode, join
from vfs.reel import Place, Reel


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
    """What must be invalidated: frames by the names they had, and then the directories."""

    directories: bool = False
    frames: dict[FrameNames, Bits] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.directories

    def merge(self, other: _Outdated) -> None:
        self.directories |= other.directories
        for names, frames in other.frames.items():
            self.frames.setdefault(names, Bits()).update(frames)


@dataclass(slots=True)
class _Told:
    """What the kernel was told of the clip in one place."""

    version: Source | None
    names: FrameNames | None
    told: float
    frames: Bits = field(default_factory=Bits)
    fresh: _Outdated = field(default_factory=_Outdated)  # never invalidated yet
    again: _Outdated = field(default_factory=_Outdated)  # invalidated once

    def move_to(self, version: Source | None, names: FrameNames | None) -> None:
        self.fresh.directories = True
        if self.frames and self.names is not None:
            self.fresh.frames.setdefault(self.names, Bits()).update(self.frames)
            self.frames = Bits()
        self.version = version
        self.names = names


class KernelView:
    """The record. Thread safe; every call is short.

    Args:
        lifetime: seconds for which the kernel may believe a reply.
    """

    def __init__(self, lifetime: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.lifetime = lifetime
        self._clock = clock
        self._lock = threading.Lock()
        self._clips: dict[str, dict[Place, _Told]] = {}  # by the folder in which they are named
        self._folders: dict[str, tuple[int, float]] = {}  # path -> mtime_ns, when
        self._unchecked: set[Place] = set()
        self._outdated: set[Place] = set()
        self._next_expiry = 0.0

    def tell_folder(self, node: FolderNode) -> None:
        """Attributes of a folder are about to be told."""
        with self._lock:
            self._folders[node.path] = node.folder.mtime_ns, self._clock()

    def tell_clip(self, node: ClipNode) -> None:
        """Attributes of a clip's directory are about to be told."""
        with self._lock:
            self._told(node.place, node.source, None)

    def tell_frame(self, reel: Reel, position: int, choice: int = 0) -> None:
        """Attributes of a frame, asked for or listed, are about to be told."""
        with self._lock:
            told = self._told(reel.place, reel.source, reel.names)
            told.frames.add(_key(reel.names, position, choice))

    def is_outdated(self, node: FrameNode) -> bool:
        """Whether the kernel may believe in another version of this frame than the node's."""
        reel = node.reel
        with self._lock:
            told = self._clips.get(reel.place.folder, {}).get(reel.place)
            if told is None:
                return False
            if told.version != reel.source:
                return True
            key = _key(reel.names, node.position, node.choice)
            if key in told.frames:
                return False
            return any(key in frames for frames in told.fresh.frames.values())

    def has_moved_on(self, node: FrameNode) -> bool:
        """Whether the kernel was told of another version of the node's source."""
        place = node.reel.place
        with self._lock:
            told = self._clips.get(place.folder, {}).get(place)
            return told is not None and told.version != node.source

    # For the watcher

    def folders(self) -> dict[str, int | None]:
        """All folders to look at: path -> mtime_ns told, None where only its clips were told."""
        with self._lock:
            known: dict[str, int | None] = dict.fromkeys(self._clips)
            known.update({path: mtime_ns for path, (mtime_ns, _) in self._folders.items()})
            return known

    def clips_in(self, folder: str) -> list[tuple[Place, Source]]:
        """(place, version told) of the clips of one folder."""
        with self._lock:
            return [
                (place, told.version)
                for place, told in self._clips.get(folder, {}).items()
                if told.version is not None
            ]

    def take_unchecked(self) -> list[tuple[Place, Source]]:
        """(place, version told) of clips that were told for the first time since last asked.

        A reply that took long may rest on what has changed since.
        """
        with self._lock:
            unchecked, self._unchecked = self._unchecked, set()
            told = [(place, self._clips.get(place.folder, {}).get(place)) for place in unchecked]
        return [(place, one.version) for place, one in told if one is not None and one.version]

    def forget_folder(self, path: str) -> None:
        """The folder's attributes have been invalidated."""
        with self._lock:
            self._folders.pop(path, None)

    def outdate(self, place: Place, believed: Source) -> None:
        """All that was told of a clip in the version ``believed`` is wrong now."""
        with self._lock:
            told = self._clips.get(place.folder, {}).get(place)
            if told is not None and told.version == believed:
                told.move_to(None, told.names)
                self._outdated.add(place)

    def take_outdated(self) -> list[str]:
        """The paths to invalidate now; forgets what the kernel has forgotten by itself."""
        paths: list[str] = []
        with self._lock:
            for place in list(self._outdated):
                told = self._clips[place.folder][place]
                due = told.again
                due.merge(told.fresh)
                paths.extend(_paths(place, due))
                told.again, told.fresh = told.fresh, _Outdated()
                if not told.again:
                    self._outdated.discard(place)
                    if told.version is None:
                        self._forget(place)
            now = self._clock()
            if now >= self._next_expiry:
                self._next_expiry = now + self.lifetime / 10
                self._expire(now - self.lifetime)
        return paths

    def _expire(self, before: float) -> None:
        for clips in list(self._clips.values()):
            for place, told in list(clips.items()):
                if told.told < before and place not in self._outdated:
                    self._forget(place)
        for path, (_, when) in list(self._folders.items()):
            if when < before:
                del self._folders[path]

    def _forget(self, place: Place) -> None:
        clips = self._clips[place.folder]
        del clips[place]
        if not clips:
            del self._clips[place.folder]

    def __len__(self) -> int:
        with self._lock:
            return len(self._folders) + sum(map(len, self._clips.values()))

    def _told(self, place: Place, version: Source, names: FrameNames | None) -> _Told:
        clips = self._clips.setdefault(place.folder, {})
        told = clips.get(place)
        now = self._clock()
        if told is None:
            told = clips[place] = _Told(version, names, now)
            self._unchecked.add(place)
        elif told.version != version:
            told.move_to(version, names or told.names)
            self._outdated.add(place)
            self._unchecked.add(place)
        elif names is not None:
            told.names = names
        told.told = now
        return told


def _key(names: FrameNames, position: int, choice: int) -> int:
    return position * len(names.extensions) + choice


def _paths(place: Place, outdated: _Outdated) -> Iterator[str]:
    if outdated.directories:
        yield from place.directories
    for names, frames in outdated.frames.items():
        for key in frames:
            position, choice = divmod(key, len(names.extensions))
            yield join(place.files, names.name(position, choice))
