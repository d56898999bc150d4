"""Pictures decoded for one random frame, counted at the decoder, beside decoding from a key packet.

    python -m tests.amplification [--set native265] [--targets 40] [--seed 1] [FILE ...]

The sets are those of the benchmark (`bench.sets`). What goes into codec contexts is counted by
`tests.tally`. Sequential: all coded pictures from the last packet that the container marks as a key
up to that of the frame, as a reader decodes them that seeks and goes on from there.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import av

from bench.sets import NAMES, clips_of
from decoder.reader import FrameReader
from tests.tally import Tally, coded_pictures


@dataclass(frozen=True, slots=True)
class Cost:
    """Means over single targets, in pictures."""

    sparse: float
    sequential: float

    @property
    def ratio(self) -> float:
        return self.sparse / self.sequential


def measure(path: Path | str, targets: int, seed: int = 1) -> Cost:
    """Reads so many random frames one by one, two in a row far apart.

    Raises:
        ValueError: the file is decoded conservatively.
    """
    generator = random.Random(f"{seed} {Path(path).name}")
    sequential = _sequential(path)
    beside = 0
    with FrameReader(str(path)) as reader, Tally() as tally:
        if reader.index.feed is None:
            raise ValueError(f"{path}: {reader.index.facts.fallback}")
        last = -1
        for _ in range(targets):
            n = generator.randrange(len(reader))
            if 0 < n - last < len(reader) // 8:
                n = (n + len(reader) // 2) % len(reader)
            last = n
            reader.frame(n)
            beside += sequential[int(reader.index.frames.packet[n])]
    return Cost(tally.decoded / targets, beside / targets)


def _sequential(path: Path | str) -> list[int]:
    """By packet: coded pictures from the last key packet on, its own included."""
    found: list[int] = []
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        for packet in container.demux(stream):
            if packet.size:
                pictures, repeats = coded_pictures(stream.codec_context, bytes(packet))
                here = pictures - repeats if pictures else 1
                found.append(here if packet.is_keyframe or not found else found[-1] + here)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each file and each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", dest="sets", action="append", choices=NAMES, default=[])
    parser.add_argument("--targets", type=int, default=40, help="random frames of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args(arguments)
    groups = {"files": options.files} | {name: clips_of(name, print) for name in options.sets}
    for name, paths in groups.items():
        costs = []
        for path in paths:
            costs.append(measure(path, options.targets, options.seed))
            _print(Path(path).name, costs[-1])
        if costs:
            count = len(costs)
            mean = Cost(
                sum(cost.sparse for cost in costs) / count,
                sum(cost.sequential for cost in costs) / count,
            )
            _print(f"{name}, {count} clips", mean)
    return 0


def _print(name: str, cost: Cost) -> None:
    print(f"{name:50} {cost.sparse:7.2f} of {cost.sequential:7.2f} ({cost.ratio:.3f})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
