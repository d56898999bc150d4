"""The unit of work: one source, encoded, checked and put in place, or an error and nothing."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import msgspec

from decoder.corpus import source_at
from decoder.reader import FrameReader
from encoder import ddra, hierarchical, siting, spans, telling, trial
from encoder.check import BoundMissed, Checked, checked
from encoder.coding import ENCODERS, Coding
from encoder.errors import (
    CheckFailed,
    EncodingFailed,
    SourceFailed,
    SourceUnsupported,
    TargetFailed,
)
from encoder.footage import Footage
from encoder.partial import partial_beside
from encoder.quality import Quality, quality
from encoder.search import OutOfReach
from encoder.settings import Settings
from encoder.timing import Timing, timing
from encoder.wish import Wish
from encoder.writing import Progress, write


class Outcome(msgspec.Struct, frozen=True):
    """What came of one source.

    Attributes:
        source: its path.
        fingerprint: of the version that was encoded, "size-mtime_ns".
        settings: as they were given.
        bytes_in, bytes_out: sizes of the two files.
        frames: in both.
        psnr: dB, RGB, pooled over all frames.
        ssim: mean over all frames.
        bound: pictures in the largest closure of a frame, as found.
        mean_closure: pictures in the closure of a frame on average.
        interval: frames from anchor to anchor: one number where all but the last are the same.
        crf: that was used.
        seconds: that it took.
        notes: what is not in the new file as it was in the source, in words.
    """

    source: str
    fingerprint: str
    settings: Settings
    bytes_in: int
    bytes_out: int
    frames: int
    psnr: float
    ssim: float
    bound: int
    mean_closure: float
    interval: int | list[int]
    crf: float
    seconds: float
    notes: list[str]


@dataclass(frozen=True, slots=True)
class Made:
    """An encoding that passed its checks.

    Attributes:
        coding: how it was encoded.
        crf: that was used.
        checked: what it was found to be.
        quality: how near it comes to its source.
        notes: what could not be kept, in words.
    """

    coding: Coding
    crf: float
    checked: Checked
    quality: Quality
    notes: tuple[str, ...]


def transcode(
    source: str,
    target: str,
    settings: Settings,
    *,
    stop: threading.Event | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Encodes ``source`` to ``target`` and checks the result before it is there.

    A function of (source, settings) and nothing else. What is written lies beside ``target`` under
    a hidden name until it is complete, checked and on the disk; then it replaces ``target``. After
    an error nothing is left behind.

    Args:
        stop: ends the work, with Interrupted, when set.
        progress: is told of (frames encoded, frames in all); begins anew with every attempt.

    Raises:
        SourceFailed: the source cannot be read, or was changed meanwhile.
        SourceUnsupported: it shows something that the new file cannot hold.
        SettingsError: no encoder here can do this.
        EncodingFailed, CheckFailed: the encoder did not do what it was told.
        TargetFailed: the new file cannot be written.
        Interrupted: see ``stop``.
    """
    began = time.monotonic()
    with _partial(source, target) as path, Footage(source, stop, retime=settings.retime) as footage:
        made = encoded(footage, path, settings, stop, progress)
        _check_source(footage)
        size = os.path.getsize(path)
        _put_in_place(source, path, target)
    return Outcome(
        source=source,
        fingerprint=footage.fingerprint,
        settings=settings,
        bytes_in=footage.size,
        bytes_out=size,
        frames=len(footage),
        psnr=made.quality.psnr,
        ssim=made.quality.mean_ssim,
        bound=made.checked.worst,
        mean_closure=made.checked.mean,
        interval=_interval(made.coding, settings),
        crf=made.crf,
        seconds=time.monotonic() - began,
        notes=list(made.notes),
    )


def encoded(
    footage: Footage,
    path: str,
    settings: Settings,
    stop: threading.Event | None = None,
    progress: Progress | None = None,
) -> Made:
    """Encodes ``footage`` to ``path``, which may hold anything after an error. As `transcode`."""
    return _Work(footage, path, settings, stop, progress).made()


