"""OpenCV's VideoCapture, with its own FFmpeg inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.peer import Availability, Peer, words

_NEAR = 100
"""Frames grabbed and thrown away rather than sought past: OpenCV does not tell where key frames
are, and a seek decodes from the one before the target."""


class Reader(Peer):
    """Seeks by frame number, grabs forward where the target is near, converts BGR to RGB."""

    def __init__(self) -> None:
        self._capture: Any = None
        self._next = 0

    @staticmethod
    def available() -> Availability:
        try:
            import cv2
        except Exception as error:
            return Availability(why_not=words(error))
        return Availability({"opencv": cv2.__version__})

    def open(self, path: str) -> None:
        import cv2

        cv2.setNumThreads(1)
        self._capture = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
        if not self._capture.isOpened():
            raise ValueError("cannot be opened")
        self._next = 0

    def read(self, indices: Sequence[int]) -> NDArray[np.uint8]:
        import cv2

        result: NDArray[np.uint8] | None = None
        for place, n in enumerate(indices):
            if not 0 <= n - self._next < _NEAR:
                self._capture.set(cv2.CAP_PROP_POS_FRAMES, n)
                self._next = n
            while self._next < n and self._capture.grab():
                self._next += 1
            found, image = self._capture.read()
            if not found:
                raise ValueError(f"frame {n} does not come out")
            self._next += 1
            if result is None:
                result = np.empty((len(indices), *image.shape), np.uint8)
            cv2.cvtColor(image, cv2.COLOR_BGR2RGB, dst=result[place])
        if result is None:
            raise ValueError("no frames asked for")
        return result

    def close(self) -> None:
        self._capture.release()
