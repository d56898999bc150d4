"""The bytes of single packets, read where they lie in the file, or through the demuxer."""

from __future__ import annotations

import os
import threading
import time

import numpy as np

from decoder.corpus import Source, fingerprint_of
from decoder.counters import Counters
from decoder.demuxer import Demuxer
from decoder.errors import DecodeFailed, SourceChanged, SourceNotFound
from decoder.index import DIRECT, SourceIndex
from decoder.media import check_unchanged

_NEAR = 256
"""Packets that are read past rather than sought past."""

_BLOCK = 32 << 20
"""Bytes of packets that are demuxed in one go where a stream is read backwards."""


class PacketReader:
    """Reads packets of one source by ordinal. Use from one thread at a time.

    Where the index saw at scan time that a packet lies at its position in one piece it is read from
    there; elsewhere (MPEG-TS, headers that a container strips) it comes from the demuxer.

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
        self._source = source
        self._counters = counters
        table = index.packets
        # Single numbers come out of a memoryview faster than out of an array.
        self._position = (table.position + table.offset).data
        self._size = np.ascontiguousarray(table.size).data
        self._direct = ((table.flags & DIRECT) != 0).data
        self._demuxer = Demuxer(source, index, counters, stop)
        self._file = -1

    def read(self, ordinal: int) -> bytes:
        """The packet as the demuxer delivers it.

        Raises:
            SourceNotFound, SourceChanged: the file is not there in this version any more.
            DecodeFailed: the packet is not the one that was indexed.
        """
        began = time.perf_counter()
        data = self._direct_bytes(ordinal) if self._direct[ordinal] else self._demuxed(ordinal)
        self._counters.bytes_read += len(data)
        self._counters.read_seconds += time.perf_counter() - began
        return data

    def _direct_bytes(self, ordinal: int) -> bytes:
        size = self._size[ordinal]
        if self._file < 0:
            self._open()
        data = os.pread(self._file, size, self._position[ordinal])
        if len(data) != size:
            check_unchanged(self._source)
            raise DecodeFailed(
                f"{self._source.path}: packet {ordinal} cannot be read; check the disk"
            )
        return data

    def close(self) -> None:
        """Closes the file."""
        self._demuxer.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        path = self._source.path
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SourceNotFound(f"{path}: {error.strerror}") from error
        self._counters.opened += 1
        if fingerprint_of(os.fstat(self._file)) != self._source.fingerprint:
            self.close()
            raise SourceChanged(f"{path}: the file was changed while it was in use; read it again")

    def _demuxed(self, ordinal: int) -> bytes:
        demuxer = self._demuxer
        try:
            return self._from(demuxer, ordinal)
        except DecodeFailed:
            if not demuxer.distrust_seeks():
                raise
            demuxer.close()
            return self._from(demuxer, ordinal)

    @staticmethod
    def _from(demuxer: Demuxer, ordinal: int) -> bytes:
        if demuxer.media is None or not 0 <= ordinal - demuxer.position <= _NEAR:
            demuxer.start(ordinal)
        while demuxer.position < ordinal:
            demuxer.take()
        return bytes(demuxer.take())


class BackwardReader(PacketReader):
    """The same for who reads a stream stretch by stretch, the last one first.

    What comes from the demuxer is read forward in blocks, and the last two blocks are kept.
    """

    def __init__(
        self,
        source: Source,
        index: SourceIndex,
        counters: Counters,
        stop: threading.Event | None = None,
    ) -> None:
        super().__init__(source, index, counters, stop)
        self._blocks = (np.cumsum(self._size, dtype=np.int64) - 1) // _BLOCK
        self._kept: dict[int, dict[int, bytes]] = {}

    def _demuxed(self, ordinal: int) -> bytes:
        block = int(self._blocks[ordinal])
        if block not in self._kept:
            first, end = np.searchsorted(self._blocks, (block, block + 1)).tolist()
            read = {n: super(BackwardReader, self)._demuxed(n) for n in range(first, end)}
            for old in list(self._kept)[:-1]:
                del self._kept[old]
            self._kept[block] = read
        return self._kept[block][ordinal]
