"""Named sets of clips: robot clips as they were recorded, and the same encoded for other codecs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.video.frame import PictureType
from av.video.stream import VideoStream

from encoder import priority

_SAMPLE = Path(__file__).parent.parent / "sample"


class NoClips(Exception):
    """A set has no clips here; says what is missing."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a clip is encoded anew: FFmpeg's name of the encoder, and its options."""

    codec: str
    options: Mapping[str, str]


_RECORDED = ("native264", "native265")

_ENCODED = {
    "svtav1": Encoding("libsvtav1", {"g": "250", "preset": "10", "crf": "30"}),
    "svtav1_g2": Encoding("libsvtav1", {"g": "2", "preset": "10", "crf": "30"}),
}

NAMES = (*_RECORDED, *_ENCODED)


def clips_of(name: str, say: Callable[[str], None] = lambda _: None) -> list[str]:
    """The files of a set; what has to be encoded is, once, into the cache folder.

    Recorded clips are those of FRAMEFS_CORPUS, else the bundled samples.

    Args:
        say: is told of what takes time.

    Raises:
        NoClips: there are none.
    """
    if name in _RECORDED:
        return [str(path) for path in _recorded(name)]
    encoding = _ENCODED[name]
    settings = (f"{option}{value}" for option, value in encoding.options.items())
    folder = cache_folder() / "-".join((name, *settings))
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for source in _recorded(_RECORDED[0]):
        target = folder / f"{name}_{source.stem.partition('_')[2]}.mp4"
        if not target.exists():
            say(f"encoding {target}")
            encode(source, target, encoding)
        made.append(str(target))
    return made


def cache_folder() -> Path:
    """Where encoded sets are kept: framefs/bench below XDG_CACHE_HOME."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "framefs" / "bench"


def _recorded(name: str) -> list[Path]:
    corpus = os.environ.get("FRAMEFS_CORPUS")
    folder = Path(corpus) / "robot" if corpus else _SAMPLE
    found = sorted(folder.glob(f"{name}_*"))
    if not found:
        raise NoClips(f"no {name}_* in {folder}")
    return found


def encode(source: Path, target: Path, encoding: Encoding) -> None:
    """Writes ``target`` in one step, so that a half-written one is never taken for it."""
    os.environ.setdefault("SVT_LOG", "1")  # errors; it says everything else on stderr too
    handle, name = tempfile.mkstemp(suffix=target.suffix, dir=target.parent)
    os.close(handle)
    try:
        with av.open(str(source)) as container, av.open(name, "w") as output:
            video = container.streams.video[0]
            rate = video.average_rate or Fraction(20)
            stream = output.add_stream(encoding.codec, rate=rate, options=dict(encoding.options))
            assert isinstance(stream, VideoStream)
            stream.width, stream.height = video.width, video.height
            stream.pix_fmt = "yuv420p"
            stream.codec_context.time_base = 1 / Fraction(rate)
            output.start_encoding()
            priority.yield_to_others()
            for n, frame in enumerate(container.decode(video)):
                frame.pts, frame.time_base = n, 1 / Fraction(rate)
                frame.pict_type = PictureType.NONE  # the encoder decides
                output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
        os.replace(name, target)
    finally:
        if os.path.exists(name):
            os.unlink(name)
