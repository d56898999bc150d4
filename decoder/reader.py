"""`FrameReader`: frames of one source by number, exactly as a full decode shows them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoder.checked import CheckedReader, KeyTrust
from decoder.corpus import Source, source_at
from decoder.counters import Counters
from decoder.errors import UnsupportedStream
from decoder.index import SourceIndex
from decoder.indexing import index_source
from decoder.pixels import PixelFormat, Pixels
from decoder.plan import Plan, plan, whole
from decoder.scan import scan
from decoder.sparse import Alarm
from decoder.walking import SparseReader, Verify

_log = logging.getLogger(__name__)


class FrameReader:
    """Reads frames of one source by number.

    Where the index holds the reference graph of the source, a request is planned: the closure of
    its frames is decoded and nothing else. Elsewhere, and from the first sign on that a decoder did
    not do with a plan what it should, frames are decoded conservatively: from a key packet on, each
    compared with its hash (see `decoder.checked`).

    One thread at a time uses a reader. After a fork the child opens the file for itself.

    Args:
        source: a path, or a source in the version that is meant.
        index: made by `decoder.indexing.index_source` with the same ``stream`` and ``rotate``; by
            default made now.
        stream: number of the video stream in the file, by default the first that is not a cover.
        rotate: turn frames by the display matrix.
        trust: shared by readers of the same index.
        stop: ends a read, with `Stopped`, when set.
        verify: which frames that were decoded sparsely are compared with their hash in the index,
            where it has hashes: "sample" is every 64th. Others are always compared, and so are all
            of a source whose graph was proven by decoding it.
        reindex: makes an index by decoding, given the reason; by default `decoder.scan.scan` does.

    Raises:
        SourceNotFound, SourceUnreadable, SourceChanged: see `decoder.scan.scan`.

    Example:
        >>> with FrameReader("clip.mp4") as reader:
        ...     window = reader.read(range(10, 20))  # uint8 [10, H, W, 3]
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Source,
        *,
        index: SourceIndex | None = None,
        stream: int | None = None,
        rotate: bool = True,
        trust: KeyTrust | None = None,
        stop: threading.Event | None = None,
        verify: Verify = "never",
        reindex: Callable[[str], SourceIndex] | None = None,
    ) -> None:
        self.source = source if isinstance(source, Source) else source_at(os.fspath(source))
        if index is None:
            index = index_source(self.source, stream=stream, rotate=rotate, stop=stop)
        self.index = index
        self.stats = Counters()
        self._rotate = rotate
        self._stop = stop
        self._verify: Verify = verify
        self._trust = trust
        self._reindex = reindex or self._scan
        self._open()

    def _open(self) -> None:
        self._process = os.getpid()
        self._method: CheckedReader | SparseReader
        if self.index.feed is not None:
            self._method = SparseReader(
                self.source,
                self.index,
                self.index.feed,
                self.stats,
                rotate=self._rotate,
                stop=self._stop,
                # Where the graph is proven on the source there are hashes, and comparing with them
                # costs next to nothing: nobody knows what all decoders keep beyond a flush.
                verify="always" if self.index.facts.rule is not None else self._verify,
            )
            return
        self._trust = self._trust or KeyTrust(self.index)
        self._method = CheckedReader(
            self.source, self.index, self._trust, self.stats, rotate=self._rotate, stop=self._stop
        )

    def __len__(self) -> int:
        return self.index.frame_count

    @property
    def fps(self) -> Fraction | None:
        """Frames per second on average, as the container says; None where it does not."""
        rate = self.index.facts.rate
        return None if rate is None else Fraction(*rate)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(H, W, 3) of the first frame as shown."""
        return (*self.index.shape(0), 3)

    def read(self, frames: Sequence[int], pixel_format: PixelFormat = "rgb24") -> NDArray[Any]:
        """The frames as one array [len(frames), H, W, 3] ([..., H, W] for gray), in that order.

        Raises:
            FrameOutOfRange: there is no such frame.
            UnsupportedStream: the frames are of different sizes, or of a native format that
                cannot be converted.
            DecodeFailed, SourceChanged, SourceNotFound: a frame could not be had.
        """
        shapes = {self.index.shape(n) for n in frames} or {self.index.shape(0)}
        if len(shapes) > 1:
            raise UnsupportedStream(
                f"{self.source.path}: the frames asked for have different sizes "
                f"({', '.join(f'{w}x{h}' for h, w in sorted(shapes))}); read them one by one"
            )
        depth = () if pixel_format.startswith("gray") else (3,)
        kind = np.uint16 if pixel_format.endswith("le") else np.uint8
        result = np.empty((len(frames), *shapes.pop(), *depth), kind)
        places: dict[int, list[int]] = {}
        for place, n in enumerate(frames):
            places.setdefault(n, []).append(place)
        for n, pixels in self.frames(places):
            first, *others = places[n]
            result[first] = pixels.array(pixel_format)
            for other in others:
                result[other] = result[first]
        return result

    def frame(self, n: int) -> Pixels:
        """One frame, with its native planes. Raises as `read`."""
        ((_, pixels),) = self.frames([n])
        return pixels

    def frames(
        self, frames: Iterable[int], *, by_products: bool = False
    ) -> Iterator[tuple[int, Pixels]]:
        """Each frame asked for, once, as (number, pixels), in no particular order. As `read`.

        With ``by_products`` other frames that happen to be reconstructed on the way are given, too;
        and requests are taken to have nothing to do with each other.
        """
        wanted = sorted(set(frames))
        for n in wanted:
            self.index.check(n, self.source.path)
        self._begin()
        self.stats.requested += len(wanted)
        missing = dict.fromkeys(wanted)
        try:
            for n, pixels in self._method.frames(wanted, by_products=by_products):
                if n in missing:
                    del missing[n]
                    self.stats.delivered += 1
                yield n, pixels
        except Alarm as alarm:
            self._fall_back(str(alarm))
            for n in missing:
                self.index.check(n, self.source.path)  # decoding may show fewer
            for n, pixels in self._method.frames(list(missing)):
                self.stats.delivered += 1
                yield n, pixels

    def onward(self, n: int) -> Iterator[tuple[int, Pixels]]:
        """Frame ``n`` and those behind it, in order, for as long as they are taken. As `read`.

        The pictures of a group are reconstructed once, and later ones only as they are needed.
        Nothing else can be asked of the reader before this has ended or been closed.
        """
        self.index.check(n, self.source.path)
        self._begin()
        following = n
        while following < len(self):
            try:
                for number, pixels in self._method.onward(following):
                    self.stats.requested += 1
                    self.stats.delivered += 1
                    following = number + 1
                    yield number, pixels
                return
            except Alarm as alarm:
                self._fall_back(str(alarm))  # decoding may show fewer frames

    def _begin(self) -> None:
        if self._process != os.getpid():
            self._open()  # the parent's file and decoder are the parent's

    def plan(self, frames: Iterable[int]) -> Plan:
        """What is fed to the decoder for these frames in one request. Raises FrameOutOfRange."""
        wanted = sorted(set(frames))
        for n in wanted:
            self.index.check(n, self.source.path)
        packets = [int(self.index.frames.packet[n]) for n in wanted]
        feed = self.index.feed
        if feed is None:
            reason = self.index.facts.fallback or "it was indexed by decoding"
            return whole(len(self.index.packets), wanted, reason)
        return plan(feed.graph, (int(feed.graph.packet_pictures[packet]) for packet in packets))

    def distance(self, n: int) -> int:
        """Packets to decode until frame ``n`` comes out, if it can be had by going on; else -1."""
        if self._process != os.getpid() or n >= len(self):  # others may take it to have more
            return -1
        return self._method.distance(n)

    def close(self) -> None:
        """Closes the file. The reader opens it again when it is used again."""
        if self._process == os.getpid():
            self._method.close()
        self._open()

    def __enter__(self) -> FrameReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _fall_back(self, reason: str) -> None:
        """Has the source decoded conservatively from now on."""
        _log.warning("%s: decoded conservatively from now on: %s", self.source.path, reason)
        self.stats.alarms += 1
        self._method.close()
        self.index = self._reindex(reason)
        self._trust = None
        self._open()

    def _scan(self, reason: str) -> SourceIndex:
        return scan(
            self.source,
            stream=self.index.facts.stream,
            rotate=self._rotate,
            stop=self._stop,
            fallback=reason,
        )
