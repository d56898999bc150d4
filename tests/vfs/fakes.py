"""A service without a decoder: "videos" are small JSON files that say what to show."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoder.corpus import Source, source_at
from decoder.errors import (
    DecodeFailed,
    DecoderError,
    SourceChanged,
    SourceNotFound,
    SourceUnreadable,
)
from decoder.foresight import Outlook
from decoder.index import (
    KEY,
    NO_TIMESTAMP,
    FrameTable,
    Geometry,
    PacketTable,
    SourceIndex,
    StreamFacts,
)
from decoder.pixels import PixelFormat

RATE = 30


@dataclass(frozen=True, slots=True)
class Video:
    """What a fake video shows: every sample of a frame follows from these numbers."""

    frames: int = 10
    height: int = 24
    width: int = 32
    seed: int = 0
    bits: int = 8
    timestamps: bool = True
    broken_frame: int = -1
    slow_frame: int = -1
    slow_seconds: int = 2
    padding: int = 0

    def array(self, frame: int, pixel_format: PixelFormat) -> NDArray[Any]:
        deep = pixel_format in ("rgb48le", "gray16le")
        shape = (
            (self.height, self.width, 3)
            if pixel_format.startswith("rgb")
            else (
                self.height,
                self.width,
            )
        )
        random = np.random.default_rng([self.seed, frame])
        array: NDArray[Any] = random.integers(
            0, 65536 if deep else 256, shape, np.uint16 if deep else np.uint8
        )
        return array


def write_video(path: Path, video: Video | None = None, *, mtime_ns: int | None = None) -> Path:
    """Writes a fake video, replacing what is there by renaming, as careful writers do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    video = video or Video()
    text = json.dumps(asdict(video)) + " " * video.padding
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text)
    if mtime_ns is not None:
        os.utime(temporary, ns=(mtime_ns, mtime_ns))
    temporary.replace(path)
    return path


def make_index(video: Video) -> SourceIndex:
    count = video.frames
    pts = np.arange(count, dtype=np.int64) if video.timestamps else np.full(count, NO_TIMESTAMP)
    return SourceIndex(
        facts=StreamFacts(
            stream=0,
            container="fake",
            codec="fake",
            time_base=(1, RATE),
            rate=(RATE, 1),
            sample_aspect_ratio=(1, 1),
            damage=(),
        ),
        packets=PacketTable(
            pts=pts,
            dts=pts,
            position=np.arange(count, dtype=np.int64),
            size=np.ones(count, np.int32),
            offset=np.zeros(count, np.uint8),
            flags=np.full(count, KEY, np.uint8),
        ),
        frames=FrameTable(
            packet=np.arange(count, dtype=np.int32),
            picture_type=np.ones(count, np.uint8),
            hash=np.zeros(count, np.uint64),
            geometry=np.zeros(count, np.uint16),
        ),
        geometries=(
            Geometry(
                width=video.width,
                height=video.height,
                pixel_format="gray" if video.bits == 8 else "gray10le",
                bits=video.bits,
                orientation="upright",
            ),
        ),
    )


@dataclass(frozen=True, slots=True)
class FakePicture:
    """As `decoder.pixels.Pixels`, of one gray plane."""

    video: Video
    frame: int

    @property
    def nbytes(self) -> int:
        return self.joined().nbytes

    def array(self, pixel_format: PixelFormat) -> NDArray[Any]:
        return self.video.array(self.frame, pixel_format)

    def joined(self) -> NDArray[Any]:
        return self.video.array(self.frame, "gray" if self.video.bits == 8 else "gray16le")


class FakeService:
    """As `decoder.service.FrameService` describes itself, less its threads. Counts what it does."""

    def __init__(self) -> None:
        self.indexed: Counter[str] = Counter()
        self.decoded: Counter[tuple[str, int]] = Counter()
        self.indexing = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self.hurry = threading.Event()
        self._lock = threading.Lock()
        self._known: dict[Source, SourceIndex | DecoderError] = {}

    def index(self, source: Source) -> SourceIndex:
        known = self.known(source)
        if known is None:
            self.indexing.set()
            assert self.go_on.wait(30)
            with self._lock:
                self.indexed[os.path.basename(source.path)] += 1
            try:
                known = make_index(self._video(source))
            except SourceUnreadable as error:
                known = error
            self._known[source] = known
        if isinstance(known, DecoderError):
            raise known
        return known

    def known(self, source: Source) -> SourceIndex | DecoderError | None:
        return self._known.get(source)

    def array(
        self, source: Source, frame: int, pixel_format: PixelFormat, outlook: Outlook | None = None
    ) -> NDArray[Any]:
        return self.pixels(source, frame).array(pixel_format)

    def announce(self, source: Source, frame: int, process: int) -> Outlook:
        return Outlook(process)

    def pixels(self, source: Source, frame: int, outlook: Outlook | None = None) -> FakePicture:
        video = self._video(source)
        if frame == video.slow_frame:
            self.hurry.wait(video.slow_seconds)
        if frame == video.broken_frame:
            raise DecodeFailed(f"{source.path}: frame {frame} cannot be decoded")
        with self._lock:
            self.decoded[os.path.basename(source.path), frame] += 1
        self._check(source)
        return FakePicture(video, frame)

    def close(self) -> None:
        self._known.clear()

    def _video(self, source: Source) -> Video:
        self._check(source)
        try:
            text = Path(source.path).read_text()
        except OSError as error:
            raise SourceNotFound(f"{source.path}: {error.strerror}") from error
        try:
            return Video(**json.loads(text))
        except ValueError as error:
            raise SourceUnreadable(f"{source.path}: not a video") from error

    def _check(self, source: Source) -> None:
        if source_at(source.path) != source:
            raise SourceChanged(f"{source.path}: changed")
