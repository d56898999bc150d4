"""How a command ends when it cannot do what it was asked."""

from __future__ import annotations

DONE = 0
FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130


class CommandFailed(Exception):
    """The work could not be done: exit status 1. One line: what happened and what to do."""
