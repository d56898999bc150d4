"""decord, with its own FFmpeg inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.peer import Availability, Peer, words


class Reader(Peer):
    """``VideoReader.get_batch`` with one thread."""

    def __init__(self) -> None:
        self._reader: Any = None

    @staticmethod
    def available() -> Availability:
        try:
            import decord
        except Exception as error:
            return Availability(why_not=words(error))
        return Availability({"decord": str(decord.__version__)})

    def open(self, path: str) -> None:
        import decord

        self._reader = decord.VideoReader(path, ctx=decord.cpu(0), num_threads=1)

    def read(self, indices: Sequence[int]) -> NDArray[np.uint8]:
        frames: NDArray[np.uint8] = self._reader.get_batch(list(indices)).asnumpy()
        return frames

    def close(self) -> None:
        self._reader = None
