"""What a path in the mounted tree leads to, and how it looks from outside."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import xxhash

from decoder.corpus import Folder, Source
from decoder.index import SourceIndex

ROOT_INODE = 1


@dataclass(frozen=True, slots=True)
class Attributes:
    """What ``stat`` tells of one file or directory, less owner and permissions.

    Attributes:
        directory: or a regular file.
        inode: never 0; 1 is the root.
        links: 1 for files, and for folders, whose subfolders are not counted; 2 for sources.
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
    """One name in a directory. ``attributes`` is None where they would cost more than the name."""

    name: str
    directory: bool
    inode: int
    attributes: Attributes | None


@dataclass(frozen=True, slots=True)
class FolderNode:
    """A directory of the corpus. ``relpath`` is its path there, "" for the root."""

    path: str
    relpath: str
    folder: Folder


@dataclass(frozen=True, slots=True)
class SourceNode:
    """The directory that stands for a source. ``relpath`` is the video's path in the corpus."""

    path: str
    relpath: str
    source: Source


@dataclass(frozen=True, slots=True)
class FrameNode:
    """One frame as a file.

    Attributes:
        path: in the mounted tree, and ``directory`` that of the source's directory.
        relpath: the video's path in the corpus.
        source, index: the version that the name was looked up in.
        frame: from 0.
        extension: of the file format.
    """

    path: str
    directory: str
    relpath: str
    source: Source
    index: SourceIndex
    frame: int
    extension: str


Node: TypeAlias = FolderNode | SourceNode | FrameNode


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
        node: FolderNode | SourceNode,
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
