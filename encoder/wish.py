"""What a search for the crf is to reach: a quality, that of another file, or a size."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from decoder.corpus import source_at
from decoder.errors import DecoderError
from encoder.errors import SourceFailed
from encoder.footage import Footage
from encoder.quality import Quality, quality
from encoder.search import OutOfReach, highest
from encoder.settings import LIKE_WITHIN, Settings, highest_crf

Measure = Callable[[float], tuple[int, Quality]]
"""crf -> (bytes, quality) of the encoding with it."""

_STEP = 0.25
"""Nearest crfs that encoders tell apart."""

_SLOPES = {
    "psnr": {"h264": 0.65, "h265": 0.55, "av1": 0.23},
    "ssim": {"h264": 0.12, "h265": 0.11, "av1": 0.055},
    "size": {"h264": 0.10, "h265": 0.11, "av1": 0.055},
}
"""By which a surplus usually falls with each crf, seen on clips of robots, animals and people."""

_ALIKE = 1e-9
"""What the SSIM of frames without any difference is taken to be short of 1."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One number to reach.

    Attributes:
        kind: "psnr" is met within `LIKE_WITHIN` dB, "ssim" is reached at least, "size" at most.
        value: dB, from 0 to 1, bytes.
        codec: whose crf is sought.
    """

    kind: Literal["psnr", "ssim", "size"]
    value: float
    codec: Literal["h264", "h265", "av1"]

    @classmethod
    def of(cls, settings: Settings, footage: Footage, stop: threading.Event | None = None) -> Wish:
        """What ``settings`` ask for, one of which is set.

        Raises:
            SourceFailed: the encoding to be met cannot be read, or is of other frames.
        """
        if settings.match_ssim is not None:
            return cls("ssim", settings.match_ssim, settings.codec)
        if settings.target_size is not None:
            return cls("size", settings.target_size, settings.codec)
        if settings.match_psnr is not None:
            return cls("psnr", settings.match_psnr, settings.codec)
        assert settings.like is not None
        return cls("psnr", _psnr_of(settings.like, footage, stop), settings.codec)

    def crf(self, first: float, measure: Measure) -> float:
        """The highest crf that meets the wish; of a size the lowest. Raises OutOfReach."""
        limit, slope = highest_crf(self.codec), _SLOPES[self.kind][self.codec]
        if self.kind == "size":
            # Read backwards, the surplus of a size falls as well.
            return -highest(lambda x: self._surplus(*measure(-x)), -first, -limit, 0, _STEP, slope)
        within = LIKE_WITHIN if self.kind == "psnr" else None
        return highest(lambda x: self._surplus(*measure(x)), first, 0, limit, _STEP, slope, within)

    def missed(self, error: OutOfReach) -> str:
        """In words, that no crf meets the wish."""
        got = f"crf {abs(error.value):g} misses it by"
        if self.kind == "size":
            factor = math.exp(-error.surplus)
            return f"{self.value:.0f} bytes are too few; {got} a factor of {factor:.2f}"
        if self.kind == "ssim":
            by = (1 - self.value) * (math.exp(-error.surplus) - 1)
            return f"an SSIM of {self.value:g} cannot be reached; {got} {by:.4f}"
        return f"a PSNR of {self.value:.2f} dB cannot be met; {got} {abs(error.surplus):.2f} dB"

    def _surplus(self, size: int, found: Quality) -> float:
        if self.kind == "psnr":
            return found.psnr - self.value
        if self.kind == "ssim":
            # What is short of 1 grows with the crf by a factor, much as bytes shrink.
            return math.log((1 - self.value) / max(_ALIKE, 1 - found.mean_ssim))
        return math.log(self.value / size)


def _psnr_of(path: str, footage: Footage, stop: threading.Event | None) -> float:
    try:
        reference = source_at(path)
    except DecoderError as error:
        raise SourceFailed(f"{path}: there is no such encoding of {footage.path}") from error
    return quality(footage, reference, None, stop).psnr