class _Work:
    """Encodes one footage, as often as it takes, always to the same path."""

    def __init__(
        self,
        footage: Footage,
        path: str,
        settings: Settings,
        stop: threading.Event | None,
        progress: Progress | None,
    ) -> None:
        self._footage = footage
        self._path = path
        self._settings = settings
        self._stop = stop
        self._progress = progress
        self._left_out: list[str] = []
        self._there: tuple[Coding, float] | None = None
        self._look, self._notes = telling.look_for(ENCODERS[settings.codec], footage)
        self._codings = [telling.told(coding, footage, self._look) for coding in self._ways()]

    def made(self) -> Made:
        """The encoding that the settings ask for, checked. Raises as `transcode`."""
        crf = self._settings.crf
        if self._settings.searches:
            crf = self._sought()
        while True:
            coding = self._codings[0]
            try:
                found = self._written(coding, crf)
            except BoundMissed:
                if len(self._codings) == 1:
                    raise
                self._codings.pop(0)
                if self._settings.searches:
                    crf = self._sought(crf)
                continue
            alike = quality(self._footage, found.source, found.index, self._stop)
            notes = (*self._footage.notes, *self._notes, *self._left_out, *self._siting(found))
            return Made(coding, crf, found, alike, notes)

    def _sought(self, first: float | None = None) -> float:
        """The crf that gives what is wished. Raises EncodingFailed if none does."""
        wish = Wish.of(self._settings, self._footage, self._stop)
        try:
            return wish.crf(self._settings.crf if first is None else first, self._measured)
        except OutOfReach as error:
            raise EncodingFailed(f"{self._footage.path}: {wish.missed(error)}") from error

    def _measured(self, crf: float) -> tuple[int, Quality]:
        """Bytes and quality of an encoding with ``crf``, which is not checked."""
        coding = self._codings[0]
        self._write(coding, crf)
        alike = quality(self._footage, source_at(self._path), None, self._stop)
        return os.path.getsize(self._path), alike

    def _written(self, coding: Coding, crf: float) -> Checked:
        if self._there != (coding, crf):  # a search ends with the one that is wanted mostly
            self._write(coding, crf)
        return checked(self._path, coding, self._look, self._when(coding), self._stop)

    def _write(self, coding: Coding, crf: float) -> None:
        self._there = None
        self._left_out = write(
            self._footage,
            self._path,
            coding,
            self._look,
            self._when(coding),
            crf,
            threads=self._settings.threads,
            tracks=self._settings.keep_tracks,
            stop=self._stop,
            progress=self._progress,
        )
        self._there = coding, crf

    def _ways(self) -> Iterator[Coding]:
        count, settings = len(self._footage), self._settings
        if settings.structure == "hierarchical":
            yield from hierarchical.codings(settings, count)
        elif settings.anchors == "adaptive":
            found = trial.followed(self._footage, self._look, settings, settings.crf, self._stop)
            yield ddra.coding(settings, found, count)
        else:
            even = spans.evenly(count, settings.interval, ddra.segment_of(settings))
            yield ddra.coding(settings, even, count)

    def _siting(self, found: Checked) -> Iterator[str]:
        """Whether RGB is made otherwise of the same samples, in words."""
        source = next(self._footage.pixels()).native
        with FrameReader(found.source, index=found.index) as reader:
            new = reader.frame(0).native
        alike = source.format.name == new.format.name and source.interlaced_frame is False
        if alike and not siting.is_alike(source, new):
            yield (
                f"{found.index.facts.codec} says otherwise than the source where chroma lies: RGB "
                "is made of it a little differently"
            )

    def _when(self, coding: Coding) -> Timing:
        try:
            return timing(self._footage.times, coding.order, self._footage.last)
        except ValueError as error:
            raise SourceUnsupported(
                f"{self._footage.path}: {error}, which an MP4 file cannot hold"
            ) from error


def _interval(coding: Coding, settings: Settings) -> int | list[int]:
    """One number where intervals are of one length but the last and those between segments."""
    found = spans.lengths(coding.anchors)
    heads = set(coding.starts)
    inner = [n for n, head in zip(found, coding.anchors[1:], strict=True) if head not in heads]
    usual = inner[:-1] or inner or found
    if not usual:  # a single anchor
        return settings.interval
    return usual[0] if len(set(usual)) == 1 and max(inner, default=1) <= usual[0] else found


def _check_source(footage: Footage) -> None:
    """Raises SourceFailed unless the source is still what was encoded."""
    try:
        status = os.stat(footage.path)
    except OSError as error:
        raise SourceFailed(f"{footage.path}: {error.strerror}; nothing was written") from error
    if f"{status.st_size}-{status.st_mtime_ns}" != footage.fingerprint:
        raise SourceFailed(
            f"{footage.path}: the file was changed while it was encoded; nothing was written"
        )


@contextmanager
def _partial(source: str, target: str) -> Iterator[str]:
    """A hidden name beside ``target``, under which nothing is left."""
    path = partial_beside(target)
    try:
        yield path
    except CheckFailed as error:
        # Of the source, which people know; the name in the message is of no use to them.
        error.args = (f"{source}: {str(error).removeprefix(f'{path}: ')}; {target} was not made",)
        raise
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _put_in_place(source: str, path: str, target: str) -> None:
    try:
        _sync(path)
        os.replace(path, target)
        _sync(os.path.dirname(os.path.abspath(target)))
    except OSError as error:
        raise TargetFailed(
            f"{source}: {target} cannot be written ({error.strerror}); "
            "make room or choose another place"
        ) from error


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a filesystem that cannot say so of a folder
            raise
    finally:
        os.close(handle)
