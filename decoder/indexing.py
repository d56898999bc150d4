"""Indexes of sources: from the store, else from headers, else by decoding, and why."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace

import msgspec
import numpy as np

from decoder.corpus import Source
from decoder.headers import FallBack, index_by_headers
from decoder.index import SourceIndex
from decoder.proving import proven
from decoder.scan import scan
from decoder.store import IndexStore

_log = logging.getLogger(__name__)


def index_source(
    source: Source,
    *,
    stream: int | None = None,
    rotate: bool = True,
    stop: threading.Event | None = None,
) -> SourceIndex:
    """The index of ``source``, from its headers where they tell enough; else by decoding it.

    Arguments and errors: see `decoder.scan.scan`.
    """
    try:
        return index_by_headers(source, stream=stream, rotate=rotate, stop=stop)
    except FallBack as reason:
        index = scan(source, stream=stream, rotate=rotate, stop=stop, fallback=str(reason))
    return proven(source, index, rotate=rotate, stop=stop)


def with_hashes(index: SourceIndex, decoded: SourceIndex) -> SourceIndex:
    """``index``, made from headers, with the hashes of ``decoded``, made by decoding the source.

    Where the two do not tell of the same frames, ``decoded`` itself with the reason why.
    """
    difference = disagreement(index, decoded)
    if decoded.facts.damage:
        difference = f"a full decode met damage: {decoded.facts.damage[0]}"
    if difference is not None:
        facts = msgspec.structs.replace(decoded.facts, fallback=difference)
        return SourceIndex(facts, decoded.packets, decoded.frames, decoded.geometries)
    frames = replace(index.frames, hash=decoded.frames.hash)
    return SourceIndex(index.facts, index.packets, frames, index.geometries, index.feed)


def disagreement(index: SourceIndex, decoded: SourceIndex) -> str | None:
    """What a full decode shows otherwise than ``index`` says, in words; None where it does not."""
    if len(index.packets) != len(decoded.packets):
        return (
            f"{len(index.packets)} packets were indexed, a full decode met {len(decoded.packets)}"
        )
    if index.frame_count != decoded.frame_count:
        return f"{index.frame_count} frames were indexed, a full decode shows {decoded.frame_count}"
    for what, one, other in (
        ("comes from another packet", index.frames.packet, decoded.frames.packet),
        ("has another size or format", _geometries(index), _geometries(decoded)),
        ("has another timestamp", _timestamps(index), _timestamps(decoded)),
    ):
        different = np.flatnonzero(one != other)
        if len(different):
            return f"frame {different[0]} {what} in a full decode"
    return None


def _geometries(index: SourceIndex) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    return np.array(index.geometries, np.object_)[index.frames.geometry]


def _timestamps(index: SourceIndex) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    return np.array([index.pts(n) for n in range(index.frame_count)], np.object_)


class Indexer:
    """Finds indexes in a store, or makes them and keeps them there. Thread safe.

    Whoever uses the same store, ``stream`` and ``rotate`` finds the same indexes.

    Args:
        store: where indexes persist.
        stream, rotate, stop: see `decoder.scan.scan`.
    """

    def __init__(
        self,
        store: IndexStore,
        *,
        stream: int | None = None,
        rotate: bool = True,
        stop: threading.Event | None = None,
    ) -> None:
        self.store = store
        self.rotate = rotate
        self._stream = stream
        self._stop = stop
        self._options = f"stream={'auto' if stream is None else stream} rotate={int(rotate)}"

    def stored(self, source: Source) -> SourceIndex | None:
        """The index that the store has of ``source`` in this version; None where it has none."""
        return self.store.get(source, self._options)

    def keeps(self, source: Source) -> bool:
        """Whether the store has an index of ``source`` in this version; cheap."""
        return self.store.has(source, self._options)

    def make(self, source: Source) -> SourceIndex:
        """An index made now, the cheaper way of the two, and kept. Raises as `index_source`."""
        began = time.monotonic()
        index = index_source(source, stream=self._stream, rotate=self.rotate, stop=self._stop)
        self._keep(source, index, time.monotonic() - began)
        return index

    def demote(self, source: Source, reason: str) -> SourceIndex:
        """An index made now by decoding, whatever the headers say, and kept.

        Args:
            reason: why, to be kept in it.
        """
        began = time.monotonic()
        index = self.decode(source, reason)
        self._keep(source, index, time.monotonic() - began)
        return index

    def decode(self, source: Source, reason: str | None = None) -> SourceIndex:
        """What a full decode shows; not kept. Raises as `decoder.scan.scan`."""
        return scan(
            source, stream=self._stream, rotate=self.rotate, stop=self._stop, fallback=reason
        )

    def add_hashes(self, source: Source, index: SourceIndex) -> SourceIndex:
        """``index`` with the hash of every frame, from a full decode now, and kept.

        Where that decode shows other frames than ``index`` tells of, the index of the decode.
        """
        began = time.monotonic()
        hashed = with_hashes(index, self.decode(source))
        self._keep(source, hashed, time.monotonic() - began)
        return hashed

    def keep(self, source: Source, index: SourceIndex) -> None:
        """Keeps an index that was made elsewhere, with the same options."""
        self.store.put(source, self._options, index)

    def _keep(self, source: Source, index: SourceIndex, seconds: float) -> None:
        how = "from headers" if index.feed else f"by decoding, because {index.facts.fallback}"
        if index.facts.rule is not None:
            how = f"by decoding ({index.facts.rule})"
        count = index.frame_count
        _log.info("%s: indexed %d frames in %.2f s %s", source.path, count, seconds, how)
        for damage in index.facts.damage:
            _log.warning("%s: damaged: %s", source.path, damage)
        self.keep(source, index)
