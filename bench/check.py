"""Whether a peer's frames are the right ones: compared with a full decode, by frame number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from bench.worker import digest

AROUND = 2
"""Frames before and after an asked one with which an image is compared too."""


class UnsuitableClip(Exception):
    """A clip on which the peers cannot be compared; says why."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an image is.

    Attributes:
        kind: "exact", the same bytes; "close", the right frame with other rounding or another
            colour conversion; "wrong".
        psnr: in dB, against the right frame; infinite for "exact".
        shows: of a wrong one, the frame that it is most like, None if it is like none at hand.
    """

    kind: str
    psnr: float = math.inf
    shows: int | None = None

    @property
    def right(self) -> bool:
        """Exact or close."""
        return self.kind != "wrong"


def psnr(one: NDArray[Any], other: NDArray[Any]) -> float:
    """In dB, over all samples of two uint8 images of one size; infinite where they are equal."""
    squares = np.square(np.subtract(one, other, dtype=np.int32), dtype=np.int32)
    error = float(squares.mean())
    return math.inf if error == 0 else 10 * math.log10(255**2 / error)


def frame_count(path: str) -> int:
    """Frames that a full decode shows.

    Raises:
        UnsuitableClip: it cannot be decoded, or is to be turned.
    """
    return sum(1 for _ in _decode(path))


class Reference:
    """What the frames asked for should be: one full sequential decode by PyAV.

    Args:
        path: the clip.
        asked: frames that will be judged; they and those around them are kept in memory.
        least: dB from which an image may be the frame it is said to be.
    """

    def __init__(self, path: str, asked: Iterable[int], *, least: float) -> None:
        self._least = least
        wanted = {near for n in asked for near in range(n - AROUND, n + AROUND + 1)}
        self._images: dict[int, NDArray[np.uint8]] = {
            n: frame.to_ndarray(format="rgb24").astype(np.uint8, copy=False)
            for n, frame in enumerate(_decode(path))
            if n in wanted
        }
        self._digests = {n: digest(image) for n, image in self._images.items()}

    def is_exact(self, n: int, digest_of_image: str) -> bool:
        """Whether an image is frame ``n`` to the bit."""
        return self._digests[n] == digest_of_image

    def judge(self, n: int, image: NDArray[np.uint8]) -> Verdict:
        """What an image that should be frame ``n`` is.

        Likeness alone proves nothing, for neighbours are alike: of all frames at hand it must be
        most like the right one.
        """
        right = self._images[n]
        if image.shape != right.shape:
            return Verdict("wrong", 0.0)
        likeness = {k: psnr(image, self._images[k]) for k in self._near(n) if k in self._images}
        own = likeness[n]
        if own == math.inf:
            return Verdict("exact")
        if own >= self._least and own >= max(likeness.values()):
            return Verdict("close", own)
        everywhere = {k: psnr(image, other) for k, other in self._images.items()}
        best = max(everywhere, key=lambda k: everywhere[k])
        seen = best != n and everywhere[best] >= self._least
        return Verdict("wrong", own, best if seen else None)

    def _near(self, n: int) -> range:
        return range(n - AROUND, n + AROUND + 1)


def _decode(path: str) -> Iterator[av.VideoFrame]:
    try:
        with av.open(path, metadata_errors="ignore") as container:
            if not container.streams.video:
                raise UnsuitableClip("there is no video stream")
            container.streams.video[0].codec_context.thread_count = 1
            for frame in container.decode(video=0):
                if frame.side_data.get("DISPLAYMATRIX") is not None and frame.rotation:
                    raise UnsuitableClip("it is to be turned, which not every peer does")
                yield frame
    except (av.FFmpegError, OSError) as error:
        raise UnsuitableClip(f"it cannot be decoded: {error.strerror}") from error
