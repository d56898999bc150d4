"""One crf for a whole corpus, by encoding its samples again and again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from decoder.corpus import source_at
from decoder.errors import DecoderError
from encoder.corpus import Unit
from encoder.errors import EncoderError, EncodingFailed
from encoder.footage import Footage
from encoder.prediction import Sampled, cut, prediction
from encoder.quality import Quality, quality
from encoder.search import OutOfReach
from encoder.settings import Settings
from encoder.wish import Wish
from engines import Pulse

_PEAK = 255.0


@dataclass(frozen=True, slots=True)
class Referenced:
    """The quality of the sample of a unit's reference.

    Attributes:
        frames: of the source.
        psnr: dB, RGB, pooled.
    """

    frames: int
    psnr: float


class ReferenceJob:
    """Measures the sample of what a unit is to be like; an `engines.Job`. Leaves nothing behind."""

    def __call__(self, item: Unit, pulse: Pulse) -> Referenced | str:
        """What it came to, or why it cannot be said."""
        if item.settings.like is None:
            return f"{item.path}: there is nothing to be like"
        try:
            with tempfile.TemporaryDirectory(prefix="framefs-") as folder:
                part, reference = (os.path.join(folder, name) for name in ("0.mkv", "1.mkv"))
                frames, _ = cut(item.path, part, pulse)
                cut(item.settings.like, reference, pulse)
                with Footage(part, pulse) as footage:
                    found = quality(footage, source_at(reference), None, pulse)
            return Referenced(frames, found.psnr)
        except (EncoderError, DecoderError) as error:
            return str(error)
        except OSError as error:
            return f"{item.path}: no sample can be written ({error.strerror or error})"


def plain(settings: Settings, crf: float | None = None) -> Settings:
    """``settings`` without a wish, with ``crf``."""
    wishes = {"match_psnr": None, "match_ssim": None, "like": None, "target_size": None}
    return settings.replaced(**wishes, **({} if crf is None else {"crf": crf}))


def common_crf(
    units: Sequence[Unit],
    wish: Wish,
    trials: Callable[[list[Unit]], Sequence[Sampled]],
    chosen: Sequence[Unit],
) -> float:
    """The crf with which all ``units`` together meet ``wish``, as far as samples tell.

    Args:
        wish: of pooled frames, or of the bytes of all together.
        trials: encodes the samples of units, as their settings say.
        chosen: units that are sampled.

    Raises:
        EncodingFailed: none does, or nothing can be sampled.
    """

    def measure(crf: float) -> tuple[int, Quality]:
        samples = trials([replace(u, settings=plain(u.settings, crf)) for u in chosen])
        if not samples:
            raise EncodingFailed("not one sample could be encoded; framefs transcode tells why")
        found = prediction(units, samples)
        return int(found.bytes_out), _pooled(
            [s.frames for s in samples], [s.psnr for s in samples], [s.ssim for s in samples]
        )

    try:
        return wish.crf(units[0].settings.crf, measure)
    except OutOfReach as error:
        raise EncodingFailed(f"for all videos together, {wish.missed(error)}") from error


def pooled_psnr(references: Sequence[Referenced]) -> float:
    """dB, of all frames together."""
    frames, psnr = ([r.frames for r in references], [r.psnr for r in references])
    return _pooled(frames, psnr, psnr).psnr


def _pooled(frames: Sequence[int], psnr: Sequence[float], ssim: Sequence[float]) -> Quality:
    """The quality of so many frames of each."""
    squared: NDArray[np.float64] = _PEAK**2 / 10 ** (np.asarray(psnr) / 10)
    return Quality(np.repeat(squared, frames), np.repeat(np.asarray(ssim, np.float64), frames))
