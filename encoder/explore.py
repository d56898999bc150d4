"""What the structures cost on a sample of somebody's own videos: bytes, and time to read.

All encodings of a source are brought to the same PSNR, so that what is left to compare is their
size and how long reading takes. Times are measured on this machine, by reading the new files as a
mount reads them, each request from all of them in turn, so that whatever else the machine does
slows them alike; what the bytes read take on a storage of some bandwidth can be added.
"""

from __future__ import annotations

import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import fmean, median

from decoder.reader import FrameReader
from encoder.errors import CheckFailed, EncodingFailed, SettingsError
from encoder.footage import Footage
from encoder.settings import Settings
from encoder.unit import Made, encoded

PATTERNS = ("random 8", "contiguous 10", "stride 30 x 5")
"""Requests that are measured: so many frames together."""

_REPEATS = 12
"""Requests of a kind that are timed on each file."""

_FRAMES = 260
"""Frames of a source that are encoded at most."""

_PASSED_OVER = (CheckFailed, EncodingFailed, SettingsError)
"""What makes a way to encode be left out, with its reason, and not the whole exploration fail."""

Said = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one frame costs in requests of one pattern, on the average.

    Attributes:
        seconds: until its pixels are there, from a file in memory.
        size: bytes read for it.
        pictures: reconstructed for it.
    """

    seconds: float
    size: float
    pictures: float

    def on(self, bandwidth: float | None) -> float:
        """Seconds a frame, on a storage of ``bandwidth`` bytes a second; None: of any."""
        return self.seconds + (0.0 if bandwidth is None else self.size / bandwidth)


@dataclass(frozen=True, slots=True)
class Tried:
    """One way to encode, over all sources of the sample.

    Attributes:
        settings: without a wish for quality.
        size: bytes a frame.
        psnr: dB, mean over the sources.
        bound: pictures in the largest closure.
        readings: by name of the pattern.
        best: no other is both smaller and read faster, over all patterns.
    """

    settings: Settings
    size: float
    psnr: float
    bound: int
    readings: dict[str, Reading]
    best: bool = False

    @property
    def label(self) -> str:
        """In a few words."""
        settings = self.settings
        text = f"{settings.profile} T={settings.interval}"
        if settings.anchors == "adaptive":
            text += " adaptive"
        return text + (" bound 4" if settings.structure == "ddra" and settings.bound == 4 else "")

    def seconds(self, bandwidth: float | None = None, pattern: str | None = None) -> float:
        """Seconds a frame in requests of ``pattern``; None: mean over all."""
        some = self.readings.values() if pattern is None else [self.readings[pattern]]
        return fmean(reading.on(bandwidth) for reading in some)


@dataclass(frozen=True, slots=True)
class Exploration:
    """What was found.

    Attributes:
        sources: their paths.
        frames: encoded of all of them together.
        tried: the smallest first.
        failed: (label, reason) of what could not be encoded.
    """

    sources: tuple[str, ...]
    frames: int
    tried: tuple[Tried, ...]
    failed: tuple[tuple[str, str], ...]

    def cheapest(self, bandwidth: float | None = None, pattern: str | None = None) -> Tried:
        """What is read in the least time; see `Tried.seconds`. Raises ValueError if all failed."""
        return min(self.tried, key=lambda one: one.seconds(bandwidth, pattern))


def candidates() -> list[Settings]:
    """What is tried unless told otherwise; intervals of 32 take programs of `encoder.external`."""
    fixed = [("fast", 4), ("fast", 8), ("fast", 16), ("compact", 4)]
    return [
        *(Settings.of_profile(name, interval=n, anchors="fixed") for name, n in fixed),
        *(Settings.of_profile(name, interval=n) for name in ("fast", "compact") for n in (16, 32)),
        Settings.of_profile("fast", bound=4, anchors="fixed"),
        *(Settings.of_profile("small", interval=n, bound=n) for n in (16, 32, 64)),
    ]


def explore(
    sources: Sequence[str],
    tries: Iterable[Settings] | None = None,
    *,
    psnr: float | None = None,
    frames: int = _FRAMES,
    stop: threading.Event | None = None,
    say: Said = lambda _: None,
) -> Exploration:
    """Encodes ``sources`` in all ways of ``tries`` at equal PSNR and reads the results.

    Args:
        tries: by default `candidates`; what they wish of quality is passed over.
        psnr: dB; by default what the first way has with its own crf, of each source.
        frames: of each source at most.
        say: is told what is done next.

    Raises:
        SourceFailed, SourceUnsupported: a source cannot be encoded at all.
        Interrupted: ``stop`` is set.
        TargetFailed: there is no room for temporary files.
    """
    ways = [_unwishing(one) for one in (candidates() if tries is None else tries)]
    results: dict[int, list[_Result]] = {n: [] for n in range(len(ways))}
    failed: dict[int, str] = {}
    total = 0
    for source in sources:
        with (
            tempfile.TemporaryDirectory(prefix="framefs-explore-") as folder,
            Footage(source, stop, retime=True, most=frames) as footage,
        ):
            total += len(footage)
            made: dict[int, Made] = {}
            wish = psnr
            for n, way in enumerate(ways):
                if n in failed:
                    continue
                say(f"{os.path.basename(source)}: {_label(way)}")
                path = os.path.join(folder, f"{n}.mp4")
                try:
                    made[n] = encoded(footage, path, way.replaced(match_psnr=wish), stop)
                except _PASSED_OVER as error:
                    failed[n] = str(error)
                    continue
                wish = made[n].quality.psnr if wish is None else wish
            say(f"{os.path.basename(source)}: reading")
            readings = _read(made, len(footage), stop)
            for n, one in made.items():
                size = one.checked.source.fingerprint.size / len(footage)
                results[n].append(_Result(size, one.quality.psnr, one.checked.worst, readings[n]))
    tried = [
        _merged(way, results[n]) for n, way in enumerate(ways) if n not in failed and results[n]
    ]
    tried.sort(key=lambda one: one.size)
    return Exploration(
        tuple(sources),
        total,
        tuple(replace(one, best=_is_best(one, tried)) for one in tried),
        tuple((_label(ways[n]), reason) for n, reason in failed.items()),
    )


@dataclass(frozen=True, slots=True)
class _Result:
    """One source, encoded in one way."""

    size: float
    psnr: float
    bound: int
    readings: dict[str, Reading]


def _read(
    made: Mapping[int, Made], count: int, stop: threading.Event | None
) -> dict[int, dict[str, Reading]]:
    """What reading takes, by number of the encoding and pattern."""
    found: dict[int, dict[str, Reading]] = {n: {} for n in made}
    with ExitStack() as stack:
        readers = {
            n: stack.enter_context(
                FrameReader(one.checked.source, index=one.checked.index, stop=stop)
            )
            for n, one in made.items()
        }
        for reader in readers.values():
            reader.read([0])  # the file is open
        for pattern in PATTERNS:
            costs: dict[int, list[Reading]] = {n: [] for n in made}
            for request in _requests(pattern, count):
                for n, reader in readers.items():
                    costs[n].append(_timed(reader, request))
            for n, some in costs.items():
                found[n][pattern] = Reading(
                    median(one.seconds for one in some),
                    fmean(one.size for one in some),
                    fmean(one.pictures for one in some),
                )
    return found


def _timed(reader: FrameReader, request: Sequence[int]) -> Reading:
    before = replace(reader.stats)
    began = time.perf_counter()
    reader.read(request)
    seconds, after = time.perf_counter() - began, reader.stats
    count = len(request)
    return Reading(
        seconds / count,
        (after.bytes_read - before.bytes_read) / count,
        (after.reconstructed - before.reconstructed) / count,
    )


def _requests(pattern: str, count: int) -> Iterable[list[int]]:
    """The same for all encodings of a source."""
    chance = random.Random(pattern)
    for _ in range(_REPEATS):
        if pattern == "random 8":
            yield chance.sample(range(count), min(8, count))
            continue
        size, stride = (10, 1) if pattern == "contiguous 10" else (5, 30)
        reach = min(count - 1, (size - 1) * stride)
        first = chance.randrange(count - reach)
        yield list(range(first, first + reach + 1, stride))


def _merged(way: Settings, some: Sequence[_Result]) -> Tried:
    readings = {
        pattern: Reading(
            fmean(one.readings[pattern].seconds for one in some),
            fmean(one.readings[pattern].size for one in some),
            fmean(one.readings[pattern].pictures for one in some),
        )
        for pattern in PATTERNS
    }
    return Tried(
        way,
        fmean(one.size for one in some),
        fmean(one.psnr for one in some),
        max(one.bound for one in some),
        readings,
    )


def _is_best(one: Tried, others: Sequence[Tried]) -> bool:
    return not any(other.size < one.size and other.seconds() < one.seconds() for other in others)


def _label(way: Settings) -> str:
    return Tried(way, 0, 0, way.bound, {}).label


def _unwishing(way: Settings) -> Settings:
    return way.replaced(match_psnr=None, match_ssim=None, like=None, target_size=None)
