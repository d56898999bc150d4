"""From paths in the mounted tree to nodes.

A look-up lists the folders on the path (which the corpus remembers) and asks for one index where it
is a frame's. It never looks at another source.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Protocol

from cachetools import LRUCache
from numpy.typing import NDArray

from decoder.corpus import Corpus, Folder, Source, source_at
from decoder.errors import DecoderError, SourceChanged
from decoder.index import SourceIndex
from vfs import layout
from vfs.errors import NoSuchPath, NotADirectory
from vfs.formats import PixelFormat
from vfs.layout import Naming
from vfs.nodes import FolderNode, FrameNode, Node, SourceNode, join

_NAMINGS_KEPT = 1024

_ATTEMPTS = 3
"""How often a source that keeps changing while it is indexed is begun again."""

_SETTLING = 0.5
"""Seconds that an open waits for the corpus to notice a change; longer than its freshness."""


class Service(Protocol):
    """What the tree needs of `decoder.service.FrameService`."""

    def index(self, source: Source) -> SourceIndex:
        """The index of a source; blocks while it is made. Raises DecoderError."""

    def known(self, source: Source) -> SourceIndex | DecoderError | None:
        """What `index` would say, if that is known without waiting."""

    def array(self, source: Source, frame: int, pixel_format: PixelFormat) -> NDArray[Any]:
        """One frame. Raises DecoderError."""


class Resolver:
    """Looks paths up. Thread safe."""

    def __init__(self, corpus: Corpus, service: Service) -> None:
        self._corpus = corpus
        self._service = service
        self._lock = threading.Lock()
        self._namings: LRUCache[str, tuple[Folder, Naming]] = LRUCache(_NAMINGS_KEPT)

    def node(self, path: str) -> Node:
        """What ``path`` ("/", "/clip/000017.png") leads to.

        Raises:
            NoSuchPath, SourceNotFound: nothing.
            NotADirectory: something below a frame.
            DecoderError: a frame of a source that has no index; waits while one is made.
        """
        parts = path.split("/")[1:] if path != "/" else []
        relpath = ""
        folder = self._corpus.folder(relpath)
        for depth, part in enumerate(parts):
            naming = self.naming(relpath, folder)
            if part in naming.folders:
                relpath = join(relpath, part)
                folder = self._corpus.folder(relpath)
                continue
            video = naming.video(part)
            if video is None:
                raise NoSuchPath(path)
            video = join(relpath, video)
            rest = parts[depth + 1 :]
            if not rest:
                return SourceNode(path, video, self._corpus.source(video))
            node = self._frame_node("/" + "/".join(parts[: depth + 1]), video, rest[0])
            if len(rest) > 1:
                raise NotADirectory(path)
            return node
        return FolderNode(path, relpath, folder)

    def present_node(self, path: str) -> Node:
        """As `node`, but a frame's source is looked at now, not a moment ago.

        The corpus answers from memory for that moment. Who opens a frame would get a version that
        can no longer be read; it waits instead.

        Raises:
            SourceChanged: the source does not stop changing. And the errors of `node`.
        """
        end = time.monotonic() + _SETTLING
        while True:
            node = self.node(path)
            if not isinstance(node, FrameNode) or source_at(node.source.path) == node.source:
                return node
            if time.monotonic() > end:
                raise SourceChanged(f"{node.source.path}: keeps changing; open it when complete")
            time.sleep(_SETTLING / 20)

    def naming(self, relpath: str, folder: Folder) -> Naming:
        """What the entries of a folder of the corpus are called."""
        with self._lock:
            known = self._namings.get(relpath)
        if known is not None:
            before, naming = known
            if before is folder:
                return naming
            if before.folders == folder.folders and before.videos == folder.videos:
                with self._lock:
                    self._namings[relpath] = folder, naming
                return naming
        naming = Naming(folder.folders, folder.videos)
        with self._lock:
            self._namings[relpath] = folder, naming
        return naming

    def _frame_node(self, directory: str, relpath: str, name: str) -> FrameNode:
        path = f"{directory}/{name}"
        if layout.split_frame_name(name) is None:
            raise NoSuchPath(path)
        source, index = self.indexed(relpath)
        parsed = layout.parse_frame_name(name, index.frame_count)
        if parsed is None:
            raise NoSuchPath(path)
        frame, extension = parsed
        return FrameNode(path, directory, relpath, source, index, frame, extension)

    def indexed(self, relpath: str) -> tuple[Source, SourceIndex]:
        """A source that is still the present one when its index is there, and the index."""
        for _ in range(_ATTEMPTS):
            source = self._corpus.source(relpath)
            try:
                index = self._service.index(source)
            except SourceChanged:
                continue
            # Making an index can take minutes; nobody wants the frames of a file that is gone.
            if self._corpus.source(relpath) == source:
                return source, index
        raise SourceChanged(
            f"{relpath}: kept changing while it was indexed; look again when it is complete"
        )
