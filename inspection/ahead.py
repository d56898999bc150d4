"""Indexes made ahead of time, source by source, and what there is to say about it at the end."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from decoder.corpus import Fingerprint, Source
from decoder.errors import DecoderError
from decoder.index import SourceIndex
from decoder.indexing import Indexer
from decoder.store import IndexStore
from engines import Pulse

_WHERE = re.compile(r"^(?:picture|frame|packet) \d+: ")


@dataclass(frozen=True, slots=True)
class Indexed:
    """What became of one source.

    Attributes:
        path: of the source.
        how: the way its index was made; "proof": by decoding, and it is read sparsely all the same.
        reason: why it was made by decoding.
        found: the store had it already.
        frames, packets: how many it tells of.
        seconds: that making it took.
        container: FFmpeg's name.
    """

    path: str
    how: Literal["headers", "proof", "decoding"]
    reason: str | None
    found: bool
    frames: int
    packets: int
    seconds: float
    container: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A source without an index, and why."""

    path: str
    reason: str


class IndexJob:
    """Indexes one source after the other; an `engines.Job`.

    Args:
        store: path of the index store.
        stream, rotate: see `decoder.scan.scan`; as a mount has them, or it does not find these.
        hashes: also store the hash of every frame.
    """

    def __init__(self, store: str, *, stream: int | None, rotate: bool, hashes: bool) -> None:
        self.store = store
        self.stream = stream
        self.rotate = rotate
        self.hashes = hashes
        self._indexer: Indexer | None = None

    def __call__(self, item: Source, pulse: Pulse) -> Indexed | Failed:
        """Makes sure that the store has the index of ``item``."""
        if self._indexer is None:
            self._indexer = self.indexer(pulse)
        began = time.monotonic()
        try:
            index = self._indexer.stored(item)
            found = index is not None
            if index is None:
                index = self._indexer.make(item)
            if self.hashes and not has_hashes(index):
                found = False
                index = self._indexer.add_hashes(item, index)
        except DecoderError as error:
            return Failed(item.path, str(error))
        if not self._indexer.keeps(item):
            return self.refused(item)
        return _indexed(item, index, found, began)

    def indexer(self, stop: threading.Event | None = None) -> Indexer:
        """Finds indexes in the store, and keeps them there."""
        return Indexer(IndexStore(self.store), stream=self.stream, rotate=self.rotate, stop=stop)

    def refused(self, item: Source) -> Failed:
        """What is said of an index that the store does not take."""
        return Failed(item.path, f"{item.path}: its index cannot be kept in {self.store}")


@dataclass(frozen=True, slots=True)
class Made:
    """An index made where the store is not, in bytes."""

    what: Indexed
    content: bytes


class DistantIndexJob:
    """Does what ``job`` does on machines that do not share its store; an `engines.Job`.

    The store is one file of a database, which several machines cannot use at once: they send
    indexes, and `found` and `keep` work with the store.
    """

    def __init__(self, job: IndexJob) -> None:
        self._job = IndexJob(":memory:", stream=job.stream, rotate=job.rotate, hashes=job.hashes)
        self._near = job

    def __call__(self, item: Source, pulse: Pulse) -> Made | Failed:
        """Makes the index of ``item``."""
        began = time.monotonic()
        indexer = self._job.indexer(pulse)  # forgets it again
        try:
            index = indexer.make(item)
            if self._job.hashes:
                index = indexer.add_hashes(item, index)
        except DecoderError as error:
            return Failed(item.path, str(error))
        finally:
            indexer.store.close()
        return Made(_indexed(item, index, False, began), index.to_bytes())

    def found(self, indexer: Indexer, item: Source) -> Indexed | None:
        """What there is to say if the store has the index already; None if it has to be made."""
        began = time.monotonic()
        index = indexer.stored(item)
        if index is None or (self._job.hashes and not has_hashes(index)):
            return None
        return _indexed(item, index, True, began)

    def keep(self, indexer: Indexer, item: Source, made: Made) -> Indexed | Failed:
        """Puts what was made into the store."""
        indexer.keep(item, SourceIndex.from_bytes(made.content))
        return made.what if indexer.keeps(item) else self._near.refused(item)


def _indexed(item: Source, index: SourceIndex, found: bool, began: float) -> Indexed:
    return Indexed(
        path=item.path,
        how=_how(index),
        reason=index.facts.fallback,
        found=found,
        frames=index.frame_count,
        packets=len(index.packets),
        seconds=time.monotonic() - began,
        container=index.facts.container,
    )


def tidy(store: str) -> None:
    """Brings what processes that were ended have left beside the store's file into the file."""
    kept = IndexStore(store)
    kept.has(Source("", Fingerprint(0, 0)), "")
    kept.close()


def has_hashes(index: SourceIndex) -> bool:
    """Whether every frame's hash is in the index."""
    return len(index.frames.hash) == index.frame_count


def _how(index: SourceIndex) -> Literal["headers", "proof", "decoding"]:
    if index.feed is None:
        return "decoding"
    return "headers" if index.facts.rule is None else "proof"


def summary(results: Sequence[Indexed | Failed], refused: Iterable[str] = ()) -> list[str]:
    """What came of it all, a line each; ``refused`` are folders and files not even looked at."""
    indexed = [result for result in results if isinstance(result, Indexed)]
    failures = sorted(_sentence(result) for result in results if isinstance(result, Failed))
    failures += refused
    found = sum(result.found for result in indexed)
    frames = sum(result.frames for result in indexed)
    by_headers = sum(result.how == "headers" for result in indexed)
    by_proof = sum(result.how == "proof" for result in indexed)
    lines = [
        f"{counted(len(indexed), 'source')} with {counted(frames, 'frame')} indexed"
        + (f", {found:,} of them before" if found else ""),
        f"  {by_headers:,} by headers",
    ]
    if by_proof:
        lines.append(f"  {by_proof:,} by decoding, with the graph proven")
    reasons = Counter(
        _WHERE.sub("", result.reason or "asked for")
        for result in indexed
        if result.how == "decoding"
    )
    if reasons:
        lines.append(f"  {reasons.total():,} by decoding")
        lines += [f"    {count:,}: {reason}" for reason, count in reasons.most_common()]
    if failures:
        lines.append(f"  {len(failures):,} failed")
        lines += [f"    {failure}" for failure in failures]
    return lines


def _sentence(failed: Failed) -> str:
    known = failed.reason.startswith(failed.path)
    return failed.reason if known else f"{failed.path}: {failed.reason}"


def counted(number: int, noun: str) -> str:
    """1 frame, 2,000 frames."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
