"""Reading and writing syntax elements bit by bit (ITU-T H.264, 7.2 and 9.1; AV1, 4.10).

The reader works on one Python integer made of the whole input, so that an element costs a shift and
a mask. Every element is read under its name; an input that ends too early or holds a value out of
range raises InvalidSyntax with that name.
"""

from __future__ import annotations

from decoder.errors import InvalidSyntax, Truncated

UE_MAX = (1 << 32) - 2
SE_MAX = (1 << 31) - 1

# Zero bits kept behind the input, so that a window never has to be cut at its end.
_PADDING = 64


def truncated(name: str) -> Truncated:
    """The error for an input that ends before or inside the element ``name``."""
    return Truncated(f"{name}: the data ends inside or before this element")


def out_of_range(name: str, value: int, low: int, high: int) -> InvalidSyntax:
    """The error for an element whose value is not in ``low`` to ``high``."""
    return InvalidSyntax(f"{name} is {value}, allowed is {low} to {high}")


class BitReader:
    """Reads syntax elements from ``data``, which has no emulation prevention any more."""

    __slots__ = ("_bits", "_end", "position", "size")

    def __init__(self, data: bytes, position: int = 0, size: int | None = None) -> None:
        """Starts ``position`` bits into ``data``, of which ``size`` bits count (None: all)."""
        self._end = 8 * len(data) + _PADDING
        self._bits = int.from_bytes(data, "big") << _PADDING
        self.position = position
        self.size = 8 * len(data) if size is None else size

    def u(self, length: int, name: str) -> int:
        """u(n): ``length`` bits as an unsigned number; a length of 0 gives 0."""
        start = self.position
        stop = start + length
        if stop > self.size:
            raise truncated(name)
        self.position = stop
        return (self._bits >> (self._end - stop)) & ((1 << length) - 1)

    def flag(self, name: str) -> int:
        """u(1)."""
        start = self.position
        if start >= self.size:
            raise truncated(name)
        self.position = start + 1
        return (self._bits >> (self._end - start - 1)) & 1

    def ue(self, name: str, high: int = UE_MAX) -> int:
        """ue(v): unsigned Exp-Golomb code, at most ``high``."""
        start = self.position
        window = (self._bits >> (self._end - start - 33)) & 0x1_FFFF_FFFF
        zeros = 33 - window.bit_length()
        stop = start + 2 * zeros + 1
        if stop > self.size:
            raise truncated(name)
        if zeros > 16:
            if zeros > 32:
                raise InvalidSyntax(f"{name}: an Exp-Golomb code of more than 32 leading zero bits")
            value = ((self._bits >> (self._end - stop)) & ((2 << zeros) - 1)) - 1
        else:
            value = (window >> (32 - 2 * zeros)) - 1
        if value > high:
            raise out_of_range(name, value, 0, high)
        self.position = stop
        return value

    def se(self, name: str, low: int = -SE_MAX, high: int = SE_MAX) -> int:
        """se(v): signed Exp-Golomb code in ``low`` to ``high`` (9.1.1)."""
        start = self.position
        window = (self._bits >> (self._end - start - 33)) & 0x1_FFFF_FFFF
        zeros = 33 - window.bit_length()
        if zeros > 16 or start + 2 * zeros + 1 > self.size:
            code = self.ue(name) + 1
        else:
            code = window >> (32 - 2 * zeros)
            self.position = start + 2 * zeros + 1
        value = -(code >> 1) if code & 1 else code >> 1
        if not low <= value <= high:
            raise out_of_range(name, value, low, high)
        return value

    def more_rbsp_data(self) -> bool:
        """more_rbsp_data(): whether anything but rbsp_trailing_bits is left (7.2)."""
        rest = (self._bits >> (self._end - self.size)) & ((1 << (self.size - self.position)) - 1)
        return rest & (rest - 1) != 0  # the last one bit is the stop bit


class BitWriter:
    """Writes what BitReader reads."""

    __slots__ = ("_bits", "size")

    def __init__(self) -> None:
        self._bits = 0
        self.size = 0

    def u(self, length: int, value: int) -> None:
        """u(n): ValueError when ``value`` does not fit ``length`` bits."""
        if not 0 <= value < 1 << length:
            raise ValueError(f"{value} does not fit {length} bits")
        self._bits = self._bits << length | value
        self.size += length

    def flag(self, value: int) -> None:
        """u(1)."""
        self.u(1, int(value))

    def ue(self, value: int) -> None:
        """ue(v) (9.1)."""
        if not 0 <= value <= UE_MAX:
            raise ValueError(f"{value} has no ue(v) code")
        code = value + 1
        self.u(2 * code.bit_length() - 1, code)

    def se(self, value: int) -> None:
        """se(v) (9.1.1)."""
        self.ue(2 * value - 1 if value > 0 else -2 * value)

    def trailing_bits(self) -> None:
        """rbsp_trailing_bits (7.3.2.11): a one, then zeros to the next byte."""
        self.u(1, 1)
        self.u(-self.size % 8, 0)

    def to_bytes(self) -> bytes:
        """Everything written; zeros fill the last byte."""
        padding = -self.size % 8
        return (self._bits << padding).to_bytes((self.size + padding) // 8, "big")
