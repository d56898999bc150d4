"""A clip as a folder of JPEG files, of the quality that comes nearest to a PSNR."""

from __future__ import annotations

import bisect
import io
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Frames = Sequence[NDArray[np.uint8]]

_EVERY = 15
"""One frame in so many tells which quality it is to be."""

_LEAST, _MOST = 30, 100
"""Qualities, in Pillow's scale."""


def write(frames: Frames, folder: Path, psnr: float) -> tuple[int, float]:
    """Writes ``frames`` [H, W, 3], RGB, to ``folder``; as Pillow does, with halved chroma.

    Returns:
        The quality, and the PSNR that it has over all frames, in dB.
    """
    quality = _quality(frames[::_EVERY], psnr)
    temporary = folder.with_name(f".{folder.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    squared = 0.0
    for n, frame in enumerate(frames):
        data = _encoded(frame, quality)
        (temporary / f"{n:06d}.jpg").write_bytes(data)
        squared += _squared(frame, decoded(data))
    shutil.rmtree(folder, ignore_errors=True)
    temporary.replace(folder)
    return quality, _decibels(squared / len(frames))


def decoded(data: bytes) -> NDArray[np.uint8]:
    """The image in ``data``, [H, W, 3]."""
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image)


def _quality(frames: Frames, psnr: float) -> int:
    def reached(quality: int) -> float:
        squared = [_squared(frame, decoded(_encoded(frame, quality))) for frame in frames]
        return _decibels(sum(squared) / len(squared))

    qualities = range(_LEAST, _MOST + 1)
    enough = qualities[min(bisect.bisect_left(qualities, psnr, key=reached), len(qualities) - 1)]
    return min((max(_LEAST, enough - 1), enough), key=lambda one: abs(reached(one) - psnr))


def _encoded(frame: NDArray[np.uint8], quality: int) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(frame).save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def _squared(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    difference = np.subtract(one, other, dtype=np.int16).reshape(-1).astype(np.float32)
    return float(np.dot(difference, difference)) / difference.size


def _decibels(squared: float) -> float:
    return 10 * math.log10(255**2 / squared) if squared else math.inf
