"""What FFmpeg's trace_headers filter reads in the packets of a file, element by element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import av
import av.logging
from av.bitstream import BitStreamFilterContext

_LINE = re.compile(r"(\d+) +(\S+) +[01<>.]* *= (-?\d+)")


def traced(path: Path) -> Iterator[tuple[bytes, list[tuple[str, int]]]]:
    """(packet, elements as name and value in the order read) for the first video stream."""
    av.logging.set_skip_repeated(False)
    before = av.logging.get_level()
    av.logging.set_level(av.logging.INFO)
    try:
        with av.open(path, metadata_errors="ignore") as container:
            stream = container.streams.video[0]
            bsf = BitStreamFilterContext("trace_headers", stream)
            for packet in container.demux(stream):
                if not packet.size:
                    continue
                data = bytes(packet)
                with av.logging.Capture() as logs:
                    bsf.filter(packet)
                lines = (_LINE.match(message) for _, _, message in logs)
                yield data, [(line[2], int(line[3])) for line in lines if line is not None]
    finally:
        av.logging.set_level(before)


def values(elements: list[tuple[str, int]], name: str) -> list[int]:
    """All values of an element, in the order read."""
    return [value for element, value in elements if element.split("[")[0] == name]
