"""The structure of streams whose frames a decoder has to tell: which pictures there are, in short.

A parser says what headers tell of each picture: where decoding may begin, what it refers to, what
can be left out. None of that is believed before it is proven on the very stream
(`decoder.proof`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from decoder.bitstream.picture import PacketFacts
from decoder.errors import InvalidSyntax


@dataclass(slots=True)
class Coded:
    """One coded picture, in decode order; its place there is its decode index."""

    packets: tuple[int, ...]
    """Ordinals of the packets that carry it; two where each field has one of its own."""

    references: tuple[int, ...]
    """Decode indexes of the pictures that it may read, ascending."""

    start: bool
    """Decoding may begin with it, as far as headers or the container know."""

    droppable: bool
    """Leaving it out changes nothing of other pictures."""


class StructureParser(ABC):
    """Takes packets in decode order, and finds the pictures in them.

    Attributes:
        rule: what is left out of decoding, and why not more, in words.
        pictures: those found so far.
        fallback: why the stream has no structure that could be used; None as long as it has one.
    """

    rule: str

    def __init__(self) -> None:
        self.pictures: list[Coded] = []
        self.packets: list[PacketFacts] = []
        self.fallback: str | None = None
        self._headers: list[tuple[int, bytes]] = []
        self._bare = False  # a picture that decoding may begin with brings no headers

    def feed(self, data: bytes, *, key: bool) -> None:
        """Takes the next packet; ``key``: the container says that decoding may begin with it."""
        ordinal = len(self.packets)
        headers = None
        try:
            headers = self._packet(ordinal, data, key)
        except InvalidSyntax as problem:
            self._give_up(f"packet {ordinal}: {problem}")
        if headers:
            self._headers.append((ordinal, headers))
        elif self.pictures and self.pictures[-1].start and self.pictures[-1].packets[0] == ordinal:
            self._bare = True
        self.packets.append(PacketFacts(headers is not None, None))

    def finish(self) -> None:  # noqa: B027, where there is nothing to do at the end
        """The end of the stream."""

    def heads(self) -> list[tuple[int, bytes]]:
        """(ordinal, headers in force behind that packet), where they change.

        Empty where they come with every picture that decoding may begin with.
        """
        return self._headers if self._bare else []

    @abstractmethod
    def _packet(self, ordinal: int, data: bytes, key: bool) -> bytes | None:
        """Appends to `pictures` what is in a packet; the headers in it that hold for later ones.

        Raises InvalidSyntax.
        """

    def _give_up(self, reason: str) -> None:
        self.fallback = self.fallback or reason

    def _link(self, ordinal: int, *, start: bool, droppable: bool = False) -> None:
        """Appends a picture that refers to the last one that cannot be left out, unless it starts.

        So does all that may depend on what a decoder keeps from picture to picture.
        """
        last = last_kept(self.pictures, len(self.pictures))
        references = () if start or last is None else (last,)
        self.pictures.append(Coded((ordinal,), references, start, droppable))


def last_kept(pictures: list[Coded], before: int) -> int | None:
    """The last picture before ``before`` that cannot be left out; None where there is none."""
    return next((k for k in range(before - 1, -1, -1) if not pictures[k].droppable), None)


def places(data: bytes, code: bytes, end: int | None = None) -> Iterator[int]:
    """Where ``code`` begins in ``data`` before ``end``, ascending."""
    place = data.find(code, 0, end)
    while place >= 0:
        yield place
        place = data.find(code, place + len(code), end)
