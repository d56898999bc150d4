"""What came of it: bytes and times of each way beside LeRobot's. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.encodings.reading import SIZES, Sample
from bench.encodings.shelf import Encoded
from bench.encodings.ways import ADAPTIVE, BASE, JPEG, kind_of

Shelved = Mapping[str, Mapping[str, Encoded]]
"""By clip and way."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Frames in batches of one pattern.

    Attributes:
        ms: a frame; of each batch the median, then the mean over batches and clips.
        speed: LeRobot's time for the same batches, divided by this one's; None where that was not
            read.
        pictures: reconstructed a frame; None where nobody tells.
    """

    ms: float
    speed: float | None
    pictures: float | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One way, of one clip or of several.

    Attributes:
        size: bytes of a clip, on average.
        share: of LeRobot's bytes, and of those of JPEG files (None where they were not made).
        jpeg_share: see ``share``.
        psnr: dB, mean over the clips.
        mean_closure: mean over the clips; None of what framefs did not make.
        readings: by pattern; empty where nothing was read.
    """

    size: float
    share: float
    jpeg_share: float | None
    psnr: float
    ssim: float | None
    mean_closure: float | None
    readings: dict[str, Reading]


def by_kind(shelved: Shelved, samples: Iterable[Sample]) -> dict[str, dict[str, Figure]]:
    """By kind of camera, "still" and "moving", and way."""
    kinds: dict[str, list[str]] = {}
    for clip in shelved:
        kinds.setdefault(kind_of(clip), []).append(clip)
    samples = list(samples)
    return {kind: _figures(shelved, clips, samples) for kind, clips in sorted(kinds.items())}


def by_clip(shelved: Shelved, samples: Iterable[Sample]) -> dict[str, dict[str, Figure]]:
    """By clip and way."""
    samples = list(samples)
    return {clip: _figures(shelved, [clip], samples) for clip in shelved}


def surplus(shelved: Shelved) -> dict[str, dict[str, float]]:
    """By way whose anchors follow the content, and clip: its bytes by those of the best fixed T."""
    found: dict[str, dict[str, float]] = {}
    for clip, encoded in shelved.items():
        for name, fixed in ADAPTIVE.items():
            sizes = [encoded[way].size for way in fixed if way in encoded]
            if sizes and name in encoded:
                found.setdefault(name, {})[clip] = encoded[name].size / min(sizes)
    return found


def _figures(
    shelved: Shelved, clips: Sequence[str], samples: Sequence[Sample]
) -> dict[str, Figure]:
    times = {
        way: _times([s for s in samples if s.way == way and s.clip in clips])
        for way in shelved[clips[0]]
    }
    found = {}
    for way in shelved[clips[0]]:
        some = [shelved[clip][way] for clip in clips]
        size = statistics.fmean(one.size for one in some)
        found[way] = Figure(
            size,
            size / statistics.fmean(shelved[clip][BASE].size for clip in clips),
            _share(size, [shelved[clip].get(JPEG) for clip in clips]),
            statistics.fmean(one.psnr for one in some),
            _mean([one.ssim for one in some]),
            _mean([one.mean_closure for one in some]),
            {
                pattern: Reading(ms, _speed(ms, times[BASE].get(pattern)), pictures)
                for pattern, (ms, pictures) in times[way].items()
            },
        )
    return found


def _times(samples: Sequence[Sample]) -> dict[str, tuple[float, float | None]]:
    """By pattern: ms and pictures a frame."""
    found = {}
    for pattern in SIZES:
        batches: dict[tuple[str, int], list[Sample]] = {}
        for sample in samples:
            if sample.pattern == pattern:
                batches.setdefault((sample.clip, sample.batch), []).append(sample)
        if not batches:
            continue
        ms = [
            statistics.median(one.ms for one in some) / some[0].frames for some in batches.values()
        ]
        pictures = [
            None if one.pictures is None else one.pictures / one.frames
            for some in batches.values()
            for one in some
        ]
        found[pattern] = statistics.fmean(ms), _mean(pictures)
    return found


def _speed(ms: float, base: tuple[float, float | None] | None) -> float | None:
    return None if base is None else base[0] / ms


def _share(size: float, others: Sequence[Encoded | None]) -> float | None:
    mean = _mean([None if one is None else one.size for one in others])
    return None if mean is None else size / mean


def _mean(values: Sequence[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return statistics.fmean(told) if told and len(told) == len(values) else None
