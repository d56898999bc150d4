"""The protocol of sparse decoding: `FrameReader` against a full sequential decode.

    python -m tests.protocol --seed 1 [--requests 10000] [--frames 100000] [--only NAME]

``make protocol``. Streams of H.264: every structure of x264 (`tests.x264`), random written ones
with fields, MBAFF, long-term references, marking operations and gaps (`tests.bitstream.writer`). Of
H.265: every structure of x265 (`tests.x265`), random written ones with long-term references,
leading pictures and pictures not for output (`tests.bitstream.hevc.writer`). And every clip of
either below FRAMEFS_CORPUS. For each, the frame list, timestamps and geometry of the index must be
those of the full decode; then requests of 1-20 frames are read, and each frame must have the
planes, size, format and colour properties of the full decode. Random sets with repeats, windows,
strides, single steps forward and backward share one reader, as in a mount.

Seen from the decoder's side, the pictures that come out of a codec context beside state-only ones
and preambles must be those of the closure; besides, where nothing else can rebuild the picture
buffer, the IDR picture that a run starts from. Streams that are decoded conservatively are listed
with the reason. Exit status 1 on any fault; a fault names the command that reproduces it.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import av
import numpy as np

from decoder.closure import closure
from decoder.errors import DecoderError
from decoder.feed import FeedTable
from decoder.graph import HIDDEN, RAP
from decoder.index import Geometry
from decoder.pixels import Pixels
from decoder.plan import Feed, Run
from decoder.reader import FrameReader
from decoder.sparse import SparseDecoder
from tests import x264, x265
from tests.bitstream import writer as h264_writer
from tests.bitstream.clip import files_of
from tests.bitstream.hevc import writer as hevc_writer
from tests.oracle import full_frames

MOST = 20
"""Frames in a request."""

_FEW = 12
"""Requests for a clip that is decoded conservatively, where each may cost a whole decode."""

_MARGIN = 1.05
"""For what those clips do less."""

_PIXELS = 25_000
"""Pictures of this size are cheap; clips with larger ones get fewer requests."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of the protocol: what it is called, how its file comes about, its share."""

    name: str
    kind: str
    make: Callable[[Path], Path]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Truth:
    """What a full sequential decode shows, per frame."""

    hashes: list[int]
    pts: list[int | None]
    geometries: list[Geometry]

    @classmethod
    def of(cls, path: Path) -> Truth:
        """Decodes a file from end to end, with nothing of the code that is tested but `Pixels`."""
        truth = cls([], [], [])
        for shown in full_frames(path):
            pixels = Pixels(shown.native)
            truth.hashes.append(pixels.hash)
            truth.pts.append(shown.native.pts)
            truth.geometries.append(pixels.geometry)
        return truth


