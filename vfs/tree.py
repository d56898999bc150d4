"""The filesystem without FUSE: paths to nodes, nodes to attributes, listings and bytes.

Nothing here waits for another source than the one a path names. Only frames (and the listing of a
source) need an index; everything else comes from the directories of the corpus.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from decoder.corpus import Corpus, Source
from decoder.errors import DecoderError, SourceNotFound
from decoder.index import SourceIndex
from vfs import layout
from vfs.cache import CacheStats
from vfs.contents import Contents, OpenFrame
from vfs.errors import IsADirectory, NoSuchAttribute, NotADirectory, NotSupported
from vfs.formats import FORMATS, PixelFormat
from vfs.layout import Naming
from vfs.nodes import (
    Attributes,
    Entry,
    FolderNode,
    FrameNode,
    Listing,
    Node,
    SourceNode,
    Usage,
    inode_of,
    join,
)
from vfs.resolver import Resolver, Service

ATTRIBUTE_PREFIX = "user.framefs."

DEFAULT_CACHE_BYTES = 1 << 30


class Tree:
    """All sources of a corpus, as directories of frame files. Thread safe.

    Args:
        depth: bits per sample; 16 concerns sources that have more than 8.
        color: "rgb" or "gray".
        cache_bytes: budget for decoded frames.
    """

    def __init__(
        self,
        corpus: Corpus,
        service: Service,
        *,
        depth: Literal[8, 16] = 8,
        color: Literal["rgb", "gray"] = "rgb",
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        self.corpus = corpus
        self._service = service
        self._shallow: PixelFormat = "rgb24" if color == "rgb" else "gray"
        deep: PixelFormat = "rgb48le" if color == "rgb" else "gray16le"
        self._deep: PixelFormat = deep if depth == 16 else self._shallow
        self._resolver = Resolver(corpus, service)
        self._contents = Contents(service, cache_bytes)

    # Paths

    def node(self, path: str) -> Node:
        """What a path leads to; see `Resolver.node`."""
        return self._resolver.node(path)

    def present_node(self, path: str) -> Node:
        """What a path leads to at this very moment; see `Resolver.present_node`."""
        return self._resolver.present_node(path)

    def naming(self, node: FolderNode) -> Naming:
        """What the entries of a folder are called."""
        return self._resolver.naming(node.relpath, node.folder)

    # Attributes

    def attributes(self, path: str) -> Attributes:
        """What ``stat`` tells of ``path``; errors as of `node`."""
        return self.node_attributes(self.node(path))

    def node_attributes(self, node: Node) -> Attributes:
        """What ``stat`` tells of a node."""
        inode = inode_of(node.path)
        match node:
            case FolderNode():
                return Attributes(True, inode, 1, 0, node.folder.mtime_ns)
            case SourceNode():
                return Attributes(True, inode, 2, 0, node.source.fingerprint.mtime_ns)
            case FrameNode():
                size = self._size(node.index, node.frame, node.extension)
                return Attributes(False, inode, 1, size, node.source.fingerprint.mtime_ns)

    def ends_alike(self, file: OpenFrame) -> bool:
        """Whether an open frame ends where the present version of it does, or there is none."""
        node = file.node
        try:
            known = self._service.known(self.corpus.source(node.relpath))
        except SourceNotFound:
            return True
        if not isinstance(known, SourceIndex) or node.frame >= known.frame_count:
            return known is not None
        return self._size(known, node.frame, node.extension) == file.size

    def _size(self, index: SourceIndex, frame: int, extension: str) -> int:
        height, width = index.shape(frame)
        return FORMATS[extension].size(height, width, self._pixel_format(index, frame))

    def _pixel_format(self, index: SourceIndex, frame: int) -> PixelFormat:
        if self._deep == self._shallow or index.bits(frame) <= 8:
            return self._shallow
        return self._deep

    # Listings

    def listing(self, path: str) -> Listing:
        """The entries of a directory, without "." and "..".

        Waits for the index when it is a source, and for nothing when it is a folder.

        Raises:
            NotADirectory, and the errors of `node`; DecoderError for a source without an index.
        """
        node = self.node(path)
        if isinstance(node, FrameNode):
            raise NotADirectory(path)
        if isinstance(node, FolderNode):
            return self._folder_listing(node)
        source, index = self._resolver.indexed(node.relpath)
        return self._source_listing(SourceNode(node.path, node.relpath, source), index)

    def _folder_listing(self, node: FolderNode) -> Listing:
        naming = self.naming(node)
        names = sorted([*naming.folders, *(shown for shown, _ in naming.sources())])

        def entries(start: int) -> Iterator[Entry]:
            for name in names[start:]:
                # Attributes would take a look at every file; a reader that wants them asks.
                yield Entry(name, True, inode_of(join(node.path, name)), None)

        return Listing(node, len(names), entries)

    def _source_listing(self, node: SourceNode, index: SourceIndex) -> Listing:
        width = layout.digits(index.frame_count)
        mtime_ns = node.source.fingerprint.mtime_ns

        def entries(start: int) -> Iterator[Entry]:
            for frame in range(start, index.frame_count):
                name = layout.frame_name(frame, width)
                inode = inode_of(f"{node.path}/{name}")
                size = self._size(index, frame, layout.LISTED)
                yield Entry(name, False, inode, Attributes(False, inode, 1, size, mtime_ns))

        return Listing(node, index.frame_count, entries)

    def is_present(self, node: SourceNode | FrameNode) -> bool:
        """Whether the node's version of its source is the one that is there now."""
        try:
            return self.corpus.source(node.relpath) == node.source
        except SourceNotFound:
            return False

    # Reading

    def open(self, node: Node) -> OpenFrame:
        """Begins to read a frame; decodes nothing yet. Raises IsADirectory."""
        if not isinstance(node, FrameNode):
            raise IsADirectory(node.path)
        pixel_format = self._pixel_format(node.index, node.frame)
        height, width = node.index.shape(node.frame)
        size = FORMATS[node.extension].size(height, width, pixel_format)
        file = OpenFrame(node, height, width, pixel_format, size)
        self._contents.open(file)
        return file

    def read(self, file: OpenFrame, offset: int, size: int) -> memoryview:
        """Bytes of an open frame; see `Contents.read`."""
        return self._contents.read(file, offset, size)

    def release(self, file: OpenFrame) -> None:
        """Ends the reading of an open frame."""
        self._contents.release(file)

    # Extended attributes and figures

    def attribute_names(self, path: str) -> list[str]:
        """The extended attributes of ``path``; waits for no index but that of a frame's source."""
        node = self.node(path)
        if isinstance(node, FrameNode):
            return [ATTRIBUTE_PREFIX + name for name in self._frame_values(node)]
        if isinstance(node, SourceNode) and isinstance(
            self._service.known(node.source), DecoderError
        ):
            return [ATTRIBUTE_PREFIX + "error"]
        return []

    def attribute(self, path: str, name: str) -> bytes:
        """The value of one extended attribute.

        Asking a source for its error waits for its index.

        Raises:
            NotSupported: the name is not one that users give.
            NoSuchAttribute, and the errors of `node`.
        """
        if not name.startswith("user."):
            # ls and cp ask for access lists and security labels, and stop asking after this.
            raise NotSupported(f"{path}: {name}")
        missing = NoSuchAttribute(f"{path}: {name}")
        if not name.startswith(ATTRIBUTE_PREFIX):
            raise missing
        node = self.node(path)
        key = name.removeprefix(ATTRIBUTE_PREFIX)
        value: str | None = None
        if isinstance(node, FrameNode):
            value = self._frame_values(node).get(key)
        elif isinstance(node, SourceNode) and key == "error":
            value = self._reason(node.source)
        if value is None:
            raise missing
        return os.fsencode(value)

    def _frame_values(self, node: FrameNode) -> dict[str, str]:
        info = node.index.frame(node.frame)
        values: dict[str, str | int | Fraction | None] = {
            "pts": info.pts,
            "time": info.time,
            "picture_type": info.picture_type,
            "source": node.source.path,
            "index": node.frame,
            "error": self._contents.failure(node),
        }
        return {key: str(value) for key, value in values.items() if value is not None}

    def _reason(self, source: Source) -> str | None:
        try:
            self._service.index(source)
        except DecoderError as error:
            return str(error)
        return None

    def usage(self) -> Usage:
        """What the corpus's filesystem holds: the tree is as large as what it is made of."""
        held = os.statvfs(self.corpus.root)
        return Usage(
            held.f_frsize, held.f_blocks - held.f_bfree, max(0, held.f_files - held.f_ffree)
        )

    @property
    def cache_stats(self) -> dict[str, CacheStats]:
        """Counters of the decoded frames ("frames") and of the files being read ("files")."""
        return self._contents.stats
