"""From paths in the mounted tree to nodes.

A look-up lists the folders on the path (which the corpus remembers) and asks for one index where it
is a frame's. It never looks at another source.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cachetools import LRUCache
from numpy.typing import NDArray

from decoder.corpus import Corpus, Source, source_at
from decoder.errors import DecoderError, SourceChanged
from decoder.foresight import Outlook
from decoder.index import SourceIndex
from decoder.pixels import PixelFormat
from vfs.catalog import FlatClips
from vfs.clips import ClipFolder, Clips
from vfs.errors import NoSuchPath, NotADirectory
from vfs.naming import Named, Naming
from vfs.nodes import Branch, ClipNode, FixedNode, FolderNode, FrameNode, Node, join
from vfs.reel import Place, Reel
from vfs.template import CLIP_FIELDS, pattern
from vfs.view import View

_NAMINGS_KEPT = 1024

_REEL_BYTES = 64 << 20
"""Memory that reels may keep indexes in that the service has given up."""

_ATTEMPTS = 3
"""How often a source that keeps changing while it is indexed is begun again."""

_SETTLING = 0.5
"""Seconds that an open waits for the corpus to notice a change; longer than its freshness."""


class Picture(Protocol):
    """What the tree needs of `decoder.pixels.Pixels`."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""

    def array(self, pixel_format: PixelFormat) -> NDArray[Any]:
        """Its samples. Raises DecoderError."""

    def joined(self) -> NDArray[Any]:
        """Its native planes. Raises DecoderError."""


class Service(Protocol):
    """What the tree needs of `decoder.service.FrameService`."""

    def index(self, source: Source) -> SourceIndex:
        """The index of a source; blocks while it is made. Raises DecoderError."""

    def known(self, source: Source) -> SourceIndex | DecoderError | None:
        """What `index` would say, if that is known without waiting."""

    def array(
        self,
        source: Source,
        frame: int,
        pixel_format: PixelFormat,
        outlook: Outlook | None = None,
    ) -> NDArray[Any]:
        """One frame's samples. Raises DecoderError."""

    def pixels(self, source: Source, frame: int, outlook: Outlook | None = None) -> Picture:
        """One frame. Raises DecoderError."""

    def announce(self, source: Source, frame: int, process: int) -> Outlook:
        """A process has opened a frame."""


@dataclass(frozen=True, slots=True)
class _Names:
    """The clips of one folder by name, and where they are in the tree once that was asked."""

    folder: ClipFolder
    naming: Naming
    places: dict[str, Place]

    def clip(self, branch: Branch, path: str, above: str, shown: str) -> tuple[Named, Place]:
        """The clip of this name, and where it is, in the directory ``above`` of the tree.

        Raises:
            NoSuchPath: there is none, and so nothing at ``path``.
        """
        named = self.naming.named(shown)
        if named is None:
            raise NoSuchPath(path)
        place = self.places.get(shown)
        if place is None:
            place = self.places[shown] = place_of(branch, above, named)
        return named, place


