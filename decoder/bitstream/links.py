"""Streams of which nothing is known but where the container says that decoding may begin."""

from __future__ import annotations

from decoder.bitstream.structure import StructureParser


class LinkedPackets(StructureParser):
    """Every packet is taken for a picture that may need all since the key packet before it."""

    rule = (
        "nothing after a key packet is left out: its headers are not known, so every picture is "
        "taken to need the one before it"
    )

    def _packet(self, ordinal: int, data: bytes, key: bool) -> None:
        self._link(ordinal, start=key)


class IntraPackets(StructureParser):
    """Every packet is a picture of its own."""

    rule = "every picture is coded alone, and nothing but it is decoded"

    def _packet(self, ordinal: int, data: bytes, key: bool) -> None:
        self._link(ordinal, start=True)
