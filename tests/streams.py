"""The streams of the protocol: encoded, written and real ones, by codec."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import av

from tests import encoding, otherstreams, svtav1, x264, x265
from tests.bitstream.writer import random_features
from tests.bitstream.writer import write as write_stream
from tests.hevcwriter import stream as hevcwriter

CODECS = ("h264", "hevc", "av1", "others")

_PIXELS = 25_000
"""Pictures of this size are cheap; clips with larger ones get fewer requests."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream: what it is called, how its file comes about, its share of all requests.

    Attributes:
        sparse: it must be decoded sparsely.
    """

    name: str
    codec: str
    kind: str
    make: Callable[[Path], Path]
    weight: float = 1.0
    sparse: bool = True


def streams(codec: str, seed: int, written: int, corpus: Path | None) -> list[Stream]:
    """Those of one of `CODECS`; what is random in them depends on ``seed``.

    Args:
        written: how many random streams are written, where there is a writer.
        corpus: folder of real clips.
    """
    found = [*_encoded(codec, seed), *_written(codec, seed, written)]
    if corpus is None:
        return found
    for path, name in codecs_below(corpus).items():
        if (name if name in CODECS else "others") != codec:
            continue
        place = path.relative_to(corpus)
        kind = f"clips of {place.parts[0]}" if len(place.parts) > 1 else "clips"
        make = partial(_as_it_is, path)
        found.append(Stream(str(place), codec, kind, make, _weight(path), sparse=False))
    return found


def _encoded(codec: str, seed: int) -> list[Stream]:
    if codec == "h264":
        return [
            Stream(recipe.name, codec, "x264", partial(x264.write, recipe, seed=seed))
            for recipe in x264.recipes()
        ]
    kind, recipes = {
        "hevc": ("x265", x265.recipes),
        "av1": ("SVT-AV1", svtav1.recipes),
        "others": ("FFmpeg", otherstreams.recipes),
    }[codec]
    return list(_of_recipes(recipes(), codec, kind, seed))


def _of_recipes(
    recipes: Iterable[encoding.Recipe], codec: str, kind: str, seed: int
) -> Iterable[Stream]:
    for recipe in recipes:
        make = partial(encoding.write, recipe, seed=seed)
        yield Stream(recipe.name, codec, kind, make, sparse=not recipe.conservative)


def _written(codec: str, seed: int, count: int) -> Iterable[Stream]:
    if codec == "h264":
        for number in range(1000 * seed, 1000 * seed + count):
            make = partial(write_h264, number)
            yield Stream(f"written-{number}", codec, "written", make)
    if codec == "hevc":
        for number in range(1000 * seed, 1000 * seed + count):
            features = hevcwriter.random_features(number)
            sparse = not features.collisions
            make = partial(write_hevc, number)
            yield Stream(f"written-{number}", codec, "written", make, sparse=sparse)


def write_h264(seed: int, folder: Path) -> Path:
    """A random written H.264 stream as a raw file."""
    path = folder / f"written-{seed}.h264"
    path.write_bytes(b"".join(write_stream(seed, random_features(seed)).clip.packets))
    return path


def write_hevc(seed: int, folder: Path) -> Path:
    """A random written H.265 stream as a raw file."""
    path = folder / f"written-{seed}.hevc"
    path.write_bytes(hevcwriter.write(seed).content)
    return path


def _as_it_is(path: Path, folder: Path) -> Path:
    return path


@cache
def codecs_below(folder: Path) -> dict[Path, str]:
    """FFmpeg's name of the codec of the first video stream of each video below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = _codec_of(path) if path.is_file() else None
        if name is not None:
            found[path] = name
    return found


def _codec_of(path: Path) -> str | None:
    try:
        with av.open(path, metadata_errors="ignore") as container:
            context = container.streams.video[0].codec_context
            return None if context is None else context.codec.canonical_name
    except (av.FFmpegError, ValueError, IndexError):
        return None


def _weight(path: Path) -> float:
    with av.open(path, metadata_errors="ignore") as container:
        context = container.streams.video[0].codec_context
        return min(1.0, _PIXELS / max(1, context.width * context.height))
