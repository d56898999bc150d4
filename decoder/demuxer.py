"""Packets of one source by ordinal, through the demuxer."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from decoder.corpus import Source
from decoder.counters import Counters
from decoder.errors import DecodeFailed
from decoder.index import KEY, NO_TIMESTAMP, SourceIndex
from decoder.media import Media, VideoPacket, check_unchanged
from decoder.scan import packet_identity


class Demuxer:
    """The packets of a source from any place on.

    What FFmpeg delivers is compared with the index packet by packet, so that a container seek is
    never trusted. Use from one thread at a time.

    Args:
        source, index: the file and the index of this very version.
        counters: counted up as work is done.
        stop: ends the work, with `Stopped`, when set.

    Attributes:
        position: ordinal of the packet that `take` returns next.
    """

    def __init__(
        self,
        source: Source,
        index: SourceIndex,
        counters: Counters,
        stop: threading.Event | None = None,
    ) -> None:
        self._source = source
        self._index = index
        self._counters = counters
        self._stop = stop
        self.media: Media | None = None
        self._packets: Iterator[VideoPacket] = iter(())
        self._held: VideoPacket | None = None
        self._sought = False
        self._seekable = True
        self.position = 0

    def start(self, ordinal: int) -> None:
        """Makes ``ordinal`` the next packet. At 0 the file is opened anew.

        Raises:
            SourceNotFound, SourceChanged, SourceUnreadable: as `decoder.media.Media`.
            DecodeFailed: the packets of the file are not those of the index.
        """
        if ordinal == 0 or self.media is None or not self._seek(self.media, ordinal):
            self._reopen()
        try:
            self._skip_to(ordinal)
        except DecodeFailed:
            if not self.distrust_seeks():
                raise
            self._reopen()
            self._skip_to(ordinal)

    def distrust_seeks(self) -> bool:
        """After `DecodeFailed`: whether a container seek may be to blame; none is made again.

        A seek can land on a packet of the index and still lead astray: some demuxers make up
        timestamps from what they have seen.
        """
        blamed = self._sought
        if blamed:
            self._seekable = False
        return blamed

    def _skip_to(self, ordinal: int) -> None:
        while self.position < ordinal:
            self.take()

    def close(self) -> None:
        """Closes the file."""
        self._packets = iter(())
        self._held = None
        if self.media is not None:
            self.media.close()
            self.media = None

    def _reopen(self) -> None:
        self.close()
        self.media = Media(self._source, self._index.facts.stream, self._stop)
        self._packets = self.media.packets()
        self._counters.opened += 1
        self._sought = False
        self.position = 0

    def take(self) -> VideoPacket:
        """The packet at `position`, which goes on by one. Raises DecodeFailed as `start`."""
        packet = self._held or next(self._packets, None)
        self._held = None
        if packet is None or packet_identity(packet) != self._row(self.position):
            check_unchanged(self._source)
            raise DecodeFailed(
                f"{self._source.path}: packet {self.position} read from the file is not the one "
                "that was indexed; delete the index of this file, or check the disk"
            )
        self.position += 1
        return packet

    def _seek(self, media: Media, ordinal: int) -> bool:
        """Moves the demuxer to ``ordinal`` or before it; False where that cannot be had."""
        if self._held is None and self.position == ordinal:
            return True
        if not self._seekable:
            return False
        for timestamp in self._aims(ordinal):
            self._counters.seeks += 1
            self._held = None
            self._sought = True
            if not media.seek(timestamp):
                return False
            self._packets = media.packets()
            packet = next(self._packets, None)
            landed = None if packet is None else self._locate(packet)
            if landed is not None and landed <= ordinal:
                self._held = packet
                self.position = landed
                return True
        return False

    def _aims(self, ordinal: int) -> Iterator[int]:
        """Timestamps worth seeking to: of the packet itself, then of two key packets before it."""
        packets = self._index.packets
        keys = np.flatnonzero(packets.flags[:ordinal] & KEY)
        for aim in (ordinal, *keys[-2:][::-1]):
            stamps = [int(packets.dts[aim]), int(packets.pts[aim])]
            known = [stamp for stamp in stamps if stamp != NO_TIMESTAMP]
            if known:
                yield min(known)

    def _locate(self, packet: VideoPacket) -> int | None:
        """The ordinal of a packet, where it is like no other packet of the index."""
        pts, dts, position, size = packet_identity(packet)
        table = self._index.packets
        same = np.flatnonzero(
            (table.pts == pts)
            & (table.dts == dts)
            & (table.position == position)
            & (table.size == size)
        )
        return int(same[0]) if len(same) == 1 else None

    def _row(self, ordinal: int) -> tuple[int, int, int, int] | None:
        table = self._index.packets
        if ordinal >= len(table):
            return None
        return (
            int(table.pts[ordinal]),
            int(table.dts[ordinal]),
            int(table.position[ordinal]),
            int(table.size[ordinal]),
        )
