"""Pillow, on a folder with one image for each frame; no peer of readers of videos."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.peers.peer import Availability, Peer, words


class Reader(Peer):
    """Opens the n-th image of a folder, by name, for frame n."""

    def __init__(self) -> None:
        self._files: list[str] = []

    @staticmethod
    def available() -> Availability:
        try:
            import PIL
        except Exception as error:
            return Availability(why_not=words(error))
        return Availability({"Pillow": PIL.__version__})

    def open(self, path: str) -> None:
        self._files = sorted(entry.path for entry in os.scandir(path))

    def read(self, indices: Sequence[int]) -> NDArray[np.uint8]:
        from PIL import Image

        result: NDArray[np.uint8] | None = None
        for place, n in enumerate(indices):
            with Image.open(self._files[n]) as file:
                image = np.asarray(file)
            if result is None:
                result = np.empty((len(indices), *image.shape), np.uint8)
            result[place] = image
        if result is None:
            raise ValueError("no frames asked for")
        return result

    def close(self) -> None:
        self._files = []
