"""When a mount answers: its root is another device than before, and can be listed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

_POLL = 0.01
"""Seconds between two looks; the first answer usually comes within a few milliseconds."""


def device_of(mountpoint: str) -> int:
    """The device number that ``mountpoint`` shows now."""
    return os.stat(mountpoint).st_dev


def answers(mountpoint: str, before: int) -> bool:
    """Whether something is mounted that was not when the device was ``before``, and can be listed.

    Blocks as long as the new filesystem takes to answer.
    """
    try:
        if os.stat(mountpoint).st_dev == before:
            return False
        os.listdir(mountpoint)
    except OSError:
        # ENOTCONN while the filesystem is coming up or going down again
        return False
    return True


class Readiness:
    """Calls ``then`` once, from a thread of its own, as soon as ``mountpoint`` answers.

    The look has to come from outside the filesystem's own threads, which the question waits for.
    """

    def __init__(self, mountpoint: str, then: Callable[[], None]) -> None:
        self._mountpoint = mountpoint
        self._before = device_of(mountpoint)
        self._then = then
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="readiness", daemon=True)

    def start(self) -> None:
        """Begin to look; the filesystem calls this when it comes up."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; the filesystem has ended."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _watch(self) -> None:
        while not self._over.is_set():
            if answers(self._mountpoint, self._before):
                self._then()
                return
            self._over.wait(_POLL)
