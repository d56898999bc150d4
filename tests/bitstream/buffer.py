"""FFmpeg's own view of its picture buffer, from its debug output."""

from __future__ import annotations

import re
from collections.abc import Iterable

import av
import av.logging

Buffer = tuple[tuple[str, int, int, int], ...]
"""("short" or "long", position, frame_num, picture order count) of each reference picture."""

_ENTRY = re.compile(r"(\d+) fn:(-?\d+) poc:(-?\d+) 0x")
_LISTS = {"short term list:": "short", "long term list:": "long"}


def buffers(extradata: bytes, packets: Iterable[bytes]) -> list[Buffer]:
    """The buffer that the decoder shows last while it takes in each packet."""
    level = av.logging.get_level()
    av.logging.set_level(av.logging.DEBUG)
    av.logging.set_skip_repeated(False)
    try:
        context = av.CodecContext.create("h264", "r")
        context.extradata = extradata or None
        context.thread_count = 1
        context.options = {"debug": "mmco"}
        result = []
        for packet in packets:
            with av.logging.Capture() as logs:
                context.decode(av.Packet(packet))
            result.append(_last_dump([message.strip() for _, _, message in logs]))
        return result
    finally:
        av.logging.set_level(level)


def _last_dump(lines: list[str]) -> Buffer:
    entries: list[tuple[str, int, int, int]] = []
    kind = ""
    for line in lines:
        if line in _LISTS:
            kind = _LISTS[line]
            if kind == "short":
                entries = []
        elif kind and (match := _ENTRY.match(line)):
            entries.append((kind, int(match[1]), int(match[2]), int(match[3])))
        else:
            kind = ""
    return tuple(entries)
