"""A coded picture between its first slice and the moment when all is known that planning needs."""

from __future__ import annotations


class CodedPicture:
    """One picture in decode order."""

    __slots__ = (
        "anchor", "configuration", "earliest", "index", "is_reference", "leads", "modulus",
        "packet", "picture_type", "poc", "rap", "references", "sequence", "spans", "start",
        "visible",
    )  # fmt: skip

    def __init__(self, index: int, packet: int, sequence: int, poc: int) -> None:
        self.index = index
        self.packet = packet
        self.sequence = sequence
        """Number of its coded video sequence."""
        self.poc = poc
        self.modulus = 0
        """MaxPicOrderCntLsb."""
        self.picture_type = "I"
        self.configuration = 0
        self.is_reference = True
        self.anchor = False
        """It may be prevTid0Pic (8.3.1)."""
        self.references: set[int] = set()
        self.earliest = index
        """The first picture in decode order that decoding it takes."""
        self.spans: tuple[tuple[int, int], ...] | None = None
        """What of its packet a decoder is to be given; None: all."""
        self.visible = True
        self.rap = False
        """Decoding may start with it; unsure of a CRA picture while pictures lead it."""
        self.start = False
        """Its own closure may start with it."""
        self.leads = False
        """It is a leading picture (RADL, RASL)."""
