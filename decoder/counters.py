"""What decoding costs, counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """What decoding has cost so far.

    Attributes:
        requested: frames asked for.
        reconstructed: pictures given to a decoder to be reconstructed.
        state_only: pictures fed in a form that only keeps the picture buffer in step.
        dropped: pictures passed over between those.
        bytes_read: bytes of packets read from the file to be decoded.
        seeks: times a container was asked to seek.
        opened: times a file was opened.
        conservative: frames that were decoded conservatively.
        alarms: times that sparse decoding was given up for a source.
        rejected: starting points that turned out not to reproduce a frame.
        seconds: spent in all of this.
    """

    requested: int = 0
    reconstructed: int = 0
    state_only: int = 0
    dropped: int = 0
    bytes_read: int = 0
    seeks: int = 0
    opened: int = 0
    conservative: int = 0
    alarms: int = 0
    rejected: int = 0
    seconds: float = 0.0
