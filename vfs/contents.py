"""The bytes of frames: decoded frames in one cache, the files that are being read in another."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

from cachetools import LRUCache
from numpy.typing import NDArray

from decoder.corpus import Source
from decoder.errors import DecoderError, SourceChanged, SourceNotFound
from vfs.cache import ByteCache, CacheStats
from vfs.errors import WrongPixels
from vfs.formats import FORMATS, PixelFormat, dtype_of, shape_of
from vfs.nodes import FrameNode
from vfs.resolver import Service

_FILE_BYTES = 96 << 20
"""Files that are being read. Made again from the decoded frame when pushed out."""

_FAILURES_KEPT = 1024


@dataclass(frozen=True, slots=True)
class OpenFrame:
    """A frame file that is being read: one version of it, for as long as it is open."""

    node: FrameNode
    height: int
    width: int
    pixel_format: PixelFormat
    size: int


class Contents:
    """Reads frames. Thread safe; one decoding and one encoding however many read.

    Args:
        cache_bytes: budget for decoded frames.
    """

    def __init__(self, service: Service, cache_bytes: int) -> None:
        self._service = service
        self._arrays: ByteCache[tuple[Source, int, PixelFormat], NDArray[Any]] = ByteCache(
            cache_bytes, lambda array: array.nbytes
        )
        self._files: ByteCache[tuple[Source, int, str], memoryview] = ByteCache(_FILE_BYTES, len)
        self._lock = threading.Lock()
        self._readers: Counter[tuple[Source, int, str]] = Counter()
        self._large: dict[tuple[Source, int, str], int] = {}
        self._failures: LRUCache[tuple[Source, int], str] = LRUCache(_FAILURES_KEPT)

    def open(self, file: OpenFrame) -> None:
        """Begins to read a file; decodes nothing yet. Each needs one `release`."""
        key = _file_key(file.node)
        with self._lock:
            self._readers[key] += 1
            if 2 * file.size > _FILE_BYTES:
                self._large[key] = file.size
                self._make_room()

    def read(self, file: OpenFrame, offset: int, size: int) -> memoryview:
        """Up to ``size`` bytes from ``offset`` on, fewer only at the end; a view, not a copy.

        Raises:
            SourceChanged: this version is gone from the corpus and from memory.
            DecoderError: the frame cannot be decoded.
        """
        if offset >= file.size:
            return memoryview(b"")
        node = file.node
        content = self._files.get(_file_key(node), lambda: self._encode(file))
        return content[offset : offset + size]

    def release(self, file: OpenFrame) -> None:
        """Ends the reading. The decoded frame stays in the cache, the file made of it does not."""
        key = _file_key(file.node)
        with self._lock:
            self._readers[key] -= 1
            last = self._readers[key] <= 0
            if last:
                del self._readers[key]
                if self._large.pop(key, 0):
                    self._make_room()
        if last:
            self._files.discard(key)

    def _make_room(self) -> None:
        """However large one file is, two that are being read must not push each other out."""
        self._files.reserve(2 * max(self._large.values(), default=0))

    def _encode(self, file: OpenFrame) -> memoryview:
        node, pixel_format = file.node, file.pixel_format
        try:
            array = self._arrays.get(
                (node.source, node.frame, pixel_format),
                lambda: self._service.array(node.source, node.frame, pixel_format),
            )
        except DecoderError as error:
            if not isinstance(error, (SourceChanged, SourceNotFound)):
                with self._lock:
                    self._failures[node.source, node.frame] = str(error)
            raise
        shape = shape_of(file.height, file.width, pixel_format)
        if array.shape != shape or array.dtype != dtype_of(pixel_format):
            raise WrongPixels(
                f"frame {node.frame} of {node.source.path} came out as {array.dtype} "
                f"{array.shape}, expected {dtype_of(pixel_format)} {shape}"
            )
        return FORMATS[node.extension].encode(array)

    def failure(self, node: FrameNode) -> str | None:
        """Why this frame could not be decoded, if that has been tried and failed lately."""
        with self._lock:
            return self._failures.get((node.source, node.frame))

    @property
    def stats(self) -> dict[str, CacheStats]:
        """Counters of the decoded frames ("frames") and of the files being read ("files")."""
        return {"frames": self._arrays.stats, "files": self._files.stats}


def _file_key(node: FrameNode) -> tuple[Source, int, str]:
    return node.source, node.frame, node.extension