@dataclass(slots=True)
class Verdict:
    """What was found for one stream."""

    name: str
    kind: str
    frames: int = 0
    requests: int = 0
    compared: int = 0
    wrong: int = 0
    missing: int = 0
    came_out: int = 0
    """Pictures of plans that came out of the codec context, state-only ones excepted."""
    closures: int = 0
    """Pictures in the closures of those plans."""
    starts: int = 0
    """IDR pictures beside the closure that a run had to start from."""
    state_only: int = 0
    fallback: str | None = None
    refused: str | None = None
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Tally:
    """Counts what comes out of the codec contexts of sparse decoders, run by run.

    Walks, which want all that is fed, are not counted.
    """

    def __init__(self) -> None:
        self.came_out = self.closures = self.starts = self.state_only = 0
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Tally:
        decode, run = SparseDecoder._decode, SparseDecoder.run
        current: dict[SparseDecoder, list[int | None]] = {}

        def counted(self: SparseDecoder, packet: av.Packet | None) -> list[av.VideoFrame]:  # type: ignore[type-arg]
            frames = decode(self, packet)
            if self in current:
                current[self] += [frame.pts for frame in frames]
            return frames

        def watched(decoder: SparseDecoder, chosen: Run) -> Iterator[tuple[int, av.VideoFrame]]:
            current[decoder] = []
            try:
                yield from run(decoder, chosen)
                self._count(decoder._feed, chosen, current[decoder])
            finally:
                del current[decoder]

        setattr(SparseDecoder, "_decode", counted)  # noqa: B010
        setattr(SparseDecoder, "run", watched)  # noqa: B010
        self._undo = [
            lambda: setattr(SparseDecoder, "_decode", decode),
            lambda: setattr(SparseDecoder, "run", run),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for undo in self._undo:
            undo()

    def _count(self, feed: FeedTable, run: Run, shown: Sequence[int | None]) -> None:
        graph = feed.graph
        if len(run.targets) == run.real and run.real > 1 and not run.state_only + run.dropped:
            return  # a walk, or a plan that is one
        real = {item.packet for item in run.items if item.feed is Feed.REAL}
        pictures = [int(graph.packet_pictures[p]) for p in shown if p is not None and p in real]
        self.came_out += len(pictures)
        needed = closure(graph, run.targets)
        self.closures += sum(not graph.traits[picture] & HIDDEN for picture in needed)
        self.starts += run.start not in needed and bool(graph.traits[run.start] & RAP)
        self.state_only += run.state_only


def check(path: Path, truth: Truth, stream: Stream, seed: int, share: tuple[int, int]) -> Verdict:
    """Compares so many (requests, frames) of a file with the truth."""
    verdict = Verdict(stream.name, stream.kind, len(truth.hashes))
    began = time.monotonic()
    try:
        generator = random.Random(f"{seed} {stream.name}")
        with FrameReader(str(path)) as reader, Tally() as tally:
            verdict.fallback = _fallback(reader)
            if _check_list(verdict, reader, truth):
                _check_requests(verdict, reader, truth, generator, share)
            if verdict.fallback is None and reader.stats.alarms:
                verdict.fallback = f"alarm: {_fallback(reader)}"
            verdict.came_out, verdict.state_only = tally.came_out, tally.state_only
            verdict.closures, verdict.starts = tally.closures, tally.starts
    except DecoderError as error:
        verdict.refused = str(error)
        if truth.hashes:
            verdict.faults.append(f"refused: {error}")
            verdict.missing += len(truth.hashes)
    if verdict.fallback is not None and not stream.kind.startswith("clips"):
        verdict.faults.append(f"in fall-back: {verdict.fallback}")
    if verdict.fallback is None and verdict.came_out != verdict.closures + verdict.starts:
        verdict.faults.append(
            f"{verdict.came_out} pictures came out for {verdict.closures} in closures "
            f"and {verdict.starts} starts"
        )
    verdict.seconds = time.monotonic() - began
    return verdict


def _fallback(reader: FrameReader) -> str | None:
    return None if reader.index.feed is not None else reader.index.facts.fallback or "unknown"


def _check_list(verdict: Verdict, reader: FrameReader, truth: Truth) -> bool:
    """Frame list, timestamps and geometry; False where frames cannot be compared."""
    index = reader.index
    count = len(truth.hashes)
    if len(reader) != count:
        verdict.faults.append(f"{len(reader)} frames, not {count}")
        verdict.missing += max(0, count - len(reader))
        return False
    for n in range(count):
        if index.pts(n) != truth.pts[n]:
            verdict.faults.append(f"frame {n}: pts {index.pts(n)}, not {truth.pts[n]}")
        if index.geometry(n) != truth.geometries[n]:
            verdict.faults.append(f"frame {n}: {index.geometry(n)}, not {truth.geometries[n]}")
    return True


def _check_requests(
    verdict: Verdict,
    reader: FrameReader,
    truth: Truth,
    generator: random.Random,
    share: tuple[int, int],
) -> None:
    requests, frames = share
    if verdict.fallback is not None:
        requests, frames = min(requests, _FEW), 0
    while verdict.requests < requests or verdict.compared < frames:
        kind, wanted = pick(generator, len(reader))
        found = _read(reader, kind, wanted)
        for n, value in zip(wanted, found, strict=True):
            verdict.compared += 1
            if value == truth.hashes[n]:
                continue
            verdict.wrong += value is not None
            verdict.missing += value is None
            what = "missing" if value is None else "wrong"
            verdict.faults.append(f"request {verdict.requests}, {kind} {wanted}: {n} is {what}")
        verdict.requests += 1


def pick(generator: random.Random, count: int) -> tuple[str, list[int]]:
    """A request of at most `MOST` of so many frames, and its kind."""
    kind = generator.choice(("random", "repeats", "window", "stride", "forward", "backward"))
    length = generator.randint(1, MOST)
    first = generator.randrange(count)
    if kind in ("random", "repeats"):
        return kind, [generator.randrange(count) for _ in range(length)]
    stride = generator.randint(2, 30) if kind == "stride" else 1
    wanted = list(range(first, min(count, first + length * stride), stride))
    return kind, wanted[::-1] if kind == "backward" else wanted


def _read(reader: FrameReader, kind: str, wanted: list[int]) -> list[int | None]:
    """Hashes in the order asked for; None for a frame that is not delivered."""
    found: dict[int, Pixels] = {}
    try:
        if kind in ("forward", "backward"):
            return [reader.frame(n).hash for n in wanted]
        found = dict(reader.frames(wanted))
        if kind == "repeats" and len({reader.index.shape(n) for n in wanted}) == 1:
            array = reader.read(wanted)
            for place, n in enumerate(wanted):
                if not np.array_equal(array[place], found[n].array("rgb24")):
                    del found[n]
                    break
    except (DecoderError, KeyError):
        pass
    return [found[n].hash if n in found else None for n in wanted]


def streams(seed: int, written: int, corpus: Path | None) -> list[Stream]:
    """All streams of the protocol; what is random in them depends on ``seed``."""
    found = [
        Stream(recipe.name, "x264", partial(x264.write, recipe, seed=seed))
        for recipe in x264.recipes()
    ]
    found += [
        Stream(f"{recipe.name}-265", "x265", partial(x265.write, recipe, seed=seed))
        for recipe in x265.recipes()
    ]
    numbers = range(1000 * seed, 1000 * seed + written)
    found += [Stream(f"written-{n}", "written", partial(write_h264, n)) for n in numbers]
    found += [Stream(f"written-265-{n}", "written", partial(write_hevc, n)) for n in numbers]
    if corpus is not None:
        for path in [*files_of("h264", corpus), *files_of("hevc", corpus)]:
            name = path.relative_to(corpus)
            kind = f"clips of {name.parts[0]}" if len(name.parts) > 1 else "clips"
            found.append(Stream(str(name), kind, partial(_as_it_is, path), _weight(path)))
    return found


def write_h264(seed: int, folder: Path) -> Path:
    """A random written stream of H.264 as a raw file."""
    path = folder / f"written-{seed}.h264"
    features = h264_writer.random_features(seed)
    path.write_bytes(b"".join(h264_writer.write(seed, features).clip.packets))
    return path


def write_hevc(seed: int, folder: Path) -> Path:
    """A random written stream of H.265 as a raw file."""
    path = folder / f"written-{seed}.hevc"
    path.write_bytes(hevc_writer.write(seed, hevc_writer.random_features(seed)).file)
    return path


def _as_it_is(path: Path, folder: Path) -> Path:
    return path


def _weight(path: Path) -> float:
    with av.open(path, metadata_errors="ignore") as container:
        context = container.streams.video[0].codec_context
        return min(1.0, _PIXELS / max(1, context.width * context.height))


def shares(chosen: Sequence[Stream], requests: int, frames: int) -> list[tuple[int, int]]:
    """(requests, frames) at least, for each stream."""
    total = sum(stream.weight for stream in chosen) / _MARGIN
    return [
        (
            max(1, round(requests * stream.weight / total + 0.5)),
            round(frames * stream.weight / total + 0.5),
        )
        for stream in chosen
    ]


def main(arguments: list[str] | None = None) -> int:
    """Runs the protocol; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    corpus = os.environ.get("FRAMEFS_CORPUS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--written", type=int, default=60, help="random streams to write")
    parser.add_argument("--corpus", type=Path, default=Path(corpus) if corpus else None)
    parser.add_argument(
        "--only", default="", help="the stream of this name, or those containing it"
    )
    options = parser.parse_args(arguments)
    all_streams = streams(options.seed, options.written, options.corpus)
    portions = shares(all_streams, options.requests, options.frames)
    exact = [stream for stream in all_streams if stream.name == options.only]
    command = (
        f"python -m tests.protocol --seed {options.seed} --requests {options.requests} "
        f"--frames {options.frames} --written {options.written} --only "
    )
    print(f"seed {options.seed}, {len(all_streams)} streams, corpus {options.corpus}")
    began = time.monotonic()
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for stream, share in zip(all_streams, portions, strict=True):
            if stream not in exact and (exact or options.only not in stream.name):
                continue
            path = stream.make(Path(folder))
            verdict = check(path, Truth.of(path), stream, options.seed, share)
            verdicts.append(verdict)
            _print(verdict)
            for fault in verdict.faults[:5]:
                print(f"    FAULT {fault}\n    reproduce: {command}'{stream.name}'", flush=True)
    return _summary(verdicts, time.monotonic() - began)


def _print(v: Verdict) -> None:
    print(
        f"{v.name[:50]:50} {v.frames:5} frames {v.requests:4} requests {v.compared:5} compared "
        f"{v.wrong} wrong {v.missing} missing; {v.came_out:6} came out for "
        f"{v.closures:6} in closures and {v.starts:3} starts, "
        f"{v.state_only:6} state-only, {v.seconds:5.1f} s"
        + (f"; fall-back: {v.fallback}" if v.fallback else "")
        + (f"; refused: {v.refused}" if v.refused else ""),
        flush=True,
    )


def _summary(verdicts: Sequence[Verdict], seconds: float) -> int:
    for kind in dict.fromkeys(v.kind for v in verdicts):
        own = [v for v in verdicts if v.kind == kind and not v.refused]
        conservative = [v for v in own if v.fallback]
        if own:
            share = 100 * len(conservative) / len(own)
            print(f"{kind}: {len(own)} streams, {len(conservative)} in fall-back ({share:.1f} %)")
        reasons = collections.Counter(v.fallback for v in conservative)
        for reason, count in reasons.most_common():
            print(f"    {count} x {reason}")
    faults = sum(len(v.faults) for v in verdicts)
    sparse = [v for v in verdicts if v.fallback is None]
    print(
        f"{len(verdicts)} streams ({sum(v.refused is not None for v in verdicts)} refused), "
        f"{sum(v.requests for v in verdicts)} requests, "
        f"{sum(v.compared for v in verdicts)} frames compared "
        f"({sum(v.compared for v in sparse)} sparsely): "
        f"{sum(v.wrong for v in verdicts)} wrong, {sum(v.missing for v in verdicts)} missing; "
        f"{sum(v.came_out for v in sparse)} pictures came out for closures of "
        f"{sum(v.closures for v in sparse)} and {sum(v.starts for v in sparse)} starts; "
        f"{faults} faults; {seconds:.0f} s"
    )
    return 1 if faults or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
