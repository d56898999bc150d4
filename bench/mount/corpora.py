"""The same frames in all the ways that are compared: videos, folders of images, and their hashes.

Made once for some clips and a size, in a folder of its own, and found there the next time.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bench.check import UnsuitableClip
from bench.mount.encoding import DDRA, encode
from bench.worker import digest

_VERSION = 1
"""Goes up when the same clips would be made into something else."""

JPEG_QUALITY = 95

VIDEOS = ("native", "ddra")
FOLDERS = ("jpg", "png")


@dataclass(frozen=True, slots=True)
class Corpus:
    """What was made.

    Attributes:
        folder: with a folder for each kind: "native" and "ddra" with a video for each clip, "jpg"
            and "png" with a folder for each.
        frame_counts: of each clip.
        shape: of every frame, (H, W, 3).
        truth: by kind and clip, the digest of each frame as a full decode of it gives it.
    """

    folder: Path
    frame_counts: dict[str, int]
    shape: tuple[int, int, int]
    truth: dict[str, dict[str, list[str]]]

    def bytes_per_frame(self, kind: str) -> float:
        """What a frame takes on disk."""
        files = (file for file in (self.folder / kind).rglob("*") if file.is_file())
        return sum(file.stat().st_size for file in files) / sum(self.frame_counts.values())

    def warm(self, kind: str) -> None:
        """Has the kernel's page cache hold all of it, as far as it has room."""
        for file in (self.folder / kind).rglob("*"):
            if file.is_file():
                with open(file, "rb", buffering=0) as content:
                    while content.read(1 << 20):
                        pass


def prepare(
    folder: Path, clips: Sequence[Path], size: tuple[int, int] | None, say: Callable[[str], None]
) -> Corpus:
    """Makes, or finds, what is read for these clips.

    Args:
        folder: where it is kept.
        size: (width, height) to which frames are scaled first; by default they stay as they are,
            and "native" is the clips themselves.
        say: told what is being made.

    Raises:
        UnsuitableClip: a clip cannot be decoded, or the clips are of different sizes.
    """
    place = folder / _name(clips, size)
    done = place / "corpus.json"
    if not done.exists():
        _make(place, clips, size, say)
    found = json.loads(done.read_text())
    return Corpus(place, found["frame_counts"], tuple(found["shape"]), found["truth"])


def _name(clips: Sequence[Path], size: tuple[int, int] | None) -> str:
    facts: list[object] = [_VERSION, size]
    for clip in clips:
        status = clip.stat()
        facts.append((str(clip.resolve()), status.st_size, status.st_mtime_ns))
    shown = "x".join(map(str, size)) if size else "as-is"
    return f"{shown}-{hashlib.blake2b(repr(facts).encode(), digest_size=6).hexdigest()}"


def _make(
    place: Path,
    clips: Sequence[Path],
    size: tuple[int, int] | None,
    say: Callable[[str], None],
) -> None:
    shutil.rmtree(place, ignore_errors=True)
    for kind in (*VIDEOS, *FOLDERS):
        (place / kind).mkdir(parents=True)
    truth: dict[str, dict[str, list[str]]] = {kind: {} for kind in (*VIDEOS, *FOLDERS)}
    shapes: set[tuple[int, ...]] = set()
    for clip in clips:
        name = clip.stem
        say(f"making videos and images of {name}")
        native, ddra = place / "native" / f"{name}.mp4", place / "ddra" / f"{name}.mp4"
        rate = _rate(clip)
        if size is None:
            native = native.with_suffix(clip.suffix)
            shutil.copyfile(clip, native)
        else:
            scaled = (f.reformat(*size, format="yuv420p") for f in _decode(clip))
            encode(native, scaled, rate, parameters="")
        encode(ddra, _decode(native), rate, parameters=DDRA, tune="fastdecode")
        for kind, video in (("native", native), ("ddra", ddra)):
            truth[kind][name] = [digest(_rgb(frame)) for frame in _decode(video)]
        truth["png"][name] = truth["native"][name]
        truth["jpg"][name] = _write_images(place, name, native, shapes)
        if len(shapes) > 1:
            raise UnsuitableClip("the clips are of different sizes; choose others, or a --size")
        if len({len(truth[kind][name]) for kind in truth}) != 1:
            raise UnsuitableClip(f"{name}: its encodings have different numbers of frames")
    counts = {name: len(digests) for name, digests in truth["native"].items()}
    found = {"frame_counts": counts, "shape": shapes.pop(), "truth": truth}
    (place / "corpus.json").write_text(json.dumps(found))


def _write_images(place: Path, name: str, video: Path, shapes: set[tuple[int, ...]]) -> list[str]:
    """PNG and JPEG files of all frames; the digests of what is read from the JPEG files."""
    digests = []
    for kind in FOLDERS:
        (place / kind / name).mkdir()
    for number, frame in enumerate(_decode(video)):
        image = _rgb(frame)
        shapes.add(image.shape)
        made = Image.fromarray(image)
        made.save(place / "png" / name / f"{number:06d}.png")
        file = place / "jpg" / name / f"{number:06d}.jpg"
        made.save(file, quality=JPEG_QUALITY)
        with Image.open(file) as read:
            digests.append(digest(np.asarray(read)))
    return digests


def _rgb(frame: av.VideoFrame) -> NDArray[np.uint8]:
    return frame.to_ndarray(format="rgb24", threads=1).astype(np.uint8, copy=False)


def _decode(path: Path) -> Iterator[av.VideoFrame]:
    try:
        with av.open(path, metadata_errors="ignore") as container:
            container.streams.video[0].codec_context.thread_count = 1
            yield from container.decode(video=0)
    except (av.FFmpegError, OSError, IndexError) as error:
        raise UnsuitableClip(f"{path}: cannot be decoded: {error}") from error


def _rate(path: Path) -> Fraction:
    try:
        with av.open(path, metadata_errors="ignore") as container:
            return Fraction(container.streams.video[0].average_rate or 25)
    except (av.FFmpegError, OSError, IndexError) as error:
        raise UnsuitableClip(f"{path}: cannot be opened: {error}") from error
