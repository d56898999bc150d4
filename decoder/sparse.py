"""Decodes plans: only what a request needs, on a stock decoder."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator

import av
import numpy as np

from decoder.corpus import Source
from decoder.counters import Counters
from decoder.errors import Stopped
from decoder.feed import FeedTable
from decoder.graph import HIDDEN
from decoder.index import KEY, SourceIndex
from decoder.media import Media
from decoder.packets import PacketReader
from decoder.plan import Feed, Run

_BEFORE = -1
"""Timestamp of what a preamble shows: no packet's ordinal."""

_MOST_HELD = 64
"""Frames held back at most: decoders reorder fewer, what has not come out by then will not."""


class Alarm(Exception):
    """A decoder did not do with a plan what it was sure to do; the message says what.

    Whoever meets it has the source decoded conservatively from then on.
    """


class _Shown:
    """Holds frames back until all pictures decoded before them have come out.

    Damage is reported with the picture that has it; what reads that picture may be shown earlier,
    and says nothing.

    Args:
        real: the pictures that are to come out, in decode order.
    """

    def __init__(self, real: list[int]) -> None:
        self._real = real
        self._place = {picture: place for place, picture in enumerate(real)}
        self._out = bytearray(len(real))
        self._known = 0  # so many have come out, all that were decoded first
        self._held: deque[tuple[int, av.VideoFrame]] = deque()

    def add(self, picture: int, frame: av.VideoFrame | None) -> None:
        """A picture came out, and is not damaged; None where nobody wants to see it."""
        place = self._place.get(picture)
        if place is None:
            return
        if frame is not None:
            self._held.append((picture, frame))
        self._out[place] = True
        while self._known < len(self._out) and self._out[self._known]:
            self._known += 1
        if len(self._held) > _MOST_HELD:
            raise Alarm(f"picture {self.missing} did not come out of the decoder")

    def take(self) -> Iterator[tuple[int, av.VideoFrame]]:
        """Those that are sound for sure by now, in the order shown."""
        while self._held and self._place[self._held[0][0]] < self._known:
            yield self._held.popleft()

    @property
    def missing(self) -> int | None:
        """The first picture in decode order that has not come out."""
        return self._real[self._known] if self._known < len(self._real) else None


