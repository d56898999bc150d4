"""Jobs that machines of a cluster can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from engines import Pulse


class Noting:
    """Notes in a file of the item's that it was begun, and takes its time.

    Of item 3 the process dies once; item 5 raises.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._seconds = seconds

    def __call__(self, item: int, pulse: Pulse) -> int:
        with open(self._folder / str(item), "a") as file:
            file.write("x")
        if item == 3 and (self._folder / "3").stat().st_size == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if item == 5:
            raise ValueError("five")
        time.sleep(self._seconds)
        return item * item
