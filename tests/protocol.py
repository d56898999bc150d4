"""The protocol of sparse decoding: `FrameReader` against a full sequential decode.

    python -m tests.protocol --codec all --seed 1 [--requests 10000] [--frames 100000] [--only NAME]

``make protocol``. Streams (`tests.streams`): every structure that x264, x265, SVT-AV1 and the other
encoders of FFmpeg make, such streams rewritten and joined, random written ones, every clip below
FRAMEFS_CORPUS. For each, the frame list, timestamps and geometry of the index must be those of the
full decode; then requests of 1-20 frames are read, and each frame must have the planes, size,
format and colour properties of the full decode. Random sets with repeats, windows, strides, single
steps forward and backward share one reader, as in a mount.

What goes into a codec context and what comes out of it (`tests.tally`) must be the closure; besides
state-only pictures and preambles, the picture that a run starts from where nothing else can rebuild
the picture buffer, and bridges. Streams that are decoded conservatively are listed with the reason.
Exit status 1 on any fault; a fault names the command that reproduces it.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from decoder.errors import DecoderError
from decoder.index import Geometry
from decoder.pixels import Pixels
from decoder.reader import FrameReader
from tests.oracle import full_frames
from tests.streams import CODECS, Stream, streams
from tests.tally import Counted, Tally

MOST = 20
"""Frames in a request."""

_FEW = 12
"""Requests for a clip that is decoded conservatively, where each may cost a whole decode."""

_MARGIN = 1.05
"""For what those clips do less."""


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
    codec: str
    kind: str
    frames: int = 0
    requests: int = 0
    compared: int = 0
    wrong: int = 0
    missing: int = 0
    counted: Counted = field(default_factory=Counted)
    fallback: str | None = None
    refused: str | None = None
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def check(path: Path, truth: Truth, stream: Stream, seed: int, share: tuple[int, int]) -> Verdict:
    """Compares so many (requests, frames) of a file with the truth."""
    verdict = Verdict(stream.name, stream.codec, stream.kind, len(truth.hashes))
    began = time.monotonic()
    try:
        generator = random.Random(f"{seed} {stream.name}")
        with FrameReader(str(path)) as reader, Tally() as tally:
            verdict.fallback = _fallback(reader)
            if _check_list(verdict, reader, truth):
                _check_requests(verdict, reader, truth, generator, share)
            if verdict.fallback is None and reader.stats.alarms:
                verdict.fallback = f"alarm: {_fallback(reader)}"
            verdict.counted = tally.counted
    except DecoderError as error:
        verdict.refused = str(error)
        if truth.hashes:
            verdict.faults.append(f"refused: {error}")
            verdict.missing += len(truth.hashes)
    if verdict.fallback is not None and stream.sparse:
        verdict.faults.append(f"in fall-back: {verdict.fallback}")
    if verdict.fallback is None:
        verdict.faults += verdict.counted.faults()
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
    parser.add_argument("--codec", choices=(*CODECS, "all"), default="all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=10_000, help="for each codec")
    parser.add_argument("--frames", type=int, default=100_000, help="for each codec")
    parser.add_argument("--written", type=int, default=60, help="random streams to write")
    parser.add_argument("--corpus", type=Path, default=Path(corpus) if corpus else None)
    parser.add_argument(
        "--only", default="", help="the stream of this name, or those containing it"
    )
    options = parser.parse_args(arguments)
    chosen = CODECS if options.codec == "all" else (options.codec,)
    print(f"seed {options.seed}, {', '.join(chosen)}, corpus {options.corpus}")
    began = time.monotonic()
    verdicts = []
    for codec in chosen:
        verdicts += _run(codec, options)
    print()
    for codec in chosen:
        _report(codec, [v for v in verdicts if v.codec == codec])
    faults = sum(len(v.faults) for v in verdicts)
    print(f"{len(verdicts)} streams, {faults} faults; {time.monotonic() - began:.0f} s")
    return 1 if faults or not verdicts else 0


def _run(codec: str, options: argparse.Namespace) -> list[Verdict]:
    """All streams of one codec."""
    all_streams = streams(codec, options.seed, options.written, options.corpus)
    portions = shares(all_streams, options.requests, options.frames)
    exact = [stream for stream in all_streams if stream.name == options.only]
    command = (
        f"python -m tests.protocol --codec {codec} --seed {options.seed} "
        f"--requests {options.requests} --frames {options.frames} --written {options.written} "
        "--only "
    )
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
    return verdicts


def _print(v: Verdict) -> None:
    counted = v.counted
    print(
        f"{v.name[:50]:50} {v.frames:5} frames {v.requests:4} requests {v.compared:5} compared "
        f"{v.wrong} wrong {v.missing} missing; {counted.went_in:6} in {counted.came_out:6} out for "
        f"{counted.closures:6} in closures ({counted.hidden:5} hidden), {counted.starts:3} starts, "
        f"{counted.bridges:3} bridges, {counted.state_only:6} state-only, {v.seconds:5.1f} s"
        + (f"; fall-back: {v.fallback}" if v.fallback else "")
        + (f"; refused: {v.refused}" if v.refused else ""),
        flush=True,
    )


def _report(codec: str, verdicts: Sequence[Verdict]) -> None:
    """The totals of one codec, and by kind of stream who is in fall-back and why."""
    sparse = [v for v in verdicts if v.fallback is None and v.refused is None]
    conservative = [v for v in verdicts if v.fallback is not None]
    frames = sum(v.frames for v in verdicts)
    fallen = sum(v.frames for v in conservative)
    total = Counted()
    for v in sparse:
        total += v.counted
    print(
        f"{codec}: {len(verdicts)} streams ({sum(v.refused is not None for v in verdicts)} "
        f"refused), {sum(v.requests for v in verdicts)} requests, "
        f"{sum(v.compared for v in verdicts)} frames compared "
        f"({sum(v.compared for v in sparse)} sparsely): "
        f"{sum(v.wrong for v in verdicts)} wrong, {sum(v.missing for v in verdicts)} missing, "
        f"{sum(len(v.faults) for v in verdicts)} faults\n"
        f"    pictures: {total.went_in} went in, {total.came_out} came out for {total.closures} in "
        f"closures ({total.hidden} hidden), {total.starts} starts, {total.bridges} bridges, "
        f"{total.state_only} state-only\n"
        f"    in fall-back: {len(conservative)} streams with {fallen} of {frames} pictures "
        f"({100 * fallen / max(1, frames):.1f} %)"
    )
    for kind in dict.fromkeys(v.kind for v in verdicts):
        own = [v for v in verdicts if v.kind == kind]
        reasons = collections.Counter(v.fallback for v in own if v.fallback is not None)
        print(f"    {kind}: {len(own)} streams, {sum(reasons.values())} in fall-back")
        for reason, count in reasons.most_common():
            print(f"        {count} x {reason}")


if __name__ == "__main__":
    sys.exit(main())
