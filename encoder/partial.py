"""Files while they are written: hidden, beside their target, and of one attempt only."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import defaultdict
from collections.abc import Iterable

import xxhash

SUFFIX = ".framefs-partial"
"""What the names of such files end in."""


def partial_beside(target: str) -> str:
    """A name that nobody else has, whatever attempts at ``target`` there are on which machines.

    No longer than names may be, however long that of ``target`` is.
    """
    folder, name = os.path.split(os.path.abspath(target))
    return os.path.join(folder, f"{_stem(name)}-{secrets.token_hex(6)}{SUFFIX}")


def remove_leftovers(targets: Iterable[str]) -> int:
    """Removes what attempts at ``targets`` that were killed have left; how many files that were.

    Nobody may be at work on them.
    """
    folders: dict[str, set[str]] = defaultdict(set)
    for target in targets:
        folder, name = os.path.split(os.path.abspath(target))
        folders[folder].add(_stem(name))
    removed = 0
    for folder, stems in folders.items():
        names = []
        with contextlib.suppress(OSError):
            names = os.listdir(folder)
        for name in names:
            if name.endswith(SUFFIX) and name.rpartition("-")[0].rpartition("-")[0] in stems:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))
                    removed += 1
    return removed


def _stem(name: str) -> str:
    return f".{xxhash.xxh3_64_hexdigest(os.fsencode(name))}"
