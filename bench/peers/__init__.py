"""The readers that are compared: one small module each, with one class `Reader`.

Each is written as somebody who knows the library would write it, on one thread.
"""

from __future__ import annotations

import importlib

from bench.peers.peer import Availability, Peer

NAMES = ("framefs", "pyav", "pyav_forward", "decord", "torchcodec", "opencv")
"""The first is the one under test."""


def load(name: str) -> type[Peer]:
    """The class of a peer. Its library is not imported by this."""
    reader: type[Peer] = importlib.import_module(f"bench.peers.{name}").Reader
    return reader


__all__ = ["NAMES", "Availability", "Peer", "load"]
