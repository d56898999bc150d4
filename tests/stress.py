"""Many readers against a corpus that changes under them.

``make stress``: twenty processes read random frames through a real mount while sources are
replaced, overwritten in place, removed and added. Every picture carries its clip, the version of
the clip and its own number as a barcode, so that a wrong or stale frame gives itself away. Exit
status 1 on a wrong frame, an error that nothing explains, a dead mount, or more memory than
configured and 300 MiB.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import queue
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.clips import read_barcode, write_clip
from tests.mounting import mounted, server_of

CLIPS = 16
VERSIONS = 8
FRAMES = 40
CACHE_MIB = 64
ALLOWANCE_MIB = 300

FRESH = 1.0
"""Seconds within which a mount shows what became of a source."""

PAUSE = 0.25
"""Seconds between two changes in the corpus."""


_PROCESSES = multiprocessing.get_context("spawn")
"""Not forked: a test run has threads, and a fork of it would inherit the locks they hold."""


class Ledger:
    """What is true of each clip, and since when. Shared by all processes.

    Three numbers a clip: the versions before and after the last change (-1 is no file), and when
    that change was done, in the far future while it is going on.
    """

    def __init__(self) -> None:
        self._values: Any = _PROCESSES.Array("d", 3 * CLIPS)

    def begin(self, clip: int, version: int) -> None:
        with self._values:
            self._values[3 * clip] = self._values[3 * clip + 1]
            self._values[3 * clip + 1 : 3 * clip + 3] = [version, time.time() + 1e9]

    def end(self, clip: int) -> None:
        self._values[3 * clip + 2] = time.time()

    def allowed(self, clip: int, since: float) -> set[int]:
        """Versions that a read begun at ``since`` and just done may have met."""
        with self._values:
            before, now, ended = self._values[3 * clip : 3 * clip + 3]
        return {int(now)} if ended + FRESH < since else {int(before), int(now), -1}

    def age(self, clip: int) -> float:
        return time.time() - float(self._values[3 * clip + 2])

    def version(self, clip: int) -> int:
        return int(self._values[3 * clip + 1])


@dataclass
class Outcome:
    """What one reader met."""

    right: int = 0
    faults: list[str] = field(default_factory=list)
    excused: Counter[str] = field(default_factory=Counter)


def name_of(clip: int) -> str:
    return f"clip{clip:02d}"


def label(clip: int, version: int) -> int:
    return clip * VERSIONS + version


def reader(mount: Path, ledger: Ledger, until: float, seed: int, results: Any) -> None:
    """Reads random frames until ``until``; one outcome to ``results``."""
    rng = random.Random(seed)
    outcome = Outcome()
    while time.time() < until:
        clip, number = rng.randrange(CLIPS), rng.randrange(FRAMES)
        path = mount / name_of(clip) / f"{number:06d}{rng.choice(['.png', '.npy'])}"
        since = time.time()
        try:
            seen = _read(path)
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            # Pillow reports a broken PNG as SyntaxError, numpy a short file as one of the others.
            if ledger.allowed(clip, since) & {-1}:
                outcome.excused[type(error).__name__] += 1
            else:
                outcome.faults.append(f"{path.name} of {name_of(clip)}: {error!r}")
            continue
        allowed = {(label(clip, v), number) for v in ledger.allowed(clip, since) if v >= 0}
        if seen in allowed:
            outcome.right += 1
        else:
            outcome.faults.append(f"{path}: shows {seen}, allowed {sorted(allowed)}")
    results.put(outcome)


def _read(path: Path) -> tuple[int, int]:
    """(label, frame number) in the barcode of a picture file."""
    if path.suffix == ".npy":
        array = np.load(path, mmap_mode="r" if random.random() < 0.3 else None)
    else:
        with Image.open(path) as image:
            array = np.asarray(image)
    code = read_barcode(array)
    return code.version, code.frame


def churn(corpus: Path, masters: Path, ledger: Ledger, until: float, seed: int) -> Counter[str]:
    """Changes the corpus until ``until``: the kinds of change, counted."""
    rng = random.Random(seed)
    done: Counter[str] = Counter()
    while time.time() < until:
        time.sleep(PAUSE)
        clip = rng.randrange(CLIPS)
        if ledger.age(clip) < 2 * FRESH:
            continue
        target = corpus / f"{name_of(clip)}.mp4"
        version = (max(ledger.version(clip), 0) + rng.randrange(1, VERSIONS)) % VERSIONS
        master = masters / f"{name_of(clip)}-{version}.mp4"
        kind = rng.choice(["replace", "replace", "overwrite", "remove"])
        if not target.exists():
            kind = "add"
        if kind == "remove":
            ledger.begin(clip, -1)
            target.unlink()
        elif kind == "overwrite":
            ledger.begin(clip, version)
            shutil.copyfile(master, target)
        else:
            ledger.begin(clip, version)
            shutil.copyfile(master, corpus / f".{target.name}.part")
            os.replace(corpus / f".{target.name}.part", target)
        ledger.end(clip)
        done[kind] += 1
    return done


@contextmanager
def corpus_of_clips() -> Iterator[tuple[Path, Path, Ledger]]:
    """(corpus, folder with every version of every clip, ledger)."""
    with tempfile.TemporaryDirectory(prefix="framefs-stress-") as scratch:
        corpus, masters = Path(scratch) / "corpus", Path(scratch) / "masters"
        corpus.mkdir()
        masters.mkdir()
        ledger = Ledger()
        for clip in range(CLIPS):
            for version in range(VERSIONS):
                write_clip(
                    masters / f"{name_of(clip)}-{version}.mp4",
                    frames=FRAMES,
                    version=label(clip, version),
                )
            shutil.copyfile(masters / f"{name_of(clip)}-0.mp4", corpus / f"{name_of(clip)}.mp4")
            ledger.begin(clip, 0)
            ledger.end(clip)
        time.sleep(2 * FRESH)
        yield corpus, masters, ledger


def resident_mib(process: int) -> float:
    """Resident memory of ``process`` in MiB, without what it shares with others."""
    with open(f"/proc/{process}/smaps_rollup") as lines:
        private = [line.split()[1] for line in lines if line.startswith(("Private_", "Swap:"))]
    return sum(map(int, private)) / 1024


def _outcome(results: Any) -> Outcome:
    try:
        outcome: Outcome = results.get(timeout=60)
    except queue.Empty:
        return Outcome(faults=["a reader hangs, or has died"])
    return outcome


def run(seconds: float, readers: int, seed: int) -> list[str]:
    """Runs it all and prints what happened; the faults."""
    options = ["-o", f"cache.size={CACHE_MIB}MiB"]
    with corpus_of_clips() as (corpus, masters, ledger), mounted(corpus, *options) as mount:
        until = time.time() + seconds
        results: Any = _PROCESSES.Queue()
        crowd = [
            _PROCESSES.Process(target=reader, args=(mount, ledger, until, seed + number, results))
            for number in range(readers)
        ]
        for process in crowd:
            process.start()
        try:
            changes = churn(corpus, masters, ledger, until, seed)
            outcomes = [_outcome(results) for _ in crowd]
            memory = resident_mib(server_of(mount))
        finally:
            for process in crowd:
                process.terminate()  # one that hangs would keep the mount busy
                process.join()
    faults = [fault for outcome in outcomes for fault in outcome.faults]
    if memory > CACHE_MIB + ALLOWANCE_MIB:
        faults.append(f"the mount holds {memory:.0f} MiB, {CACHE_MIB} configured")
    excused: Counter[str] = Counter()
    for outcome in outcomes:
        excused.update(outcome.excused)
    print(
        f"{sum(o.right for o in outcomes)} frames right, {len(faults)} faults, "
        f"errors while a source was changing: {dict(excused)}, changes: {dict(changes)}, "
        f"{memory:.0f} MiB resident (cache {CACHE_MIB})"
    )
    return faults


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    faults = run(arguments.seconds, arguments.readers, arguments.seed)
    for fault in faults[:20]:
        print(f"    {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
