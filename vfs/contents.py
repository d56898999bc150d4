"""The bytes of frames: decoded frames in one cache, the files that are being read in another."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from cachetools import LRUCache
from numpy.typing import NDArray

from decoder.corpus import Source
from decoder.errors import DecoderError, SourceChanged, SourceNotFound
from decoder.foresight import Outlook
from decoder.statistics import Statistics
from vfs.ahead import Ahead
from vfs.cache import ByteCache, CacheStats
from vfs.errors import WrongPixels
from vfs.formats import Npy, quality_of
from vfs.nodes import FrameNode
from vfs.resolver import Picture, Service
from vfs.view import PixelFormat

_FILE_BYTES = 96 << 20
"""Files that are being read. Made again from the decoded frame when pushed out."""

_FAILURES_KEPT = 1024

_FileKey: TypeAlias = tuple[Source, int, int, int]


@dataclass(frozen=True, slots=True)
class OpenFrame:
    """A frame file that is being read: one version of it, for as long as it is open.

    Attributes:
        frame: its number in the source.
        size: bytes of the file.
        outlook: what the process that opened it will open next.
    """

    node: FrameNode
    frame: int
    size: int
    outlook: Outlook | None = None

    def following(self) -> OpenFrame | None:
        """The file that its reader will open next, as far as that is foretold."""
        outlook, reel = self.outlook, self.node.reel
        if outlook is None or not (outlook.ahead or outlook.length > 1):
            return None
        frames, frame = reel.frames, self.frame + outlook.stride
        if not isinstance(frames, range) or frame not in frames:
            return None
        if isinstance(reel.view.formats[self.node.choice], Npy):
            return None  # made faster than handed from one thread to another
        position = frames.index(frame)
        node = replace(self.node, path="", position=position)
        return OpenFrame(node, frame, reel.size(position, node.choice))

    @property
    def key(self) -> _FileKey:
        """The same for whoever reads the same bytes."""
        node = self.node
        return node.source, self.frame, node.branch.number, node.choice


class Contents:
    """Reads frames. Thread safe; one decoding and one encoding however many read.

    Args:
        cache_bytes: budget for decoded frames.
        shared: they are wanted as arrays of several kinds, and so kept as they were decoded. Else
            they are kept as the arrays that files are made of.
        statistics: learns how long conversions and encodings take.
    """

    def __init__(
        self,
        service: Service,
        cache_bytes: int,
        *,
        shared: bool = False,
        statistics: Statistics | None = None,
    ) -> None:
        self._service = service
        self._statistics = statistics or Statistics()
        self._shared = shared
        # Arrays, or pictures where ``shared``.
        self._frames: ByteCache[tuple[Source, int], Any] = ByteCache(
            cache_bytes, lambda kept: int(kept.nbytes)
        )
        self._files: ByteCache[_FileKey, memoryview] = ByteCache(_FILE_BYTES, len)
        self._ahead: Ahead[_FileKey] = Ahead()
        self._foretold: set[_FileKey] = set()  # to be made ahead, and not read since
        self._lock = threading.Lock()
        self._readers: Counter[_FileKey] = Counter()
        self._large: dict[_FileKey, int] = {}
        self._failures: LRUCache[tuple[Source, int], str] = LRUCache(_FAILURES_KEPT)

    def open(self, file: OpenFrame) -> None:
        """Begins to read a file; decodes nothing yet. Each needs one `release`."""
        key = file.key
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
        content = self._content(file)
        if offset == 0:
            with self._lock:
                self._foretold.discard(file.key)
            self._prepare(file)
        return content[offset : offset + size]

    def quality(self, file: OpenFrame) -> int | None:
        """The quality with which a JPEG was encoded. Raises as `read`."""
        return quality_of(self._content(file))

    def release(self, file: OpenFrame) -> None:
        """Ends the reading. The decoded frame stays in the cache, the file made of it does not."""
        key = file.key
        with self._lock:
            self._readers[key] -= 1
            last = self._readers[key] <= 0
            if last:
                del self._readers[key]
                if self._large.pop(key, 0):
                    self._make_room()
        if last:
            self._files.discard(key)

    def _prepare(self, file: OpenFrame) -> None:
        """Has the file made that is foretold to be read after this one."""
        following = file.following()
        if following is not None and 4 * following.size <= _FILE_BYTES:
            # Now that this one is there, what the next is made of is being decoded.
            with self._lock:
                self._foretold.add(following.key)
            if not self._ahead.make(following.key, lambda: self._make_ahead(following)):
                with self._lock:
                    self._foretold.discard(following.key)

    def _make_ahead(self, file: OpenFrame) -> None:
        """Makes a file, unless its reader has come and made it; it may have gone by now, too."""
        key = file.key
        with self._lock:
            if key not in self._foretold:
                return
        try:
            self._content(file)
        finally:
            with self._lock:
                gone = key not in self._foretold and key not in self._readers
                self._foretold.discard(key)
        if gone:
            self._files.discard(key)

    def _make_room(self) -> None:
        """However large one file is, two that are being read must not push each other out."""
        self._files.reserve(2 * max(self._large.values(), default=0))

    def _content(self, file: OpenFrame) -> memoryview:
        return self._files.get(file.key, lambda: self._encode(file))

    def _encode(self, file: OpenFrame) -> memoryview:
        node, frame = file.node, file.frame
        reel = node.reel
        pixel_format, shape, dtype = reel.decoded(frame)
        try:
            array = self._array(node.source, frame, pixel_format, file.outlook)
        except DecoderError as error:
            if not isinstance(error, (SourceChanged, SourceNotFound)):
                with self._lock:
                    self._failures[node.source, frame] = str(error)
            raise
        if array.shape != shape or array.dtype != dtype:
            raise WrongPixels(
                f"frame {frame} of {node.source.path} came out as {array.dtype} "
                f"{array.shape}, expected {dtype} {shape}"
            )
        began = time.perf_counter()
        content = reel.view.formats[node.choice].encode(reel.view.transform.apply(array))
        self._statistics.stage("format", time.perf_counter() - began)
        if len(content) != file.size:
            raise WrongPixels(
                f"frame {frame} of {node.source.path} makes a file of {len(content)} bytes, "
                f"expected {file.size}"
            )
        return content

    def _array(
        self, source: Source, frame: int, pixel_format: PixelFormat, outlook: Outlook | None
    ) -> NDArray[Any]:
        kept = self._frames.get(
            (source, frame), lambda: self._decode(source, frame, pixel_format, outlook)
        )
        if not self._shared:
            array: NDArray[Any] = kept
            return array
        began = time.perf_counter()
        array = _converted(kept, pixel_format)
        self._statistics.stage("convert", time.perf_counter() - began)
        return array

    def _decode(
        self, source: Source, frame: int, pixel_format: PixelFormat, outlook: Outlook | None
    ) -> Any:
        if self._shared:
            return self._service.pixels(source, frame, outlook)
        if pixel_format == "native":
            return self._service.pixels(source, frame, outlook).joined()
        return self._service.array(source, frame, pixel_format, outlook)

    def failure(self, source: Source, frame: int) -> str | None:
        """Why this frame could not be decoded, if that has been tried and failed lately."""
        with self._lock:
            return self._failures.get((source, frame))

    @property
    def stats(self) -> dict[str, CacheStats]:
        """Counters of the decoded frames ("frames") and of the files being read ("files")."""
        return {"frames": self._frames.stats, "files": self._files.stats}


def _converted(picture: Picture, pixel_format: PixelFormat) -> NDArray[Any]:
    return picture.joined() if pixel_format == "native" else picture.array(pixel_format)
