"""The standard streams of a process that mounts: libfuse's own words, and a daemon's silence."""

from __future__ import annotations

import os
import sys
import tempfile
import threading


class CapturedStderr:
    """Keeps what libfuse and its helper write to stderr while a mount comes up.

    They report in their own words and lines; a failed mount says one line, into which the last of
    theirs goes. ``original`` is a descriptor of the real stderr, for the log.
    """

    def __init__(self) -> None:
        sys.stderr.flush()
        self.original = os.dup(2)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (closed by release)
        os.dup2(self._file.fileno(), 2)
        self._lock = threading.Lock()

    def release(self) -> list[str]:
        """Give stderr back; the lines that were kept. Later calls do nothing. Thread safe."""
        with self._lock:
            if self._file.closed:
                return []
            sys.stderr.flush()
            os.dup2(self.original, 2)
            self._file.seek(0)
            text = self._file.read().decode(errors="replace")
            self._file.close()
        return [line.strip() for line in text.splitlines() if line.strip()]

    def let_go(self) -> None:
        """Hold stderr no longer, once it is given back: whoever reads it shall see its end."""
        silence(2)
        os.close(self.original)


def silence(*descriptors: int) -> None:
    """Point ``descriptors`` (0, 1, 2) at /dev/null."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nothing, descriptor)
    os.close(nothing)
