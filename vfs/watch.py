"""Sees what changes in the corpus below a mount, and has the kernel forget what is outdated.

Looks only at what the kernel was told of: folders by their names and times, each time; sources by
their names and fingerprints, as many as fit into a small share of the time, the others at the next
look. So the cost has a bound, and a corpus that nobody reads costs nothing.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from decoder.corpus import Source, fingerprint_of
from decoder.errors import DecoderError
from vfs.errors import VfsError
from vfs.kernel import KernelView
from vfs.naming import Naming
from vfs.nodes import FolderNode
from vfs.reel import Place
from vfs.tree import Tree

INTERVAL = 0.4
"""Seconds between two looks."""

_BUDGET = 0.05
"""Seconds that one look may spend on fingerprints; about 15,000 sources on a local disk."""

_log = logging.getLogger(__name__)


class Watcher:
    """A thread that keeps a `KernelView` true.

    Args:
        invalidate: has the kernel forget attributes and pages of a path in the tree. Called from
            the watcher's thread alone: from a thread that serves requests it would dead-lock.
            None where the library cannot do it, and the view lives for a moment only.
        each_time: called at every look; the place for what must be noticed soon.
    """

    def __init__(
        self,
        tree: Tree,
        view: KernelView,
        invalidate: Callable[[str], None] | None,
        *,
        interval: float = INTERVAL,
        each_time: Callable[[], None] | None = None,
    ) -> None:
        self._tree = tree
        self._view = view
        self._invalidate = invalidate
        self._interval = interval
        self._each_time = each_time
        self._seen: dict[str, FolderNode] = {}
        self._first: list[tuple[Place, Source]] = []  # new ones, and those in folders that changed
        self._then: list[tuple[Place, Source]] = []  # all, one round after the other
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="framefs-watch", daemon=True)

    def start(self) -> None:
        """Begins to look."""
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> bool:
        """Looks no more; whether the thread has ended within ``timeout`` seconds."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self.look()
                if self._each_time is not None:
                    self._each_time()
            except Exception:
                # The mount must not lose its watcher to one bad look.
                _log.exception("looking for changes in %s failed", self._tree.corpus.root)

    def look(self) -> None:
        """Looks once, and has everything outdated forgotten."""
        if self._invalidate is not None:
            self._look_at_folders()
            self._look_at_sources()
        for path in self._view.take_outdated():
            if self._stop.is_set():
                return
            if self._invalidate is not None:
                self._invalidate(path)

    def _look_at_folders(self) -> None:
        known = self._view.folders()
        for path, told_mtime_ns in known.items():
            node = self._folder(path)
            before = self._seen.get(path)
            if node is None or (before is not None and node.folder is not before.folder):
                self._first.extend(self._view.clips_in(path))
            if told_mtime_ns is not None and (
                node is None or node.folder.mtime_ns != told_mtime_ns
            ):
                self._view.forget_folder(path)
                if self._invalidate is not None:
                    self._invalidate(path)
            if node is not None:
                self._seen[path] = node
        self._seen = {path: node for path, node in self._seen.items() if path in known}

    def _folder(self, path: str) -> FolderNode | None:
        try:
            node = self._tree.node(path)
        except (DecoderError, VfsError):
            return None
        return node if isinstance(node, FolderNode) else None

    def _look_at_sources(self) -> None:
        self._first.extend(self._view.take_unchecked())
        if not self._then:
            for folder in self._view.folders():
                self._then.extend(self._view.clips_in(folder))
        namings: dict[str, Naming | None] = {}
        end = time.monotonic() + _BUDGET
        while self._first and time.monotonic() < end:
            place, believed = self._first.pop()
            if not self._is_named(place, believed, namings) or _differs(believed):
                self._check(place, believed)
        while self._then and time.monotonic() < end:
            place, believed = self._then.pop()
            if _differs(believed):
                self._check(place, believed)

    def _is_named(self, place: Place, believed: Source, namings: dict[str, Naming | None]) -> bool:
        """Whether a source is still what it is called, by the names of its folder."""
        if place.folder not in namings:
            node = self._folder(place.folder)
            namings[place.folder] = self._tree.naming(node) if node is not None else None
        naming = namings[place.folder]
        named = naming.named(place.name) if naming is not None else None
        return named is not None and believed.path.endswith("/" + named.clip.relpath)

    def _check(self, place: Place, believed: Source) -> None:
        """Asks the tree, whose word is what readers get, before anything is taken for outdated."""
        if self._tree.present(place) != believed:
            self._view.outdate(place, believed)


def _differs(believed: Source) -> bool:
    """Whether the file is no longer in this version: one system call."""
    try:
        return fingerprint_of(os.stat(believed.path)) != believed.fingerprint
    except OSError:
        return True
