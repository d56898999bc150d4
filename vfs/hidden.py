"""Files that are there when asked for by name, and in no listing: what a mount tells of itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vfs.nodes import Attributes, FixedNode, Listing, inode_of

DIRECTORY = "/.framefs"
"""Where they are. A corpus shows no name with a leading dot, so that nothing else is there."""


@dataclass(frozen=True, slots=True)
class HiddenFile:
    """A file whose content is made anew each time it is opened.

    Its size is always the same: a reader that asks for it before it opens the file gets all.

    Attributes:
        size: bytes.
        content: makes them.
    """

    name: str
    size: int
    content: Callable[[], bytes]


class Hidden:
    """The hidden directory and its files."""

    def __init__(self, files: Sequence[HiddenFile] = ()) -> None:
        self._files = {f"{DIRECTORY}/{file.name}": file for file in files}
        self._mtime_ns = time.time_ns()
        self._attributes = {
            path: Attributes(False, inode_of(path), 1, file.size, self._mtime_ns)
            for path, file in self._files.items()
        }
        if files:
            self._attributes[DIRECTORY] = Attributes(
                True, inode_of(DIRECTORY), 2, 0, self._mtime_ns
            )

    def attributes(self, path: str) -> Attributes | None:
        """What ``stat`` tells; None of what is not hidden here."""
        return self._attributes.get(path)

    def file(self, path: str) -> HiddenFile | None:
        """The file of this path; None where there is none."""
        return self._files.get(path)

    def listing(self, path: str) -> Listing | None:
        """The entries of the directory, of which none is told; None for another path."""
        if path != DIRECTORY or not self._files:
            return None
        return Listing(FixedNode(path, (), self._mtime_ns), 0, lambda start: iter(()))
