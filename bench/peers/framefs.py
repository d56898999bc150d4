"""framefs itself, by its public Python interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.peer import Availability, Peer, words


class Reader(Peer):
    """`decoder.FrameReader` with its defaults: frames are exact, decoding is on one thread."""

    def __init__(self) -> None:
        self._reader: Any = None

    @staticmethod
    def available() -> Availability:
        try:
            import av

            from decoder import FrameReader  # noqa: F401
        except Exception as error:
            return Availability(why_not=words(error))
        return Availability({"av": av.__version__, "FFmpeg": av.ffmpeg_version_info})

    def open(self, path: str) -> None:
        from decoder import FrameReader

        self._reader = FrameReader(path)

    def read(self, indices: Sequence[int]) -> NDArray[np.uint8]:
        frames: NDArray[np.uint8] = self._reader.read(indices)
        return frames

    def counts(self) -> Mapping[str, int]:
        stats = self._reader.stats
        names = ("reconstructed", "state_only", "bytes_read")
        return {name: int(getattr(stats, name)) for name in names if hasattr(stats, name)}

    def close(self) -> None:
        self._reader.close()
