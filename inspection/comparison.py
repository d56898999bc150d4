"""Frames read as a mount reads them, against a full decode of the same file."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec

from decoder.corpus import Source
from decoder.errors import DecoderError, SourceChanged, SourceNotFound, Stopped
from decoder.index import SourceIndex
from decoder.indexing import Indexer, disagreement
from decoder.reader import FrameReader
from decoder.store import IndexStore
from engines import Pulse
from inspection.ahead import counted

_LARGEST = 20
"""Frames in one request at most."""

_NAMED = 10
"""Faults of one source that are described; more are only counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A difference between the two ways.

    Attributes:
        frame: its number; None where the lists of frames differ.
        what: in words.
        request: the frames asked for together.
        plan: what was fed to the decoder for them, in words.
    """

    frame: int | None
    what: str
    request: tuple[int, ...] = ()
    plan: str = ""


@dataclass(slots=True)
class Compared:
    """What comparing one source has shown.

    Attributes:
        path: of the source.
        frames: how many it has.
        compared: how many of them were compared.
        sparse: they were read sparsely, as far as ``alarm`` does not say that this was given up.
        fallback: why they were not.
        reconstructed: pictures that were decoded for them.
        faults: the first differences; ``wrong`` counts all.
        unreadable: why the source could not be decoded at all.
    """

    path: str
    frames: int = 0
    compared: int = 0
    sparse: bool = False
    fallback: str | None = None
    alarm: str | None = None
    reconstructed: int = 0
    faults: list[Fault] = field(default_factory=list)
    wrong: int = 0
    unreadable: str | None = None


class CompareJob:
    """Compares one source after the other; a `engines.Job`.

    Args:
        store: path of the index store, where a mount finds its indexes.
        stream, rotate: see `decoder.scan.scan`.
        sample: frames of each source to read, picked by ``seed``; None reads all.
    """

    def __init__(
        self, store: str, *, stream: int | None, rotate: bool, sample: int | None, seed: int
    ) -> None:
        self._store = store
        self._stream = stream
        self._rotate = rotate
        self._sample = sample
        self._seed = seed
        self._indexer: Indexer | None = None

    def __call__(self, item: Source, pulse: Pulse) -> Compared:
        """Reads frames of ``item`` and compares them."""
        if self._indexer is None:
            self._indexer = Indexer(
                IndexStore(self._store), stream=self._stream, rotate=self._rotate, stop=pulse
            )
        result = Compared(item.path)
        try:
            index = self._indexer.stored(item) or self._indexer.make(item)
            decoded = self._indexer.decode(item)
            result.frames = decoded.frame_count
            result.sparse = index.feed is not None
            result.fallback = index.facts.fallback
            difference = disagreement(index, decoded)
            if difference is not None:
                _add(result, Fault(None, difference))
                return result
            rng = random.Random(f"{self._seed}:{item.path}")
            requests = requests_of(index.frame_count, self._sample, rng)
            self._compare(item, index, decoded, requests, result, pulse)
        except DecoderError as error:
            result.unreadable = str(error)
        return result

    def _compare(
        self,
        source: Source,
        index: SourceIndex,
        decoded: SourceIndex,
        requests: Iterator[list[int]],
        result: Compared,
        pulse: Pulse,
    ) -> None:
        def give_up(reason: str) -> SourceIndex:
            result.alarm = reason
            facts = msgspec.structs.replace(decoded.facts, fallback=reason)
            return SourceIndex(facts, decoded.packets, decoded.frames, decoded.geometries)

        with FrameReader(
            source, index=index, rotate=self._rotate, stop=pulse, reindex=give_up
        ) as reader:
            for request in requests:
                plan = reader.plan(request).explain()
                missing = dict.fromkeys(request)
                try:
                    for n, pixels in reader.frames(request):
                        del missing[n]
                        result.compared += 1
                        what = None
                        if pixels.geometry != decoded.geometry(n):
                            what = f"is {pixels.geometry}, not {decoded.geometry(n)}"
                        elif pixels.hash != int(decoded.frames.hash[n]):
                            what = "has other pixels than in a full decode"
                        if what is not None:
                            _add(result, Fault(n, what, tuple(request), plan))
                except (SourceChanged, SourceNotFound, Stopped):
                    raise
                except DecoderError as error:
                    first = min(missing)
                    _add(result, Fault(first, f"was not read: {error}", tuple(request), plan))
            result.reconstructed = reader.stats.reconstructed


def requests_of(frames: int, sample: int | None, rng: random.Random) -> Iterator[list[int]]:
    """Requests of 1 to 20 frames.

    All frames come in neighbourhoods, in any order of these; of a sample the frames of a request
    lie anywhere.
    """
    if sample is None:
        cuts = [0]
        while cuts[-1] < frames:
            cuts.append(min(frames, cuts[-1] + rng.randint(1, _LARGEST)))
        windows = [list(range(low, high)) for low, high in pairwise(cuts)]
        rng.shuffle(windows)
        yield from windows
        return
    picked = rng.sample(range(frames), min(sample, frames))
    while picked:
        size = rng.randint(1, _LARGEST)
        yield picked[:size]
        picked = picked[size:]


def _add(result: Compared, fault: Fault) -> None:
    result.wrong += 1
    if len(result.faults) < _NAMED:
        result.faults.append(fault)


def describe(result: Compared) -> list[str]:
    """What is to be said of one source, a line each; nothing where all is as it should be."""
    lines = []
    if result.unreadable is not None:
        lines.append(f"unreadable: {result.unreadable}")
    if result.alarm is not None:
        lines.append(f"{result.path}: sparse decoding was given up: {result.alarm}")
    for fault in result.faults:
        which = "" if fault.frame is None else f"frame {fault.frame} "
        lines.append(f"{result.path}: {which}{fault.what}")
        if fault.request:
            lines.append(f"  asked for {', '.join(map(str, fault.request))}")
        lines += [f"  {line}" for line in fault.plan.splitlines()]
    if result.wrong > len(result.faults):
        lines.append(f"{result.path}: {result.wrong - len(result.faults)} more such frames")
    return lines


def totals(results: Sequence[Compared], refused: int) -> list[str]:
    """What came of all sources; ``refused`` were not even looked at."""
    read = [result for result in results if result.unreadable is None]
    sparse = [result for result in read if result.sparse]
    compared = sum(result.compared for result in read)
    wrong = sum(result.wrong for result in results)
    lines = [
        f"{counted(len(read), 'source')} compared, {len(sparse):,} of them read sparsely: "
        f"{counted(compared, 'frame')} read, {wrong:,} wrong"
    ]
    frames = sum(result.compared for result in sparse)
    if frames:
        pictures = sum(result.reconstructed for result in sparse)
        lines.append(f"  {pictures / frames:.2f} pictures decoded per frame where read sparsely")
    unreadable = len(results) - len(read) + refused
    if unreadable:
        lines.append(f"  {unreadable:,} unreadable")
    return lines
