"""The filesystem without FUSE: paths to nodes, nodes to attributes, listings and bytes.

Nothing here waits for another source than the one a path names. Only frames (and the listing of
what holds frames) need an index; everything else comes from the directories of the corpus.
"""

from __future__ import annotations

import bisect
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from decoder.corpus import Corpus, Source
from decoder.errors import DecoderError, SourceNotFound
from decoder.index import SourceIndex
from decoder.statistics import Statistics
from vfs.cache import CacheStats
from vfs.catalog import CorpusClips
from vfs.clips import Clips
from vfs.contents import Contents, OpenFrame
from vfs.errors import IsADirectory, NoSuchAttribute, NotADirectory, NotSupported, VfsError
from vfs.formats import Jpg
from vfs.inventory import Listed, inventory
from vfs.naming import Naming
from vfs.nodes import (
    Attributes,
    ClipNode,
    Entry,
    FixedNode,
    FolderNode,
    FrameNode,
    Listing,
    Node,
    Usage,
    inode_of,
    join,
)
from vfs.reel import Place, Reel
from vfs.resolver import Resolver, Service, place_of
from vfs.view import View

ATTRIBUTE_PREFIX = "user.framefs."

DEFAULT_CACHE_BYTES = 1 << 30


class Tree:
    """All clips of a corpus, as directories of frame files. Thread safe.

    Args:
        views: how they are shown: by name, each as a directory of the root, or under the name ""
            the only one.
        clips: what there is to show; by default every video of the corpus.
        cache_bytes: budget for decoded frames.
        statistics: learns how long conversions and encodings take.
    """

    def __init__(
        self,
        corpus: Corpus,
        service: Service,
        *,
        views: Mapping[str, View] | None = None,
        clips: Clips | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        statistics: Statistics | None = None,
    ) -> None:
        self.corpus = corpus
        self._service = service
        views = views or {"": View()}
        self._resolver = Resolver(corpus, clips or CorpusClips(corpus), service, views)
        alike = len({view.samples for view in views.values()}) == 1
        self._contents = Contents(service, cache_bytes, shared=not alike, statistics=statistics)

    # Paths

    def node(self, path: str) -> Node:
        """What a path leads to; see `Resolver.node`."""
        return self._resolver.node(path)

    def present_node(self, path: str) -> Node:
        """What a path leads to at this very moment; see `Resolver.present_node`."""
        return self._resolver.present_node(path)

    def naming(self, node: FolderNode) -> Naming:
        """What the clips of a folder are called."""
        return self._resolver.naming(node)

    def inventory(self) -> list[Listed]:
        """All clips; see `vfs.inventory.inventory`."""
        return inventory(self._resolver)

    def reel(self, listed: Listed) -> Reel:
        """What is shown of a clip; waits for its index.

        Raises:
            DecoderError, VfsError: nothing can be shown of it.
        """
        return self._resolver.reel(listed.branch, listed.place, listed.named)

    def present(self, place: Place) -> Source | None:
        """The present version of the video whose frames are in this place; None if there is none.

        Raises nothing that is known to happen.
        """
        try:
            node = self.node(place.folder)
            if not isinstance(node, FolderNode):
                return None
            named = self.naming(node).named(place.name)
            if named is None or place_of(node.branch, place.folder, named) != place:
                return None
            return self.corpus.source(named.clip.relpath)
        except (DecoderError, VfsError):
            return None

    # Attributes

    def attributes(self, path: str) -> Attributes:
        """What ``stat`` tells of ``path``; errors as of `node`."""
        return self.node_attributes(self.node(path))

    def node_attributes(self, node: Node) -> Attributes:
        """What ``stat`` tells of a node."""
        inode = inode_of(node.path)
        match node:
            case FixedNode():
                return Attributes(True, inode, 1, 0, node.mtime_ns)
            case FolderNode():
                return Attributes(True, inode, 1, 0, node.folder.mtime_ns)
            case ClipNode():
                links = 1 if node.inside else 2
                return Attributes(True, inode, links, 0, node.source.fingerprint.mtime_ns)
            case FrameNode():
                size = node.reel.size(node.position, node.choice)
                return Attributes(False, inode, 1, size, node.source.fingerprint.mtime_ns)

    def ends_alike(self, file: OpenFrame) -> bool:
        """Whether an open frame ends where the present version of it does, or there is none."""
        place = file.node.reel.place
        source = self.present(place)
        if source is None:
            return True
        if self._service.known(source) is None:
            return False
        try:
            node = self.node(file.node.path)
        except (DecoderError, VfsError):
            return True
        return isinstance(node, FrameNode) and node.reel.size(node.position, node.choice) == (
            file.size
        )

    # Listings

    def listing(self, path: str) -> Listing:
        """The entries of a directory, without "." and "..".

        Waits for the index when frames are in it, and for nothing when it is a folder. Where clips
        share a directory, those that cannot be read are left out.

        Raises:
            NotADirectory, and the errors of `node`; DecoderError or VfsError for a clip that
            cannot be shown.
        """
        node = self.node(path)
        match node:
            case FrameNode():
                raise NotADirectory(path)
            case FixedNode():
                return _directories(node, node.names)
            case FolderNode():
                return self._folder_listing(node)
            case ClipNode():
                if node.inside is not None:
                    return _directories(node, [node.inside.rpartition("/")[2]])
                reel = self._resolver.reel(node.branch, node.place, node.named)
                return _frames(node, [], [reel])

    def _folder_listing(self, node: FolderNode) -> Listing:
        layout = node.branch.view.layout
        fixed = layout.between[node.inner : node.inner + 1] if node.folder.clips else ()
        names = list(fixed)
        if node.inner == 0:
            names += (name for name in node.folder.folders if name not in fixed)
        if not fixed and layout.clip is not None:
            names += (named.shown for named in self.naming(node).clips())
        names.sort()
        if fixed or layout.clip is not None:
            return _directories(node, names)
        return _frames(node, names, [reel for reel, _ in self._reels(node) if reel is not None])

    def _reels(self, node: FolderNode) -> Iterator[tuple[Reel | None, str]]:
        """(what is shown, or why nothing is) of each clip in a directory that they share."""
        for named in self.naming(node).clips():
            try:
                place = place_of(node.branch, node.path, named)
                yield self._resolver.reel(node.branch, place, named), ""
            except (DecoderError, VfsError) as error:
                yield None, str(error)

    def is_present(self, reel: Reel) -> bool:
        """Whether the reel's version of its source is the one that is there now."""
        try:
            return self.corpus.source(reel.relpath) == reel.source
        except SourceNotFound:
            return False

    # Reading

    def open(self, node: Node, process: int = 0) -> OpenFrame:
        """Begins to read a frame, for a process; decodes nothing yet. Raises IsADirectory."""
        if not isinstance(node, FrameNode):
            raise IsADirectory(node.path)
        size = node.reel.size(node.position, node.choice)
        outlook = self._service.announce(node.source, node.frame, process)
        file = OpenFrame(node, node.frame, size, outlook)
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
        names: list[str] = []
        if isinstance(node, FrameNode):
            names = list(self._frame_values(node))
            if self._is_jpeg(node):
                names.append("quality")
        elif isinstance(node, ClipNode) and self._known_fault(node):
            names = ["error"]
        return [ATTRIBUTE_PREFIX + name for name in names]

    def attribute(self, path: str, name: str) -> bytes:
        """The value of one extended attribute.

        Asking a clip for its error waits for its index, asking a frame for the quality of its
        JPEG encodes it.

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
            if key == "quality" and self._is_jpeg(node):
                value = self._quality(node)
        elif key == "error":
            value = self._reason(node)
        if value is None:
            raise missing
        return os.fsencode(value)

    def _frame_values(self, node: FrameNode) -> dict[str, str]:
        info = node.reel.index.frame(node.frame)
        values: dict[str, str | int | Fraction | None] = {
            "pts": info.pts,
            "time": info.time,
            "picture_type": info.picture_type,
            "source": node.source.path,
            "index": node.frame,
            "error": self._contents.failure(node.source, node.frame),
        }
        return {key: str(value) for key, value in values.items() if value is not None}

    def _is_jpeg(self, node: FrameNode) -> bool:
        return isinstance(node.reel.view.formats[node.choice], Jpg)

    def _quality(self, node: FrameNode) -> str:
        file = self.open(node)
        try:
            return str(self._contents.quality(file))
        finally:
            self.release(file)

    def _known_fault(self, node: ClipNode) -> bool:
        """Whether it is known, without waiting, that a clip cannot be shown."""
        known = self._service.known(node.source)
        return isinstance(known, DecoderError) or (
            isinstance(known, SourceIndex) and self._reason(node) is not None
        )

    def _reason(self, node: Node) -> str | None:
        """Why a clip, or one of those that share a directory, cannot be shown."""
        if isinstance(node, ClipNode):
            try:
                self._resolver.reel(node.branch, node.place, node.named)
            except (DecoderError, VfsError) as error:
                return str(error)
        elif isinstance(node, FolderNode) and self._is_shared(node):
            return "; ".join(why for reel, why in self._reels(node) if reel is None) or None
        return None

    def _is_shared(self, node: FolderNode) -> bool:
        layout = node.branch.view.layout
        return layout.clip is None and node.inner == len(layout.between)

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


def _directories(node: FixedNode | FolderNode | ClipNode, names: Sequence[str]) -> Listing:
    def entries(start: int) -> Iterator[Entry]:
        for name in names[start:]:
            # Attributes would take a look at every file; a reader that wants them asks.
            yield Entry(name, True, inode_of(join(node.path, name)), None)

    return Listing(node, len(names), entries)


def _frames(node: FolderNode | ClipNode, directories: list[str], reels: list[Reel]) -> Listing:
    """Some directories, and the frames of some clips in their first format."""
    ends = list(itertools.accumulate(map(len, reels), initial=len(directories)))

    def entries(start: int) -> Iterator[Entry]:
        yield from _directories(node, directories).entries(start)
        first = max(0, bisect.bisect_right(ends, start) - 1)
        for reel, begin in zip(reels[first:], ends[first:], strict=False):
            mtime_ns = reel.source.fingerprint.mtime_ns
            for position in range(max(0, start - begin), len(reel)):
                name = reel.names.name(position)
                inode = inode_of(join(node.path, name))
                attributes = Attributes(False, inode, 1, reel.size(position, 0), mtime_ns)
                yield Entry(name, False, inode, attributes, (reel, position))

    return Listing(node, ends[-1], entries)
