"""A live decode of one source: positioned at a packet, then fed packet after packet."""

from __future__ import annotations

import threading
import time

import av

from decoder.corpus import Source
from decoder.counters import Counters
from decoder.demuxer import Demuxer
from decoder.index import SourceIndex
from decoder.media import decode


class Session:
    """Demuxer and decoder of one source at one place in it, with default options.

    One codec context, one thread; use from one thread at a time.

    Args:
        source, index, counters, stop: see `decoder.demuxer.Demuxer`.
    """

    def __init__(
        self,
        source: Source,
        index: SourceIndex,
        counters: Counters,
        stop: threading.Event | None = None,
    ) -> None:
        self._count = len(index.packets)
        self._counters = counters
        self._demuxer = Demuxer(source, index, counters, stop)
        self.ended = True

    @property
    def position(self) -> int:
        """Ordinal of the packet that is decoded next."""
        return self._demuxer.position

    def start(self, ordinal: int) -> None:
        """Makes ``ordinal`` the next packet to be decoded, in a decoder that knows nothing.

        At 0 the file is opened anew: the state of a first full decode, which is the definition of
        what is exact. Elsewhere the codec context is flushed. Raises as `Demuxer.start`.
        """
        began = time.perf_counter()
        self._demuxer.start(ordinal)
        self._counters.open_seconds += time.perf_counter() - began
        self.ended = False
        if ordinal and self._demuxer.media is not None:
            self._demuxer.media.context.flush_buffers()

    def distrust_seeks(self) -> bool:
        """See `Demuxer.distrust_seeks`."""
        return self._demuxer.distrust_seeks()

    def feed(self) -> list[av.VideoFrame]:
        """Decodes one more packet, or drains the decoder after the last one (`ended` is then set).

        Returns:
            The frames that came out, their pts being ordinals of packets.

        Raises:
            DecodeFailed: the packet is not the one of the index.
        """
        began = time.perf_counter()
        ordinal = self.position
        packet = None
        if ordinal == self._count:
            self.ended = True
        else:
            packet = self._demuxer.take()
            self._counters.read_seconds += time.perf_counter() - began
            packet.pts = packet.dts = ordinal
            self._counters.reconstructed += 1
            self._counters.bytes_read += packet.size
        assert self._demuxer.media is not None
        began = time.perf_counter()
        frames = decode(self._demuxer.media, packet)
        self._counters.decode_seconds += time.perf_counter() - began
        return frames

    def close(self) -> None:
        """Closes the file."""
        self._demuxer.close()
        self.ended = True
