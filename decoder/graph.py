"""The reference graph of a source: arrays over its pictures, in decode order, for any codec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from decoder.bitstream.picture import PacketFacts, Picture

NO_PICTURE = -1

# bits of ReferenceGraph.traits
REFERENCE = 1
"""Later pictures may read it."""
RAP = 2
"""Decoding may start here."""
PREAMBLE = 4
"""Decoding may start here behind a preamble."""
REPLACEABLE = 8
"""There is a state-only form."""
DROPPABLE = 16
"""May be left out without a trace."""
HIDDEN = 32
"""Does not come out of a decoder."""
ANCHORS = 64
"""The picture order count of later pictures is told from its own."""


@dataclass(frozen=True, slots=True)
class ReferenceGraph:
    """Pictures, what they read and which packets carry them.

    ``references[offsets[i]:offsets[i + 1]]`` are the decode indexes picture i reads (all < i).
    ``packets[packet_offsets[i]:packet_offsets[i + 1]]`` are the ordinals of its packets.
    """

    offsets: npt.NDArray[np.int64]
    """[pictures + 1]."""
    references: npt.NDArray[np.int32]
    traits: npt.NDArray[np.uint8]
    """[pictures], bits as above."""
    packet_offsets: npt.NDArray[np.int64]
    """[pictures + 1]."""
    packets: npt.NDArray[np.int32]
    packet_pictures: npt.NDArray[np.int32]
    """[packets]: the picture that comes out of a packet, or NO_PICTURE."""
    carriers: npt.NDArray[np.int32]
    """Ordinals of the packets that hold new parameter sets, ascending."""
    segments: npt.NDArray[np.int32]
    """[pictures], ascending: between different ones a decoder is flushed."""
    counts: npt.NDArray[np.int32]
    """[pictures]: picture order count, where ``moduli`` is not 0."""
    moduli: npt.NDArray[np.int32]
    """[pictures]: what a decoder knows the picture order count modulo, or 0."""
    unsafe: dict[int, str] = field(default_factory=dict)
    """Decode index -> reason why it cannot be planned."""
    stateful: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    """[pictures + 1]: how many of the pictures before i are not droppable."""
    fixed: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    """[pictures + 1]: how many of the pictures before i can only be fed real."""
    starts: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """Pictures with RAP or PREAMBLE, ascending."""

    def __len__(self) -> int:
        return len(self.traits)

    def references_of(self, picture: int) -> list[int]:
        """Decode indexes that ``picture`` may read."""
        low, high = self.offsets[picture : picture + 2]
        indexes: list[int] = self.references[low:high].tolist()
        return indexes

    def packets_of(self, picture: int) -> list[int]:
        """Ordinals of the packets that carry ``picture``."""
        low, high = self.packet_offsets[picture : picture + 2]
        ordinals: list[int] = self.packets[low:high].tolist()
        return ordinals

    @classmethod
    def from_pictures(
        cls, pictures: Iterable[Picture], packets: Iterable[PacketFacts]
    ) -> ReferenceGraph:
        """The graph of ``pictures`` in decode order; ``packets`` are all of the stream."""
        offsets, packet_offsets = [0], [0]
        references: list[int] = []
        carried_by: list[int] = []
        traits: list[int] = []
        order: list[tuple[int, int, int]] = []
        unsafe: dict[int, str] = {}
        carriers = []
        ordinal = -1
        for ordinal, facts in enumerate(packets):
            if facts.parameter_sets:
                carriers.append(ordinal)
        packet_pictures = np.full(ordinal + 1, NO_PICTURE, np.int32)
        for index, picture in enumerate(pictures):
            references.extend(picture.references)
            offsets.append(len(references))
            carried_by.extend(picture.packets)
            packet_offsets.append(len(carried_by))
            if picture.visible:
                for packet in picture.packets:
                    packet_pictures[packet] = index
            traits.append(_traits(picture))
            count = picture.order[1] if picture.modulus else 0
            order.append((picture.segment, count, picture.modulus))
            if picture.unsafe is not None:
                unsafe[index] = picture.unsafe
        columns = np.ascontiguousarray(np.array(order, np.int32).reshape(-1, 3).T)
        segments, counts, moduli = columns
        return cls.from_arrays(
            np.asarray(offsets, np.int64),
            np.asarray(references, np.int32),
            np.asarray(traits, np.uint8),
            np.asarray(packet_offsets, np.int64),
            np.asarray(carried_by, np.int32),
            packet_pictures,
            np.asarray(carriers, np.int32),
            segments,
            counts,
            moduli,
            unsafe,
        )

    @classmethod
    def from_arrays(
        cls,
        offsets: npt.NDArray[np.int64],
        references: npt.NDArray[np.int32],
        traits: npt.NDArray[np.uint8],
        packet_offsets: npt.NDArray[np.int64],
        packets: npt.NDArray[np.int32],
        packet_pictures: npt.NDArray[np.int32],
        carriers: npt.NDArray[np.int32],
        segments: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int32],
        moduli: npt.NDArray[np.int32],
        unsafe: dict[int, str],
    ) -> ReferenceGraph:
        """The graph from stored arrays; what can be computed from them is."""
        stateful = np.zeros(len(traits) + 1, np.int64)
        np.cumsum((traits & DROPPABLE) == 0, out=stateful[1:])
        fixed = np.zeros(len(traits) + 1, np.int64)
        np.cumsum((traits & (DROPPABLE | REPLACEABLE)) == 0, out=fixed[1:])
        starts = np.flatnonzero(traits & (RAP | PREAMBLE)).astype(np.int32)
        return cls(
            offsets, references, traits, packet_offsets, packets, packet_pictures, carriers,
            segments, counts, moduli, unsafe, stateful, fixed, starts,
        )  # fmt: skip


def _traits(picture: Picture) -> int:
    traits = REFERENCE if picture.is_reference else 0
    if picture.is_rap:
        traits |= RAP
    elif picture.preamble is not None:
        traits |= PREAMBLE
    if picture.state_only is not None:
        traits |= REPLACEABLE
    if picture.droppable:
        traits |= DROPPABLE
    if not picture.visible:
        traits |= HIDDEN
    if picture.anchors:
        traits |= ANCHORS
    return traits
