"""Readers that stand in for BitReader: one notes what it reads, one makes it up."""

from __future__ import annotations

from collections.abc import Callable

from decoder.bitstream.bits import UE_MAX, BitReader, BitWriter

Element = tuple[int, str, int]
"""Bit position, name, value."""


class TracingReader(BitReader):
    """Records every element that it gives."""

    __slots__ = ("elements",)

    def __init__(self, data: bytes, position: int = 0) -> None:
        super().__init__(data, position)
        self.elements: list[Element] = []

    def u(self, length: int, name: str) -> int:
        start = self.position
        value = super().u(length, name)
        if length:
            self.elements.append((start, name, value))
        return value

    def flag(self, name: str) -> int:
        return self.u(1, name)

    def ue(self, name: str, high: int = UE_MAX) -> int:
        start = self.position
        value = super().ue(name, high)
        self.elements.append((start, name, value))
        return value


class DrawingReader(BitReader):
    """Reads what ``choose`` says, and writes it down: a source of headers of every kind.

    Args:
        choose: value for an element, given its name and its greatest value.
    """

    __slots__ = ("choose", "written")

    def __init__(self, choose: Callable[[str, int], int]) -> None:
        super().__init__(b"")
        self.choose = choose
        self.written = BitWriter()

    def u(self, length: int, name: str) -> int:
        if not length:
            return 0
        value = self.choose(name, (1 << length) - 1)
        self.written.u(length, value)
        return value

    def flag(self, name: str) -> int:
        return self.u(1, name)

    def ue(self, name: str, high: int = UE_MAX) -> int:
        value = self.choose(name, high)
        self.written.ue(value)
        return value
