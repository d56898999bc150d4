"""Loaders on a mount: processes that read as training does, every frame compared.

``python -m tests.loading`` (a part of ``make exactness``): eight processes read windows in a row
and with strides, sorted and single random frames and whole clips, file by file, from one real mount
of FRAMEFS_CORPUS with little memory for frames. Each frame must equal, bit for bit, that of an
independent sequential decode (`tests.oracle`). Prints what was read; exit status 1 on any fault.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from PIL import Image

from tests.exactness import clips_below, digest, folder_of
from tests.mounting import mounted
from tests.oracle import full_decode

PROCESSES = 8

Clip: TypeAlias = tuple[str, list[bytes]]
"""A folder of the mount, and what its frames are."""


def requests(rng: random.Random, count: int) -> Iterator[Sequence[int]]:
    """Frames of one clip that are read one after the other, without end."""
    while True:
        kind = rng.choice(("window", "window", "stride", "random", "single", "whole"))
        if kind == "whole" and count <= 300:
            yield range(count)
        elif kind in ("window", "stride"):
            stride = 1 if kind == "window" else rng.choice((2, 3, 5, 16))
            first = rng.randrange(count)
            yield range(first, min(count, first + 10 * stride), stride)
        elif kind == "random":
            yield sorted(rng.sample(range(count), min(count, 10)))
        else:
            yield [rng.randrange(count)]


def read(clips: Sequence[Clip], frames: int, seed: int) -> tuple[int, list[str]]:
    """Reads so many frames, and says what was wrong with them."""
    rng = random.Random(seed)
    done = 0
    faults: list[str] = []
    names: dict[str, list[str]] = {}
    while done < frames:
        folder, expected = rng.choice(clips)
        if folder not in names:
            names[folder] = sorted(os.listdir(folder))
            if len(names[folder]) != len(expected):
                faults.append(f"{folder}: {len(names[folder])} frames, not {len(expected)}")
        suffix = rng.choice(("png", "npy"))
        for n in next(requests(rng, len(expected))):
            path = os.path.join(folder, os.path.splitext(names[folder][n])[0]) + f".{suffix}"
            try:
                array = np.load(path) if suffix == "npy" else np.asarray(Image.open(path))
                if digest(array) != expected[n]:
                    faults.append(f"{path}: other pixels")
            except (OSError, ValueError) as error:
                faults.append(f"{path}: {error}")
            done += 1
    return done, faults


def load(
    corpus: Path, clips: Sequence[Path], frames: int, *, seed: int, options: Sequence[str] = ()
) -> tuple[int, list[str], dict[str, Any]]:
    """Has processes read ``frames`` frames of ``clips`` from a mount of ``corpus``.

    Returns:
        How many were read, what was wrong, and the statistics of the mount.
    """
    known = clips_below(corpus)
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(os.cpu_count() or 1, context) as pool,
        mounted(corpus, "-o", "cache.size=24MiB", *options) as mount,
    ):
        decoded = pool.map(_digests, clips)
        shown = [
            (str(mount / clip.relative_to(corpus).with_name(folder_of(clip, known))), digests)
            for clip, digests in zip(clips, decoded, strict=True)
            if digests
        ]
        with ProcessPoolExecutor(PROCESSES, context) as readers:
            share = -(-frames // PROCESSES)
            jobs = [
                readers.submit(read, shown, share, seed * PROCESSES + process)
                for process in range(PROCESSES)
            ]
            results = [job.result() for job in jobs]
        statistics: dict[str, Any] = json.loads((mount / ".framefs/stats.json").read_bytes())
    faults = [fault for _, found in results for fault in found]
    return sum(done for done, _ in results), faults, statistics


def _digests(clip: Path) -> list[bytes]:
    return [digest(frame) for frame in full_decode(clip)]


def main() -> int:
    """Runs the protocol; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    sample_corpus = Path(__file__).parent.parent / "sample"
    default = os.environ.get("FRAMEFS_CORPUS") or sample_corpus
    parser.add_argument("--corpus", type=Path, default=default, help="folder of videos")
    parser.add_argument("--frames", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="clips whose path contains this")
    arguments = parser.parse_args()
    clips = [clip for clip in clips_below(arguments.corpus) if arguments.only in str(clip)]
    done, faults, statistics = load(arguments.corpus, clips, arguments.frames, seed=arguments.seed)
    for fault in faults[:20]:
        print(fault)
    for part in ("requests", "pictures", "stock"):
        print(f"{part}: {statistics[part]}")
    print(f"{len(clips)} clips, {PROCESSES} processes, {done} frames read, {len(faults)} faults")
    return 1 if faults or not done else 0


if __name__ == "__main__":
    sys.exit(main())
