"""What a peer must be able to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a library can be used in this environment: its versions, or why not."""

    versions: dict[str, str] = field(default_factory=dict)
    why_not: str = ""


class Peer(ABC):
    """One video file, read by frame number on one thread."""

    @staticmethod
    @abstractmethod
    def available() -> Availability:
        """Imports the library and says what it is. Never raises."""

    @abstractmethod
    def open(self, path: str) -> None:
        """Opens a file, with all that has to be found out before frames can be read by number."""

    @abstractmethod
    def read(self, indices: Sequence[int]) -> NDArray[np.uint8]:
        """Frames by number, ascending, as RGB [n, H, W, 3]."""

    @abstractmethod
    def close(self) -> None:
        """Closes the file."""

    def counts(self) -> Mapping[str, int]:
        """What was done since `open`, as far as it can be told; growing numbers.

        "reconstructed": pictures whose packets were given to a decoder as they are;
        "state_only": pictures given to it in a form that costs next to nothing;
        "bytes_read": their bytes.
        """
        return {}


def words(error: BaseException) -> str:
    """An error in one line, not too long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]
