"""Makes the next file of a walk while its reader is busy with the present one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from decoder.crew import Crew, Job
from decoder.errors import DecoderError
from vfs.errors import VfsError

K = TypeVar("K")

_MOST = 16
"""Files that are being made, or wait to be; what comes on top is made when it is read."""


class Ahead(Generic[K]):
    """Has files made by threads of its own. Thread safe."""

    def __init__(self) -> None:
        self._crew = Crew(os.cpu_count() or 1, _MOST)
        self._lock = threading.Lock()
        self._going: set[K] = set()

    def make(self, key: K, make: Callable[[], object]) -> bool:
        """Calls ``make`` soon, if it is not being called for this key; False: there is no room."""
        with self._lock:
            if key in self._going:
                return True
            if len(self._going) >= _MOST:
                return False
            self._going.add(key)
        return self._crew.add(self._job(key, make))

    def _job(self, key: K, make: Callable[[], object]) -> Job:
        try:
            make()
        except (DecoderError, VfsError):
            pass  # whoever reads the file is told
        finally:
            with self._lock:
                self._going.discard(key)
        return
        yield True
