"""What decoding costs, counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    """What decoding has cost so far.

    Attributes:
        requested: frames asked for.
        delivered: frames given to those who asked.
        reconstructed: pictures given to a decoder to be reconstructed.
        state_only: pictures fed in a form that only keeps the picture buffer in step.
        dropped: pictures passed over between those.
        bytes_read: bytes of packets read from the file to be decoded.
        seeks: times a container was asked to seek.
        opened: times a file was opened.
        conservative: frames that were decoded conservatively.
        alarms: times that sparse decoding was given up for a source.
        rejected: starting points that turned out not to reproduce a frame.
        open_seconds: spent in opening files and decoders, and seeking where a walk begins,
        plan_seconds: in plans,
        read_seconds: in reading packets,
        decode_seconds: in the decoder.
    """

    requested: int = 0
    delivered: int = 0
    reconstructed: int = 0
    state_only: int = 0
    dropped: int = 0
    bytes_read: int = 0
    seeks: int = 0
    opened: int = 0
    conservative: int = 0
    alarms: int = 0
    rejected: int = 0
    open_seconds: float = 0.0
    plan_seconds: float = 0.0
    read_seconds: float = 0.0
    decode_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """Spent in all of this."""
        return self.open_seconds + self.plan_seconds + self.read_seconds + self.decode_seconds