class SparseDecoder:
    """One codec context that is fed plans, and is flushed between runs. Use from one thread.

    Args:
        source, index: the file and the index of this very version, which has a feed table.
        counters: counted up as work is done.
        stop: ends the work, with `Stopped`, when set.
        media: an open file that has been set up to be fed parts, which is taken over.
        packets: reads the packets; by default one by one where they lie.
    """

    def __init__(
        self,
        source: Source,
        index: SourceIndex,
        feed: FeedTable,
        counters: Counters,
        stop: threading.Event | None = None,
        media: Media | None = None,
        packets: PacketReader | None = None,
    ) -> None:
        self._source = source
        self._index = index
        self._feed = feed
        self._counters = counters
        self._stop = stop
        self._carriers = frozenset(feed.graph.carriers.tolist())
        self._packets = packets or PacketReader(source, index, counters, stop)
        self._media = media

    def run(self, run: Run, *, by_products: bool = False) -> Iterator[tuple[int, av.VideoFrame]]:
        """The targets of ``run`` as (decode index, frame), in the order shown.

        With ``by_products`` whatever else is reconstructed on the way and comes out, too.

        Nothing else can be asked of this decoder before all have been taken, or the iterator has
        been closed.

        Raises:
            Alarm: a picture came out damaged, or a target not at all.
            SourceNotFound, SourceChanged, SourceUnreadable, DecodeFailed: see
                `decoder.packets.PacketReader` and `decoder.media.Media`.
        """
        if self._media is None:
            began = time.perf_counter()
            self._media = Media(self._source, self._index.facts.stream, self._stop, sparse=True)
            self._counters.open_seconds += time.perf_counter() - began
            self._counters.opened += 1
        self._counters.state_only += run.state_only
        self._counters.dropped += run.dropped
        pictures = self._feed.graph.packet_pictures.data
        shown = _Shown(self._visible(run))
        clean = False
        try:
            for ordinal, frame in self._frames(run, by_products):
                shown.add(pictures[ordinal], frame)
                frame = None
                yield from shown.take()
            if shown.missing is not None:
                raise Alarm(f"picture {shown.missing} did not come out of the decoder")
            clean = True
        finally:
            # Dropped too where nobody wants the rest: what has gone in and not come out yet may be
            # damaged, and a decoder keeps traces of that (unused coefficients) beyond a flush.
            if clean and self._media is not None:
                self._media.context.flush_buffers()
            else:
                self._drop()

    def _visible(self, run: Run) -> list[int]:
        """The pictures that are reconstructed and come out, in decode order."""
        real = (p for item in run.items if item.feed is Feed.REAL for p in item.pictures)
        pictures = np.fromiter(dict.fromkeys(real), np.int64)
        hidden = self._feed.graph.traits[pictures] & HIDDEN
        visible: list[int] = pictures[hidden == 0].tolist()
        return visible

    def forget(self) -> None:
        """Has the next run decoded by a codec context that has decoded nothing before."""
        self._drop()

    def close(self) -> None:
        """Closes the file."""
        self._packets.close()
        self._drop()

    def _drop(self) -> None:
        if self._media is not None:
            self._media.close()
            self._media = None

    def _frames(self, run: Run, by_products: bool) -> Iterator[tuple[int, av.VideoFrame | None]]:
        """(ordinal of its packet, frame) of whatever comes out; None for one that is no target.

        A frame is let go before the next packet is decoded: its memory is taken for that picture
        then, and is still in the processor's caches.
        """
        helping = {item.packet for item in run.items if item.feed is not Feed.REAL}
        flags = self._index.packets.flags
        keys = {item.packet for item in run.items if flags[item.packet] & KEY} - helping
        graph = self._feed.graph
        wanted = {packet for picture in run.targets for packet in graph.packets_of(picture)}
        for ordinal, data in self._stream(run):
            packet = None
            if data is not None:
                packet = _packet(data)
                packet.pts = packet.dts = ordinal
                # Some decoders go by it (PNG adds pictures without it to the one before).
                packet.is_keyframe = ordinal in keys
            frames = self._decode(packet)
            while frames:
                frame = frames.pop(0)
                shown = frame.pts
                if shown is None or shown == _BEFORE:
                    continue
                # What a state-only picture or a bridge shows is nobody's picture, whole or not.
                if frame.is_corrupt and shown not in helping:
                    raise Alarm(f"the picture in packet {shown} came out damaged")
                if shown in wanted or (by_products and shown not in helping):
                    yield shown, frame
                else:
                    yield shown, None
                del frame

    def _decode(self, packet: av.Packet | None) -> list[av.VideoFrame]:  # type: ignore[type-arg]
        assert self._media is not None
        began = time.perf_counter()
        try:
            return self._media.context.decode(packet)
        except av.FFmpegError as error:
            raise Alarm(f"the decoder refused a packet of a plan: {error}") from error
        finally:
            self._counters.decode_seconds += time.perf_counter() - began

    def _stream(self, run: Run) -> Iterator[tuple[int, bytes | None]]:
        """(timestamp, bytes) of each packet to send, and (`_BEFORE`, None) for the end."""
        feed = self._feed
        known = feed.heads.place(run.items[0].packet - 1)
        head = feed.heads.at(known) + feed.prelude.get(0)
        if run.preamble:
            for data in feed.preamble(run.start):
                yield _BEFORE, head + data
                head = b""
        last = -1
        shared = len(feed.spans.keys) > 0
        for item in run.items:
            if self._stop is not None and self._stop.is_set():
                raise Stopped(f"{self._source.path}: not read, decoding is being shut down")
            packet = item.packet
            needed = feed.heads.place(packet - 1)
            if known != needed:
                head += feed.heads.at(needed)
                known = needed
            if item.feed is Feed.STATE_ONLY:
                data = feed.state_only.get(packet)
            else:
                data = self._packets.read(packet)
                if shared:
                    data = b"".join(feed.own(picture, data) for picture in item.pictures)
                if packet in self._carriers:
                    known = feed.heads.place(packet)
                self._counters.reconstructed += sum(k != last for k in item.pictures)
                last = item.pictures[-1]
            yield packet, head + data
            head = b""
        yield _BEFORE, None


def _packet(data: bytes) -> av.Packet:  # type: ignore[type-arg]
    """A packet that holds ``data``, and behind them the zeros that decoders may read into.

    One made of bytes directly refers to them where they are: what follows is anything.
    """
    packet = av.Packet(len(data))
    packet.update(data)
    return packet
