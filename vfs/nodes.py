"""What a path in the mounted tree leads to, and how it looks from outside."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import xxhash

from decoder.corpus import Source
from vfs.clips import ClipFolder, Clips
from vfs.naming import Named
from vfs.reel import Place, Reel
from vfs.view import View

ROOT_INODE = 1


@dataclass(frozen=True, slots=True)
class Attributes:
    """What ``stat`` tells of one file or directory, less owner and permissions.

    Attributes:
        directory: or a regular file.
        inode: never 0; 1 is the root.
        links: 1 for files, and for folders, whose subfolders are not counted; 2 for what has none.
        size: bytes; 0 for directories.
        mtime_ns: nanoseconds since the epoch.
    """

    directory: bool
    inode: int
    links: int
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a directory.

    Attributes:
        attributes: None where they would cost more than the name.
        frame: (reel, position), where it is one; the one in the first format of its view.
    """

    name: str
    directory: bool
    inode: int
    attributes: Attributes | None
    frame: tuple[Reel, int] | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A view in the mounted tree.

    Attributes:
        number: of the view.
        view: what it is.
        path: the directory that shows it, "" for the root.
        clips: what there is, in folders as its layout shows them.
        files: matches the names that frames of any clip may have; None where those depend on the
            clip.
    """

    number: int
    view: View
    path: str
    clips: Clips
    files: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class FixedNode:
    """A directory that is there whatever the corpus holds. ``names`` are those of its entries."""

    path: str
    names: tuple[str, ...]
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FolderNode:
    """A folder of the corpus as a view shows it.

    Attributes:
        path: in the mounted tree.
        branch: the view.
        relpath: of the folder, "" for the root.
        folder: what is in it.
        inner: how many of the layout's fixed directories the path has behind the folder.
    """

    path: str
    branch: Branch
    relpath: str
    folder: ClipFolder
    inner: int = 0


@dataclass(frozen=True, slots=True)
class ClipNode:
    """A directory of a clip's own.

    Attributes:
        path: in the mounted tree.
        branch: the view.
        named: the clip.
        place: where its frames are.
        source: the version of its video.
        inner: the directory's place in ``place.directories``; the frames are in the last.
    """

    path: str
    branch: Branch
    named: Named
    place: Place
    source: Source
    inner: int

    @property
    def inside(self) -> str | None:
        """The path of the only directory in this one; None where the frames are in it."""
        after = self.place.directories[self.inner + 1 :]
        return after[0] if after else None


@dataclass(frozen=True, slots=True)
class FrameNode:
    """One frame as a file.

    Attributes:
        path: in the mounted tree.
        branch: the view.
        reel: the clip in the version that the name was looked up in.
        position: of the frame in the reel.
        choice: of the file format among those of the view.
    """

    path: str
    branch: Branch
    reel: Reel
    position: int
    choice: int

    @property
    def source(self) -> Source:
        """The version of the video."""
        return self.reel.source

    @property
    def frame(self) -> int:
        """The number of the frame in the video."""
        return self.reel.frame(self.position)


Node: TypeAlias = FixedNode | FolderNode | ClipNode | FrameNode


@dataclass(frozen=True, slots=True)
class Usage:
    """What ``statfs`` tells. All of it is used; nothing can be added."""

    block_size: int
    blocks: int
    files: int


class Listing:
    """The entries of one directory at one moment, made as they are asked for.

    Args:
        entries: from a number on, in order.
    """

    def __init__(
        self,
        node: FixedNode | FolderNode | ClipNode,
        length: int,
        entries: Callable[[int], Iterator[Entry]],
    ) -> None:
        self.node = node
        self._length = length
        self._entries = entries

    def __len__(self) -> int:
        return self._length

    def entries(self, start: int = 0) -> Iterator[Entry]:
        """The entries from number ``start`` on."""
        return self._entries(start)


def inode_of(path: str) -> int:
    """A number for a path in the mounted tree: the same in every mount, and never 0."""
    if path == "/":
        return ROOT_INODE
    number = xxhash.xxh3_64_intdigest(os.fsencode(path))
    return number if number > ROOT_INODE else number + 2


def join(directory: str, name: str) -> str:
    """The path of ``name`` in ``directory``; relative where that is ""."""
    if not directory:
        return name
    return f"{directory}{name}" if directory.endswith("/") else f"{directory}/{name}"
