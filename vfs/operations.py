"""What the filesystem answers to each request of the kernel, in Python's terms.

Knows what the kernel caches and keeps it true (`view`, `pages`); knows neither the C structures of
FUSE nor error numbers.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from vfs.contents import OpenFrame
from vfs.errors import BadHandle, IsADirectory, NoSuchAttribute, OutdatedView, ReadOnly
from vfs.hidden import Hidden
from vfs.kernel import KernelView
from vfs.nodes import (
    ROOT_INODE,
    Attributes,
    ClipNode,
    Entry,
    FolderNode,
    FrameNode,
    Listing,
    Usage,
    inode_of,
)
from vfs.pages import Opening, PageCache
from vfs.reel import Reel
from vfs.tree import Tree

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_TRUNC | os.O_APPEND | os.O_CREAT


@dataclass(slots=True)
class _File:
    frame: OpenFrame
    direct: bool
    read: bool = False


@dataclass(slots=True)
class _Directory:
    listing: Listing
    begun: bool = False


class Operations:
    """The requests. Thread safe; raises `VfsError` and `DecoderError`.

    Args:
        view: records what is told, for the watcher and for `open`.
        hidden: what is there besides the tree.
    """

    def __init__(
        self,
        tree: Tree,
        view: KernelView,
        pages: PageCache | None = None,
        hidden: Hidden | None = None,
    ) -> None:
        self.tree = tree
        self.view = view
        self._hidden = hidden or Hidden()
        self._pages = pages or PageCache()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._files: dict[int, _File] = {}
        self._snapshots: dict[int, memoryview] = {}  # of hidden files, as they were when opened
        self._directories: dict[int, _Directory] = {}

    def getattr(self, path: str, handle: int | None = None) -> Attributes:
        """Attributes of a path; of the open file where the path is gone."""
        hidden = self._hidden.attributes(path)
        if hidden is not None:
            return hidden
        try:
            node = self.tree.node(path)
            attributes = self.tree.node_attributes(node)
        except Exception:
            # A file that was removed still has a size for those who have it open.
            file = self._files.get(handle) if handle is not None else None
            if file is None:
                raise
            node = file.frame.node
            attributes = self.tree.node_attributes(node)
        match node:
            case FolderNode():
                self.view.tell_folder(node)
            case ClipNode():
                self.view.tell_clip(node)
            case FrameNode():
                self.view.tell_frame(node.reel, node.position, node.choice)
        return attributes

    def opendir(self, path: str) -> int:
        """A handle for the entries of a directory as they are now."""
        directory = _Directory(self._listing(path))
        with self._lock:
            handle = next(self._numbers)
            self._directories[handle] = directory
        return handle

    def readdir(self, handle: int, offset: int, *, plus: bool) -> Iterator[Entry]:
        """The entries from number ``offset`` on, "." and ".." being the first two.

        With ``plus`` those that have attributes count as told to the kernel. Reading from the
        start again lists anew.
        """
        directory = self._directories.get(handle)
        if directory is None:
            raise BadHandle(f"directory handle {handle}")
        if offset == 0:
            if directory.begun:
                directory.listing = self._listing(directory.listing.node.path)
            directory.begun = True
        return self._entries(directory.listing, offset, plus)

    def _listing(self, path: str) -> Listing:
        hidden = self._hidden.listing(path)
        return self.tree.listing(path) if hidden is None else hidden

    def _entries(self, listing: Listing, offset: int, plus: bool) -> Iterator[Entry]:
        node = listing.node
        if offset < 1:
            yield Entry(".", True, inode_of(node.path), None)
        if offset < 2:
            parent = node.path.rpartition("/")[0] or "/"
            yield Entry("..", True, inode_of(parent) if parent != "/" else ROOT_INODE, None)
        present: dict[Reel, bool] = {}
        for entry in listing.entries(max(0, offset - 2)):
            if plus and entry.frame is not None:
                reel, position = entry.frame
                if reel not in present:
                    present[reel] = self.tree.is_present(reel)
                if present[reel]:
                    self.view.tell_frame(reel, position)
                    yield entry
                else:
                    # The names may be read to their end, but nothing outdated is told about them.
                    yield Entry(entry.name, entry.directory, entry.inode, None)
            else:
                yield entry

    def releasedir(self, handle: int) -> None:
        """Ends the reading of a directory."""
        with self._lock:
            self._directories.pop(handle, None)

    def open(self, path: str, flags: int, process: int = 0) -> tuple[int, Opening]:
        """A handle for a frame, for a process, and how the kernel is to treat its pages.

        Raises:
            OutdatedView: the kernel's attributes come from another version. It asks for them anew
                and opens again, which the reader does not notice.
        """
        if flags & _WRITING:
            raise ReadOnly(path)
        if self._hidden.attributes(path) is not None:
            return self._open_hidden(path)
        node = self.tree.present_node(path)
        if not isinstance(node, FrameNode):
            raise IsADirectory(path)
        if self.view.is_outdated(node):
            raise OutdatedView(path)
        frame = self.tree.open(node, process)
        opening = self._pages.open(path, node.source)
        with self._lock:
            handle = next(self._numbers)
            self._files[handle] = _File(frame, opening.direct)
        return handle, opening

    def _open_hidden(self, path: str) -> tuple[int, Opening]:
        hidden = self._hidden.file(path)
        if hidden is None:
            raise IsADirectory(path)
        content = memoryview(hidden.content())
        with self._lock:
            handle = next(self._numbers)
            self._snapshots[handle] = content
        # The pages of a path are shared by all who have it open, and each has another content.
        return handle, Opening(keep=False, direct=True)

    def read(self, handle: int, offset: int, size: int) -> memoryview:
        """Bytes of an open frame; fewer than asked for only at its end."""
        file = self._files.get(handle)
        if file is None:
            snapshot = self._snapshots.get(handle)
            if snapshot is not None:
                return snapshot[offset : offset + size]
            raise BadHandle(f"file handle {handle}")
        frame = file.frame
        if not file.read:
            file.read = True
            if not file.direct:
                self._pages.read(frame.node.path, frame.node.source)
        if (
            offset + size > frame.size
            and not file.direct
            and self.view.has_moved_on(frame.node)
            and not self.tree.ends_alike(frame)
        ):
            # The kernel would take the end of the old version for the end of the new one.
            raise OutdatedView(f"{frame.node.path}: replaced while it was read; open it again")
        return self.tree.read(frame, offset, size)

    def release(self, handle: int) -> None:
        """Ends the reading of a frame."""
        with self._lock:
            file = self._files.pop(handle, None)
            self._snapshots.pop(handle, None)
        if file is None:
            return
        node = file.frame.node
        if not file.direct:
            self._pages.close(node.path, node.source)
        self.tree.release(file.frame)

    def getxattr(self, path: str, name: str) -> bytes:
        """The value of an extended attribute."""
        if self._hidden.attributes(path) is not None:
            raise NoSuchAttribute(f"{path}: {name}")
        return self.tree.attribute(path, name)

    def listxattr(self, path: str) -> list[str]:
        """The names of the extended attributes."""
        if self._hidden.attributes(path) is not None:
            return []
        return self.tree.attribute_names(path)

    def statfs(self) -> Usage:
        """What the filesystem holds."""
        return self.tree.usage()
