"""`Footage`: what there is to encode: the frames that framefs shows of a source, and their look."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import TracebackType
from typing import Literal

import av

from decoder.corpus import source_at
from decoder.errors import DecoderError, SourceUnreadable, Stopped
from decoder.media import Media
from decoder.pixels import Pixels, display_matrix
from decoder.reader import FrameReader
from encoder import siting
from encoder.errors import EncoderError, Interrupted, SourceFailed, SourceUnsupported
from encoder.screen import Screen, screen_of
from encoder.timing import told_rate

_FALLBACK_RATE = Fraction(25)
"""Frames per second of a source that tells neither timestamps nor a rate."""

_FULL = {"yuvj420p": "yuv420p", "yuvj422p": "yuv422p", "yuvj444p": "yuv444p", "yuvj440p": "yuv440p"}
"""Formats that say by their name that samples take the full range, and the same without."""

_FIRST_FIELDS: Mapping[int, Literal["top", "bottom"]] = {
    2: "top", 3: "bottom", 4: "bottom", 5: "top",
}  # fmt: skip
"""AVFieldOrder: which field is shown first."""

_FULL_RANGE = 2
"""AVCOL_RANGE_JPEG."""


@dataclass(frozen=True, slots=True)
class Look:
    """How the samples of a frame are to be understood.

    Attributes:
        width, height: as stored, before rotation.
        pixel_format: FFmpeg's name, never one of those that tell the range too.
        bits: per sample.
        range, matrix, primaries, transfer: numbers of ISO/IEC 23091-2 (range: FFmpeg's, 0 unknown,
            1 limited, 2 full).
        sample_aspect_ratio: width by height of a pixel, 0 where unknown.
        display_matrix: nine numbers as in ISO/IEC 14496-12, 6.2.2, or None.
        interlaced: the frame is of two fields.
        screen: what is said of the screen it was graded on.
    """

    width: int
    height: int
    pixel_format: str
    bits: int
    range: int
    matrix: int
    primaries: int
    transfer: int
    sample_aspect_ratio: Fraction
    display_matrix: tuple[int, ...] | None
    interlaced: bool
    screen: Screen


def look_of(frame: av.VideoFrame, sample_aspect_ratio: Fraction, screen: Screen) -> Look:
    """The look of ``frame`` in a stream that says this besides."""
    name = frame.format.name
    matrix = display_matrix(frame)
    return Look(
        width=frame.width,
        height=frame.height,
        pixel_format=_FULL.get(name, name),
        bits=max((c.bits for c in frame.format.components), default=8),
        range=_FULL_RANGE if name in _FULL else int(frame.color_range),
        matrix=int(frame.colorspace),
        primaries=int(frame.color_primaries),
        transfer=int(frame.color_trc),
        sample_aspect_ratio=sample_aspect_ratio,
        display_matrix=None if matrix is None else tuple(matrix.tolist()),
        interlaced=bool(frame.interlaced_frame),
        screen=screen,
    )


class Footage:
    """The frames of one source, in presentation order. A context manager; one thread.

    Args:
        path: of the source.
        stop: ends the work, with Interrupted, when set.
        retime: see `encoder.settings.Settings`.
        most: only so many frames, from the first on.

    Attributes:
        path: as given.
        fingerprint: of the version that is read, "size-mtime_ns".
        size: bytes of the source.
        look: of the first frame.
        sited: whether the source says where chroma lies and that matters; see `encoder.siting`.
        first_field: "top" or "bottom" where every frame is of two fields, None elsewhere or where
            the source does not tell which comes first.
        times: seconds at which each frame is shown, from 0 on.
        later: seconds by which that is later than in the source.
        last: seconds for which the last frame is shown.
        rate: frames per second, see `encoder.timing.told_rate`.
        notes: what could not be kept as it was, in words.

    Raises:
        SourceFailed: the source cannot be read.
        SourceUnsupported: its frames are of several sizes or formats.
    """

    def __init__(
        self,
        path: str,
        stop: threading.Event | None = None,
        *,
        retime: bool = False,
        most: int | None = None,
    ) -> None:
        self.path = path
        self._retime = retime
        self._stop = stop
        with _told():
            source = source_at(path)
            self.reader = FrameReader(source, stop=stop)
        self.fingerprint = f"{source.fingerprint.size}-{source.fingerprint.mtime_ns}"
        self.size = source.fingerprint.size
        self.notes: list[str] = []
        self.later = Fraction(0)
        index = self.reader.index
        if len(index.geometries) > 1:
            kinds = ", ".join(f"{g.width}x{g.height} {g.pixel_format}" for g in index.geometries)
            self.close()
            raise SourceUnsupported(
                f"{path}: its frames are of several kinds ({kinds}), which one stream cannot be; "
                "cut it into parts of one kind each"
            )
        self.rate = self.reader.fps or _FALLBACK_RATE
        self.times, self.last = self._timestamps()
        self.rate = told_rate(self.times, self.rate)
        if most is not None and most < len(self.times):
            self.last = max(1 / self.rate, self.times[most] - self.times[most - 1])
            self.times = self.times[:most]
        with _told():
            first, screen = self.reader.frame(0), screen_of(source)
        self.look = look_of(first.native, Fraction(*index.facts.sample_aspect_ratio), screen)
        self.sited = siting.is_told(first.native)
        self.first_field = self._first_field() if self.look.interlaced else None

    def __len__(self) -> int:
        return len(self.times)

    def pixels(self) -> Iterator[Pixels]:
        """The frames in order. Raises SourceFailed, Interrupted."""
        for n in range(len(self)):
            with _told():
                pixels = self.reader.frame(n)
            yield pixels

    def again(self) -> Iterator[Pixels]:
        """The frames in order, beside those of `pixels`. Raises SourceFailed, Interrupted."""
        with (
            _told(),
            FrameReader(self.reader.source, index=self.reader.index, stop=self._stop) as other,
        ):
            for n in range(len(self)):
                yield other.frame(n)

    def close(self) -> None:
        """Closes the source."""
        self.reader.close()

    def __enter__(self) -> Footage:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _first_field(self) -> Literal["top", "bottom"] | None:
        with _told(), Media(self.reader.source) as media:
            first = _FIRST_FIELDS.get(int(media.context.field_order))
        if not all(pixels.native.interlaced_frame for pixels in self.pixels()):
            return None
        return first

    def _timestamps(self) -> tuple[list[Fraction], Fraction]:
        """When frames are shown, from 0 on, and how long the last is."""
        index = self.reader.index
        step = 1 / self.rate
        infos = [index.frame(n).time for n in range(index.frame_count)]
        if any(time is None for time in infos):
            self.notes.append(
                f"the source tells no timestamps: frames are {float(self.rate):g} to a second"
            )
            return [n * step for n in range(len(infos))], step
        times = [time for time in infos if time is not None]
        backwards = next((n for n, (a, b) in enumerate(pairwise(times), 1) if b < a), None)
        if backwards is not None:
            what = f"frame {backwards} is shown at {float(times[backwards]):.6f} s, before frame "
            what += f"{backwards - 1} at {float(times[backwards - 1]):.6f} s"
            if not self._retime:
                raise SourceUnsupported(
                    f"{self.path}: {what}, which an MP4 file cannot hold; with the setting retime "
                    f"its frames are shown at {float(self.rate):g} to a second"
                )
            self.notes.append(f"{what}: frames are {float(self.rate):g} to a second instead")
            return [n * step for n in range(len(times))], step
        if times[0] < 0:
            self.notes.append(
                f"MP4 has no times below 0: all are {-float(times[0]):g} s later than in the source"
            )
            self.later = -times[0]
            times = [time + self.later for time in times]
        last = step
        if len(times) > 1 and times[-1] > times[-2]:
            last = min(step, times[-1] - times[-2]) if self.reader.fps else times[-1] - times[-2]
        return times, last


class _told:  # noqa: N801 - a context, used as a statement
    """Errors of the decoder as errors of the encoder."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Stopped):
            raise Interrupted(str(error)) from error
        if isinstance(error, DecoderError):
            raise _converted(error) from error


def _converted(error: DecoderError) -> EncoderError:
    text = str(error)
    if isinstance(error, SourceUnreadable):
        return SourceFailed(text)
    return SourceFailed(f"{text}; nothing was written")
