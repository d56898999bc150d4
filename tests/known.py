"""A file, what a full decode of it shows, and its right index: what mutations start from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from decoder.corpus import source_at
from decoder.feed import FeedTable
from decoder.index import SourceIndex
from decoder.indexing import index_source
from decoder.reader import FrameReader
from tests.protocol import Truth, check
from tests.streams import Stream


@dataclass(frozen=True)
class Known:
    """A file, what a full decode of it shows, and its right index."""

    path: Path
    truth: Truth
    index: SourceIndex

    @classmethod
    def of(cls, path: Path) -> Known:
        return cls(path, Truth.of(path), index_source(source_at(str(path))))

    @property
    def feed(self) -> FeedTable:
        assert self.index.feed is not None, self.index.facts.fallback
        return self.index.feed

    def faults(self) -> int:
        """What the protocol finds; indexes the file anew."""
        stream = Stream(self.path.name, self.index.facts.codec, "written", lambda _: self.path)
        verdict = check(self.path, self.truth, stream, 1, (12, 60))
        return len(verdict.faults)

    def read(self, index: SourceIndex) -> tuple[int, int, int]:
        """(alarms, wrong frames, missing frames) with this index: some, one by one, all."""
        wrong = missing = 0
        source = source_at(str(self.path))
        with FrameReader(source, index=index) as reader:
            singles = [range(n, n + 1) for n in range(len(reader) - 1, -1, -3)]
            for wanted in (range(0, len(reader), 7), *singles, range(len(reader))):
                found = dict(reader.frames(wanted))
                wrong += sum(p.hash != self.truth.hashes[n] for n, p in found.items())
                missing += sum(n not in found for n in wanted)
            return reader.stats.alarms, wrong, missing


def with_feed(index: SourceIndex, feed: FeedTable) -> SourceIndex:
    """The index with another table."""
    return SourceIndex(index.facts, index.packets, index.frames, index.geometries, feed)
