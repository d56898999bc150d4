"""The exactness protocol: every frame that a mount shows against a full decode.

``make exactness``: for every clip below FRAMEFS_CORPUS (by default the bundled sample) the frames
that a real mount lists are counted and read in random order from eight threads, as PNG through
Pillow and as NPY, with `stat` before the first read. Each must equal, bit for bit, the frame of an
independent sequential decode (`tests.oracle`). A clip that cannot be decoded must answer EIO and
say why. Prints a table; exit status 1 on any fault.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray
from PIL import Image

from decoder.corpus import VIDEO_EXTENSIONS
from tests.mounting import mounted
from tests.oracle import full_decode

READERS = 8

_PARSING = threading.Lock()
"""numpy parses headers by ast.literal_eval, which CPython 3.11 cannot do in several threads at
once ("AST constructor recursion depth mismatch")."""


@dataclass
class Verdict:
    """What was found for one clip."""

    clip: str
    decoded: int
    listed: int = 0
    checked: int = 0
    reason: str = ""
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def digest(array: NDArray[Any]) -> bytes:
    """Stands for an array of uint8 or uint16 with its shape."""
    head = f"{array.dtype} {array.shape}".encode()
    return xxhash.xxh3_128_digest(head + np.ascontiguousarray(array).tobytes())


def check(folder: Path, clip: Path, *, limit: int, sample: int, seed: int) -> Verdict:
    """Compares what ``folder`` of a mount shows with what ``clip`` holds.

    Above ``limit`` frames, ``sample`` random ones are read.
    """
    began = time.monotonic()
    expected = [digest(frame) for frame in full_decode(clip)]
    verdict = Verdict(clip.name, len(expected))
    if not expected:
        _check_refused(folder, verdict)
    else:
        _check_frames(folder, expected, verdict, limit, sample, random.Random(seed))
    verdict.seconds = time.monotonic() - began
    return verdict


def _check_refused(folder: Path, verdict: Verdict) -> None:
    try:
        os.listdir(folder)
        verdict.faults.append("listed although nothing can be decoded")
    except OSError as error:
        if error.errno != errno.EIO:
            verdict.faults.append(f"listing: {error}, not EIO")
    verdict.reason = os.getxattr(folder, "user.framefs.error").decode()
    if not verdict.reason:
        verdict.faults.append("no reason in user.framefs.error")


def _check_frames(
    folder: Path,
    expected: list[bytes],
    verdict: Verdict,
    limit: int,
    sample: int,
    rng: random.Random,
) -> None:
    names = sorted(os.listdir(folder))
    verdict.listed = len(names)
    if len(names) != len(expected):
        verdict.faults.append(f"{len(names)} frames listed, {len(expected)} decoded")
        return
    chosen = list(range(len(names)))
    rng.shuffle(chosen)
    if len(chosen) > limit:
        chosen = chosen[:sample]
    lock = threading.Lock()

    def read(number: int) -> None:
        name = folder / names[number]
        for path in (name, name.with_suffix(".npy")):
            fault = _fault(path, expected[number])
            with lock:
                verdict.checked += 1
                if fault:
                    verdict.faults.append(f"{path.name}: {fault}")

    with ThreadPoolExecutor(READERS) as pool:
        list(pool.map(read, chosen))


def _fault(path: Path, expected: bytes) -> str:
    """What is wrong with one file of the mount; "" if it is right."""
    try:
        promised = os.stat(path).st_size
        content = path.read_bytes()
        if len(content) != promised:
            return f"{len(content)} bytes read, {promised} promised"
        if path.suffix == ".npy":
            with _PARSING:
                array = np.load(path)
        else:
            with Image.open(path) as image:
                array = np.asarray(image)
    except (OSError, ValueError) as error:
        return str(error)
    return "" if digest(array) == expected else "other pixels"


def clips_below(corpus: Path) -> list[Path]:
    """The videos of a corpus, by the default extensions."""
    found = (path for path in corpus.rglob("*") if path.suffix[1:].lower() in VIDEO_EXTENSIONS)
    return sorted(path for path in found if path.is_file())


def folder_of(clip: Path, clips: list[Path]) -> str:
    """The name of the folder that stands for ``clip``: its stem, with the extension on a clash."""
    same = [other for other in clips if (other.parent, other.stem) == (clip.parent, clip.stem)]
    return clip.stem if len(same) == 1 else f"{clip.stem}_{clip.suffix[1:]}"


def main() -> int:
    """Runs the protocol; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    sample_corpus = Path(__file__).parent.parent / "sample"
    default = os.environ.get("FRAMEFS_CORPUS") or sample_corpus
    parser.add_argument("--corpus", type=Path, default=default, help="folder of videos")
    parser.add_argument("--limit", type=int, default=400, help="frames up to which all are read")
    parser.add_argument("--sample", type=int, default=200, help="frames read of longer clips")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="clips whose name contains this")
    arguments = parser.parse_args()
    clips = clips_below(arguments.corpus)
    verdicts = []
    print(f"corpus {arguments.corpus}, seed {arguments.seed}, {READERS} threads")
    print(f"{'clip':58} {'decoded':>7} {'listed':>7} {'checked':>7} {'faults':>6} {'s':>6}")
    with mounted(arguments.corpus) as mount:
        for clip in clips:
            if arguments.only not in clip.name:
                continue
            folder = mount / clip.relative_to(arguments.corpus).with_name(folder_of(clip, clips))
            verdict = check(
                folder, clip, limit=arguments.limit, sample=arguments.sample, seed=arguments.seed
            )
            verdicts.append(verdict)
            print(
                f"{verdict.clip[:58]:58} {verdict.decoded:7} {verdict.listed:7} "
                f"{verdict.checked:7} {len(verdict.faults):6} {verdict.seconds:6.1f}",
                verdict.reason,
                flush=True,
            )
            for fault in verdict.faults[:5]:
                print(f"    {fault}")
    faults = sum(len(v.faults) for v in verdicts)
    refused = sum(not v.decoded for v in verdicts)
    print(
        f"{len(verdicts)} clips ({refused} refused, with reasons), "
        f"{sum(v.decoded for v in verdicts)} frames decoded, "
        f"{sum(v.checked for v in verdicts)} files compared, {faults} faults"
    )
    return 1 if faults or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
