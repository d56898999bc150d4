"""What the kernel's page cache may hold of each file, and so how it may be opened.

The kernel keeps one set of pages per path, whatever versions of the file there were behind it. Two
rules keep versions apart:

- Pages survive an open only if all of them come from the version that is opened now.
- While somebody still reads an older version through the pages, a newer one is read past them.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass, field

from decoder.corpus import Source

_KEPT = 1 << 16
"""Paths remembered. A forgotten one loses its pages at its next open; nothing worse."""

_PATIENCE = 0.02
"""Seconds that an open waits for older readers: a release arrives a moment after its close."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How to open a file: ``keep`` the pages there are; read ``direct``, past the pages."""

    keep: bool
    direct: bool


@dataclass(slots=True)
class _Pages:
    version: Source
    # Whether the kernel is known to have dropped what it had before this version.
    clean: bool = False
    readers: Counter[Source] = field(default_factory=Counter)


class PageCache:
    """A record of the kernel's pages by path. Thread safe."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._changed = threading.Condition()
        self._pages: OrderedDict[str, _Pages] = OrderedDict()

    def open(self, path: str, version: Source) -> Opening:
        """Decides how ``path`` is opened in this version, which counts as done.

        Every open that is not direct must be followed by one `close`.
        """
        with self._changed:
            pages = self._pages.get(path)
            if pages is not None and _others(pages, version):
                self._changed.wait_for(lambda: not self._others(path, version), self._patience)
                pages = self._pages.get(path)
            if pages is None:
                pages = self._pages[path] = _Pages(version)
            elif _others(pages, version):
                # Keeping is right for the others, and this reader does not look at them.
                return Opening(keep=True, direct=True)
            elif pages.version != version:
                pages.version = version
                pages.clean = False
            pages.readers[version] += 1
            self._pages.move_to_end(path)
            self._forget()
            return Opening(keep=pages.clean, direct=False)

    def read(self, path: str, version: Source) -> None:
        """A read through the pages has arrived from a file that `open` decided on.

        Only then the kernel has surely done what the reply to that open said. An open that is
        answered in the meantime must not keep pages: its reply may overtake the other.
        """
        with self._changed:
            pages = self._pages.get(path)
            if pages is not None and pages.version == version:
                pages.clean = True

    def close(self, path: str, version: Source) -> None:
        """A file that was not opened directly is closed, its last page read."""
        with self._changed:
            pages = self._pages.get(path)
            if pages is None:
                return
            pages.readers[version] -= 1
            if pages.readers[version] <= 0:
                del pages.readers[version]
            if pages.version == version:
                pages.clean = True
            self._changed.notify_all()

    def _others(self, path: str, version: Source) -> bool:
        pages = self._pages.get(path)
        return pages is not None and _others(pages, version)

    def _forget(self) -> None:
        excess = len(self._pages) - _KEPT
        if excess <= 0:
            return
        idle: list[str] = []
        for path, pages in self._pages.items():
            if len(idle) == excess:
                break
            if not pages.readers:
                idle.append(path)
        for path in idle:
            del self._pages[path]


def _others(pages: _Pages, version: Source) -> bool:
    return any(reader != version for reader in pages.readers)
