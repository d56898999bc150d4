"""Clips encoded in all ways, made once and kept in a folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from bench.encodings import jpegs
from bench.encodings.ways import BASE, JPEG, Way, kind_of
from bench.sets import Encoding, encode
from bench.worker import digest
from decoder.corpus import source_at
from encoder.footage import Footage
from encoder.quality import quality
from encoder.unit import transcode

LEROBOT = Encoding("libsvtav1", {"g": "2", "crf": "30", "preset": "8"})
"""How LeRobot encodes its data sets, version 3."""

_SLOPE = {"h264": 0.75, "h265": 0.65, "av1": 0.22}
"""dB that a crf higher by 1 costs, about."""

Said = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One clip in one way.

    Attributes:
        path: of the video, or of the folder of images.
        size: bytes.
        psnr: dB, RGB, pooled over all frames, against the clip as it was given.
        ssim: mean over all frames; None of images.
        quality: crf or JPEG quality that this took.
        bound: pictures in the largest closure; None of what framefs did not make.
        mean_closure: pictures in the closure of a frame on average.
        digests: of each frame, as a full decode gives it.
    """

    path: str
    size: int
    psnr: float
    ssim: float | None
    quality: float
    bound: int | None
    mean_closure: float | None
    digests: list[str]


class Shelf:
    """Encodings of clips in ``folder``; what is there already is taken as it is.

    An encoding is known by its clip and its settings. Whoever changes what an encoder does with
    the same settings begins with an empty folder.
    """

    def __init__(self, folder: Path, say: Said = lambda _: None) -> None:
        self._folder = folder
        self._say = say
        self._last: dict[tuple[str, str], Encoded] = {}

    def encoded(self, clip: Path, ways: Sequence[Way]) -> dict[str, Encoded]:
        """``clip`` in each of ``ways``, and as LeRobot has it, by name; all of its PSNR.

        Raises:
            EncoderError: one of them cannot be made.
        """
        place = self._folder / _name(clip)
        place.mkdir(parents=True, exist_ok=True)
        base = self._kept(place / f"{BASE}.json", lambda: self._lerobot(clip, place))
        found = {BASE: base}
        for way in ways:
            if way.name == JPEG:
                facts = place / f"{JPEG}.json"
                found[JPEG] = self._kept(facts, lambda: self._jpegs(clip, place, base.psnr))
            elif way.settings is not None:
                found[way.name] = self._transcoded(clip, place, way, base.psnr)
        return found

    def _kept(self, facts: Path, make: Callable[[], Encoded]) -> Encoded:
        if not facts.exists():
            self._say(f"{facts.parent.name}: {facts.stem}")
            facts.write_text(json.dumps(asdict(make())), encoding="utf-8")
        return Encoded(**json.loads(facts.read_text(encoding="utf-8")))

    def _lerobot(self, clip: Path, place: Path) -> Encoded:
        path = place / f"{BASE}.mp4"
        encode(clip, path, LEROBOT)
        with Footage(str(clip)) as footage:
            alike = quality(footage, source_at(str(path)))
        crf = float(LEROBOT.options["crf"])
        size = path.stat().st_size
        return Encoded(
            str(path), size, alike.psnr, alike.mean_ssim, crf, None, None, _digests(path)
        )

    def _jpegs(self, clip: Path, place: Path, psnr: float) -> Encoded:
        folder = place / JPEG
        with Footage(str(clip)) as footage:
            frames = [pixels.array("rgb24") for pixels in footage.pixels()]
        chosen, reached = jpegs.write(frames, folder, psnr)
        files = [file.read_bytes() for file in sorted(folder.iterdir())]
        digests = [digest(jpegs.decoded(data)) for data in files]
        size = sum(map(len, files))
        return Encoded(str(folder), size, reached, None, chosen, None, None, digests)

    def _transcoded(self, clip: Path, place: Path, way: Way, psnr: float) -> Encoded:
        assert way.settings is not None
        settings = way.settings
        path = place / f"{way.name}-{_short(settings.to_json())}.mp4"
        like = (way.name, kind_of(clip.stem))
        slope, first = _SLOPE[settings.codec], settings.crf
        if last := self._last.get(like):
            first = last.quality + (last.psnr - psnr) / slope

        def make() -> Encoded:
            # The search is short where it begins with what another such clip took.
            found = transcode(str(clip), str(path), settings.replaced(match_psnr=psnr, crf=first))
            return Encoded(
                str(path),
                found.bytes_out,
                found.psnr,
                found.ssim,
                found.crf,
                found.bound,
                found.mean_closure,
                _digests(path),
            )

        found = self._last[like] = self._kept(path.with_suffix(".json"), make)
        return found


def _name(clip: Path) -> str:
    status = clip.stat()
    return f"{clip.stem}-{_short(f'{status.st_size}-{status.st_mtime_ns}')}"


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def _digests(path: Path) -> list[str]:
    with av.open(path) as container:
        container.streams.video[0].codec_context.thread_count = 1
        return [digest(_rgb(frame)) for frame in container.decode(video=0)]


def _rgb(frame: av.VideoFrame) -> NDArray[np.uint8]:
    return frame.to_ndarray(format="rgb24", threads=1).astype(np.uint8, copy=False)
