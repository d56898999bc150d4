"""What the fuzzers of all codecs share: targets and seeds, disturbed streams, checks of parsers.

A fuzzer names its targets (functions of bytes) and yields seeds for them:

    FUZZER = Fuzzer({"unit": unit, "stream": stream}, seeds)
    if __name__ == "__main__":
        FUZZER.main()
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

with atheris.instrument_imports(include=["decoder"]):
    from decoder.bitstream.picture import PictureParser
    from decoder.bitstream.structure import StructureParser
    from decoder.errors import InvalidSyntax
    from decoder.feed import FeedTable
    from decoder.plan import plan, walk

SEPARATOR = b"\xde\xad\xbe\xef"
"""Between the packets or units of one input."""

DISTURBANCE = bytes(range(30))
"""A seed for `disturbed`."""

_LIMITS = ["-timeout=5", "-rss_limit_mb=1024", "-max_len=4096"]
_LARGE = 4096
_CHANGES = 20

Target: TypeAlias = Callable[[bytes], None]


@dataclass
class Fuzzer:
    """Targets by name, and (name of the target, bytes) to start from.

    The first byte of an input chooses the target that reads the rest. On the command line
    ``--only a,b`` leaves the others out; everything else goes to libFuzzer.
    """

    targets: dict[str, Target]
    seeds: Callable[[], Iterator[tuple[str, bytes]]]

    def main(self) -> None:
        """Hands over to libFuzzer; without a folder in the arguments it starts from the seeds."""
        arguments = list(sys.argv)
        if "--only" in arguments:
            place = arguments.index("--only")
            self.targets = {name: self.targets[name] for name in arguments[place + 1].split(",")}
            del arguments[place : place + 2]
        with tempfile.TemporaryDirectory() as folder:
            self.write_seeds(Path(folder))
            if all(argument.startswith("-") for argument in arguments[1:]):
                arguments.append(folder)
            atheris.Setup(arguments + _LIMITS, self.one_input)
            atheris.Fuzz()

    def one_input(self, data: bytes) -> None:
        """What libFuzzer calls."""
        if data:
            targets = list(self.targets.values())
            targets[data[0] % len(targets)](data[1:])

    def write_seeds(self, folder: Path) -> None:
        """A file for each seed of the chosen targets."""
        names = list(self.targets)
        for number, (name, data) in enumerate(self.seeds()):
            if name in names:
                (folder / f"{number}_{name}").write_bytes(bytes((names.index(name),)) + data)


def disturbed(streams: Sequence[Sequence[bytes]], data: bytes) -> list[bytes]:
    """The packets of a stream that the first byte chooses, changed three bytes at a time.

    (packet, action, operand): bytes of the head of a packet changed, packets left out, doubled,
    exchanged, joined, cut short.
    """
    packets = list(streams[data[0] % len(streams)]) if data else []
    for place in range(1, min(len(data) - 2, 3 * _CHANGES), 3):
        which, action, operand = data[place : place + 3]
        which %= len(packets)
        other = operand % len(packets)
        packet = packets[which]
        if action < 128:
            at = min(action, len(packet) - 1)
            packets[which] = packet[:at] + bytes((operand,)) + packet[at + 1 :]
        elif action < 154 and len(packets) > 1:
            del packets[which]
        elif action < 180:
            packets.insert(other, packet)
        elif action < 206:
            packets[which], packets[other] = packets[other], packet
        elif action < 230 and len(packet) < _LARGE:
            packets[which] = packet + packets[other]
        else:
            packets[which] = packet[: operand % (len(packet) + 1)]
    return packets


def check_message(error: InvalidSyntax) -> None:
    """It begins with the name of an element."""
    element = str(error).split(":")[0].split(" is ")[0]
    assert element.isidentifier(), error


def run(parser: PictureParser, packets: Sequence[bytes]) -> PictureParser:
    """Feeds packets, and plans for what the parser says of them; it as it is in the end."""
    while True:
        pictures = [picture for packet in packets for picture in parser.feed(packet)]
        pictures += parser.flush()
        again = parser.again()
        if again is None:
            break
        parser = again
    assert len(parser.packets) == len(packets)
    for index, picture in enumerate(pictures):
        assert all(-1 <= reference < index for reference in picture.references)
        size = len(packets[picture.packets[0]])
        for start, length in picture.spans or ():
            assert start >= 0 < length <= size - start
    if parser.fallback is not None:
        return parser
    assert sorted([*parser.shown, *parser.hidden]) == list(range(len(pictures)))
    feed = FeedTable.of(pictures, parser.packets, parser.heads(), parser.prelude)
    shown = parser.shown
    for target in {*shown[:1], *shown[len(shown) // 2 :][:1], *shown[-1:]}:
        plan(feed.graph, [target]).explain()
        walk(feed.graph, target)
    return parser


def run_structure(parser: StructureParser, packets: Sequence[bytes]) -> None:
    """Feeds packets to a parser of structure, every third one as a key packet."""
    for number, packet in enumerate(packets):
        parser.feed(packet, key=number % 3 == 0)
    parser.finish()
    assert len(parser.packets) == len(packets)
    for index, picture in enumerate(parser.pictures):
        assert all(0 <= reference < index for reference in picture.references)
        assert all(0 <= packet < len(packets) for packet in picture.packets)
    ordinals = [ordinal for ordinal, _ in parser.heads()]
    assert ordinals == sorted(set(ordinals))
