"""Pictures to encode, from noise to film."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def noise(shape: tuple[int, ...], *, deep: bool = False, seed: int = 0) -> NDArray[Any]:
    """Every value as likely as any other."""
    random = np.random.default_rng(seed)
    kind: Any = np.uint16 if deep else np.uint8
    array: NDArray[Any] = random.integers(0, 65536 if deep else 256, shape, kind)
    return array


def smooth(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    """Soft colours, as in film: [H, W, 3]."""
    small = Image.fromarray(noise((8, 8, 3), seed=seed))
    return np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))