class Resolver:
    """Looks paths up. Thread safe.

    Args:
        views: by name, each then a directory of the root; under the name "" the only one, and
            then the root itself.
    """

    def __init__(
        self, corpus: Corpus, clips: Clips, service: Service, views: Mapping[str, View]
    ) -> None:
        self._corpus = corpus
        self._service = service
        flat = FlatClips(clips)
        self.branches = tuple(
            Branch(
                number,
                view,
                f"/{name}" if name else "",
                flat if view.layout.flat else clips,
                None
                if view.layout.clip_in_file
                else pattern(view.layout.file.pieces, view.extensions),
            )
            for number, (name, view) in enumerate(views.items())
        )
        self._by_name = dict(zip(views, self.branches, strict=True))
        self._lock = threading.Lock()
        self._namings: LRUCache[tuple[int, str], _Names] = LRUCache(_NAMINGS_KEPT)
        self._reels: dict[tuple[int, Place], Reel] = {}
        self._reel_bytes = 0

    def node(self, path: str) -> Node:
        """What ``path`` ("/", "/clip/000017.png") leads to.

        Raises:
            NoSuchPath, SourceNotFound: nothing.
            NotADirectory: something below a frame.
            DecoderError: a frame of a source that has no index; waits while one is made.
            VfsError: a frame of a clip that cannot be shown as the view says.
        """
        parts = path.split("/")[1:] if path != "/" else []
        branch = self._by_name.get("")
        if branch is None:
            if not parts:
                mtime_ns = self._corpus.folder("").mtime_ns
                return FixedNode(path, tuple(self._by_name), mtime_ns)
            branch = self._by_name.get(parts[0])
            if branch is None:
                raise NoSuchPath(path)
            parts = parts[1:]
        return self._below(branch, path, parts)

    def _below(self, branch: Branch, path: str, parts: Sequence[str]) -> Node:
        """What the rest of a path leads to, from the view's directory on."""
        layout = branch.view.layout
        for place, fixed in enumerate(layout.above):
            if place == len(parts):
                return FixedNode(path, (fixed,), branch.clips.folder("").mtime_ns)
            if parts[place] != fixed:
                raise NoSuchPath(path)
        depth = len(layout.above)
        relpath = ""
        folder = branch.clips.folder(relpath)
        while depth < len(parts) and self._is_folder(branch, folder, parts[depth]):
            relpath = join(relpath, parts[depth])
            folder = branch.clips.folder(relpath)
            depth += 1
        inner = 0
        if folder.clips:
            for fixed in layout.between:
                if depth == len(parts) or parts[depth] != fixed:
                    break
                depth += 1
                inner += 1
        if depth == len(parts):
            return FolderNode(path, branch, relpath, folder, inner)
        if inner < len(layout.between):
            raise NoSuchPath(path)
        above = f"{branch.path}/{'/'.join(parts[:depth])}".rstrip("/") or "/"
        names = self._names(branch, relpath, folder)
        in_clip = self._shared_frame if layout.clip is None else self._in_clip
        return in_clip(branch, path, names, above, parts[depth:])

    def _is_folder(self, branch: Branch, folder: ClipFolder, name: str) -> bool:
        between = branch.view.layout.between
        # The layout's own directory hides a folder of the same name.
        hidden = bool(folder.clips) and bool(between) and name == between[0]
        return not hidden and name in folder.folders

    def _in_clip(
        self, branch: Branch, path: str, names: _Names, above: str, rest: Sequence[str]
    ) -> Node:
        named, place = names.clip(branch, path, above, rest[0])
        below = branch.view.layout.below
        if below and tuple(rest[1 : 1 + len(below)]) != below[: len(rest) - 1]:
            raise NoSuchPath(path)
        if len(rest) <= 1 + len(below):
            source = self._corpus.source(named.clip.relpath)
            return ClipNode(path, branch, named, place, source, len(rest) - 1)
        return self._frame(path, branch, place, named, rest[1 + len(below) :])

    def _shared_frame(
        self, branch: Branch, path: str, names: _Names, above: str, rest: Sequence[str]
    ) -> FrameNode:
        file = branch.view.layout.file
        match = pattern(file.pieces, branch.view.extensions).fullmatch(rest[0])
        if match is None:
            raise NoSuchPath(path)
        own = next(n for n, field in enumerate(file.fields, 1) if field.name in CLIP_FIELDS)
        named, place = names.clip(branch, path, above, match[own])
        return self._frame(path, branch, place, named, rest)

    def _frame(
        self, path: str, branch: Branch, place: Place, named: Named, rest: Sequence[str]
    ) -> FrameNode:
        name = rest[0]
        # Most names that are no frame's are told without an index.
        possible = branch.files
        if possible is None:
            pieces = branch.view.layout.file.filled(named.values).pieces
            possible = pattern(pieces, branch.view.extensions)
        if possible.fullmatch(name) is None:
            raise NoSuchPath(path)
        reel = self.reel(branch, place, named)
        parsed = reel.names.parse(name)
        if parsed is None:
            raise NoSuchPath(path)
        if len(rest) > 1:
            raise NotADirectory(path)
        return FrameNode(path, branch, reel, *parsed)

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

    def naming(self, node: FolderNode) -> Naming:
        """What the clips of a folder of the corpus are called."""
        return self._names(node.branch, node.relpath, node.folder).naming

    def _names(self, branch: Branch, relpath: str, folder: ClipFolder) -> _Names:
        key = branch.number, relpath
        with self._lock:
            known = self._namings.get(key)
        if known is not None and known.folder is folder:
            return known
        if (
            known is not None
            and known.folder.folders == folder.folders
            and known.folder.clips == folder.clips
        ):
            made = _Names(folder, known.naming, known.places)
        else:
            layout = branch.view.layout
            beside = layout.clip is not None and not layout.between
            taken = folder.folders if beside else frozenset[str]()
            made = _Names(folder, Naming(taken, folder.clips, layout.own), {})
        with self._lock:
            self._namings[key] = made
        return made

    def reel(self, branch: Branch, place: Place, named: Named) -> Reel:
        """What is shown of a clip in the present version of its source."""
        source, index = self.indexed(named.clip.relpath)
        key = branch.number, place
        reel = self._reels.get(key)
        # An index may be replaced by another of the same version.
        if reel is None or reel.index is not index or reel.source != source:
            reel = Reel(branch.view, place, named, source, index)
            with self._lock:
                self._keep(key, reel)
        return reel

    def _keep(self, key: tuple[int, Place], reel: Reel) -> None:
        """Remembers a reel, and forgets the oldest ones where they are too large together."""
        self._reel_bytes += reel.nbytes
        while key in self._reels or (self._reels and self._reel_bytes > _REEL_BYTES):
            old = key if key in self._reels else next(iter(self._reels))
            self._reel_bytes -= self._reels.pop(old).nbytes
        self._reels[key] = reel

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


def place_of(branch: Branch, folder: str, named: Named) -> Place:
    """Where a clip's frames are that has its name in the directory ``folder`` of the tree."""
    layout = branch.view.layout
    if layout.clip is None:
        return Place(folder, named.shown, ())
    directories = [join(folder, named.shown)]
    for name in layout.below:
        directories.append(join(directories[-1], name))
    return Place(folder, named.shown, tuple(directories))
