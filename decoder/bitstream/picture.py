"""Coded pictures as every codec package describes them: the seam between syntax and planning."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class Picture(Struct, frozen=True):
    """One coded picture (a frame, or the two fields of one), in decode order.

    Pictures are numbered from 0 in the order in which they are emitted; that number is the decode
    index used in ``references``.
    """

    packets: tuple[int, ...]
    """Ordinals of the packets that carry it; two when each field has a packet of its own."""

    order: tuple[int, int]
    """Presentation order: number of the coded video sequence, then picture order count."""

    picture_type: str
    """I, P or B; of a picture with different slices the one that depends on most (B, P, I)."""

    is_reference: bool
    """Later pictures may read it."""

    is_rap: bool
    """Decoding may start here with nothing before it, and is exact from here on."""

    references: tuple[int, ...]
    """Decode indexes of the pictures whose samples or motion it may read, ascending."""

    state_only: tuple[bytes, ...] | None
    """Per packet, what to feed so that the decoder's picture buffer stays in step without
    reconstruction. None: feed it real, or (where ``droppable``) not at all."""

    droppable: bool
    """Leaving it out does not change the decoder's state for what follows."""

    preamble: tuple[bytes, ...] | None
    """Packets that rebuild the picture buffer as it is before this picture, so that decoding can
    start here although it is no RAP. Empty for a RAP; None where that is not possible."""

    unsafe: str | None
    """Why this picture, and whatever refers to it, cannot be planned from headers alone."""

    configuration: int
    """Pictures of the same number have the same size and sample format."""

    spans: tuple[tuple[int, int], ...] | None = None
    """(offset, size) of its own bytes in its one packet, which may hold other pictures; such a
    packet is fed as the spans of those that are needed. None: the whole packet is the picture's."""

    visible: bool = True
    """It comes out of a decoder that is fed it. At most one picture of a packet is visible."""

    segment: int = 0
    """Between pictures of different segments a decoder is flushed."""

    modulus: int = 0
    """A decoder knows the picture order count in ``order`` modulo this, and tells it from that of
    the last picture fed that ``anchors`` (H.265, 8.3.1: MaxPicOrderCntLsb). 0: it need not."""

    anchors: bool = False
    """The order of later pictures is told from its own (H.265, 8.3.1: prevTid0Pic)."""


class PacketFacts(Struct, frozen=True):
    """What a packet holds besides slices, as far as planning needs to know."""

    parameter_sets: bool
    """It holds parameter sets other than those in force before it."""

    recovery_point: int | None
    """recovery_frame_cnt of a recovery point message in it."""


class PictureParser(Protocol):
    """What a codec package makes of a stream, packet by packet, from headers alone."""

    fallback: str | None
    """Why the frames of the stream cannot be told from headers; None as long as they can."""

    packets: list[PacketFacts]
    """One for each packet fed."""

    @property
    def shown(self) -> list[int]:
        """Decode indexes in presentation order: what a decoder with default options shows."""

    @property
    def hidden(self) -> dict[int, str]:
        """Decode index -> reason, of the pictures that it decodes and does not show."""

    def feed(self, data: bytes, *, new_extradata: bytes | None = None) -> list[Picture]:
        """Takes the next packet; the pictures that are complete by now (the last one never is).

        Args:
            data: the packet.
            new_extradata: what takes the place of the extradata from this packet on.
        """

    def flush(self) -> list[Picture]:
        """The end of the stream: the pictures that are left."""

    def again(self) -> PictureParser | None:
        """A parser to feed everything once more where this one turned out to be set up wrongly."""

    def heads(self) -> list[tuple[int, bytes]]:
        """(ordinal, all parameter sets in force behind that packet), where they change.

        Framed as in the stream; ordinals ascend, from -1. What a decoder has not been told goes
        before the next packet it is fed.
        """

    @property
    def prelude(self) -> bytes:
        """What follows the parameter sets when decoding starts, framed as in the stream."""
