"""What it takes to decode a source sparsely: its reference graph, and bytes to feed beside packets.

Pure, and made once, when the source is indexed from its headers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from decoder.bitstream.picture import PacketFacts, Picture
from decoder.graph import ReferenceGraph

_GRAPH_ARRAYS = (
    "offsets",
    "references",
    "traits",
    "packet_offsets",
    "packets",
    "packet_pictures",
    "carriers",
    "segments",
    "counts",
    "moduli",
)


class Ragged:
    """Byte strings by number, in three arrays. Frozen.

    Attributes:
        keys: int32 [n], ascending.
        offsets: int64 [n + 1]; string k is ``data[offsets[k]:offsets[k + 1]]``.
        data: uint8.
    """

    __slots__ = ("data", "keys", "offsets")

    def __init__(
        self, keys: NDArray[np.int32], offsets: NDArray[np.int64], data: NDArray[np.uint8]
    ) -> None:
        self.keys = keys
        self.offsets = offsets
        self.data = data

    @classmethod
    def of(cls, items: Iterable[tuple[int, bytes]]) -> Ragged:
        """From pairs whose numbers ascend."""
        pairs = list(items)
        offsets = np.zeros(len(pairs) + 1, np.int64)
        np.cumsum([len(string) for _, string in pairs], out=offsets[1:])
        return cls(
            np.array([key for key, _ in pairs], np.int32),
            offsets,
            np.frombuffer(b"".join(string for _, string in pairs), np.uint8),
        )

    def get(self, key: int) -> bytes:
        """The string of ``key``. Raises KeyError."""
        place = self.place(key)
        if place < 0 or self.keys[place] != key:
            raise KeyError(key)
        return self._at(place)

    def place(self, key: int) -> int:
        """The place of the greatest number up to ``key``; -1 where there is none."""
        # A memoryview is searched faster than an array.
        return bisect_right(self.keys.data, key) - 1

    def at(self, place: int) -> bytes:
        """The string in a place; empty for -1."""
        return self._at(place) if place >= 0 else b""

    def _at(self, place: int) -> bytes:
        return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()


_RAGGED = ("heads", "prelude", "state_only", "preambles", "spans")


@dataclass(frozen=True, slots=True, eq=False)
class FeedTable:
    """The graph of a source and the bytes that plans over it need.

    Attributes:
        graph: see `decoder.graph`.
        heads: by ordinal of a packet: the parameter sets in force behind it, where they change.
        prelude: by 0: what follows them where a run starts.
        state_only: by ordinal of a packet: what is fed in its place.
        preambles: by decode index of a picture: packets that rebuild the picture buffer as it is
            before it (MessagePack, a list of byte strings).
        spans: by decode index of a picture that shares its packet with others: where its bytes
            lie there (MessagePack, a list of offset and size).
    """

    graph: ReferenceGraph
    heads: Ragged
    prelude: Ragged
    state_only: Ragged
    preambles: Ragged
    spans: Ragged

    @classmethod
    def of(
        cls,
        pictures: Sequence[Picture],
        packets: Sequence[PacketFacts],
        heads: Iterable[tuple[int, bytes]],
        prelude: bytes,
    ) -> FeedTable:
        """From what a codec's parser makes of a stream, in decode order."""
        replacements = sorted(
            pair
            for picture in pictures
            if picture.state_only is not None
            for pair in zip(picture.packets, picture.state_only, strict=True)
        )
        return cls(
            ReferenceGraph.from_pictures(pictures, packets),
            Ragged.of(heads),
            Ragged.of([(0, prelude)]),
            Ragged.of(replacements),
            Ragged.of(
                (n, msgspec.msgpack.encode(picture.preamble))
                for n, picture in enumerate(pictures)
                if picture.preamble
            ),
            Ragged.of(
                (n, msgspec.msgpack.encode(picture.spans))
                for n, picture in enumerate(pictures)
                if picture.spans is not None
            ),
        )

    def preamble(self, picture: int) -> list[bytes]:
        """Packets to feed before decoding starts at ``picture``; empty at a random access point."""
        try:
            return msgspec.msgpack.decode(self.preambles.get(picture), type=list[bytes])
        except KeyError:
            return []

    def own(self, picture: int, packet: bytes) -> bytes:
        """What of the bytes of its packet is the picture's."""
        try:
            spans = msgspec.msgpack.decode(self.spans.get(picture), type=list[tuple[int, int]])
        except KeyError:
            return packet
        return b"".join(packet[offset : offset + size] for offset, size in spans)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the reasons in `graph.unsafe`, by name; `from_arrays` undoes it."""
        found: dict[str, NDArray[Any]] = {n: getattr(self.graph, n) for n in _GRAPH_ARRAYS}
        for name in _RAGGED:
            ragged: Ragged = getattr(self, name)
            found |= {f"{name}.{part}": getattr(ragged, part) for part in Ragged.__slots__}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], unsafe: dict[int, str]) -> FeedTable:
        """What `arrays` gave, and the reasons. Raises KeyError where an array is missing."""
        graph_arrays = {name: arrays[name] for name in _GRAPH_ARRAYS}
        graph = ReferenceGraph.from_arrays(**graph_arrays, unsafe=unsafe)
        ragged = {
            name: Ragged(arrays[f"{name}.keys"], arrays[f"{name}.offsets"], arrays[f"{name}.data"])
            for name in _RAGGED
        }
        return cls(graph, **ragged)
