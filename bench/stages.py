"""Where the time of one call goes: a profile, sorted into stages.

The profile is `cProfile`'s own time of each function. It sees PyAV's methods one by one, so that
what FFmpeg does is told apart from the Python around it. It makes Python itself look slower than it
is; the total of the same calls without it is measured beside it. All of it is time of the
processor, which other work on the machine does not lengthen as much as that of the clock.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

STAGES = ("read", "plan", "decode", "convert", "copy", "check", "other")
"""Getting packets, deciding which, FFmpeg's decoder, conversion to RGB, copying images,
hashes of images, and everything else."""

_BY_NAME = {
    "read": ("pread", "read", "readinto", "seek", "demux", "open", "stat", "close", "preadv"),
    "decode": ("decode", "flush_buffers"),
    "convert": ("to_ndarray", "reformat", "to_rgb"),
    "copy": (
        "stack",
        "concatenate",
        "ascontiguousarray",
        "array",
        "copy",
        "copyto",
        "tobytes",
        "_multiarray_umath.concatenate",
    ),
    "check": ("update", "intdigest", "xxh3_64_intdigest", "xxh3_64"),
}
"""Functions of libraries, by the last part of their names."""

_BY_MODULE = {
    "read": ("packets", "demuxer", "media", "corpus", "session", "feed"),
    "plan": ("plan", "closure", "graph", "walking", "index", "store", "heapq", "bisect"),
    "convert": ("pixels",),
    "decode": ("sparse", "checked"),
}
"""Modules of the decoder, for the time spent in their own Python."""

_BY_FUNCTION = {("media", "decode"): "decode", ("pixels", "hash"): "check"}


def stage_of(file: str, function: str) -> str:
    """The stage of a function as `pstats` names it: file ("~" for C code) and name."""
    if file == "~":
        bare = function.strip("<{}>").removesuffix(" objects").removeprefix("built-in method ")
        bare = bare.removeprefix("method ")
        name = bare.split(" of ")[0].strip("'").rpartition(".")[2]
        if name == "open" and "io.open" in bare:
            return "other"
        return _first(_BY_NAME, name)
    module = PurePath(file).stem
    known = _BY_FUNCTION.get((module, function))
    if known is not None:
        return known
    if "numpy" in file:
        return _first(_BY_NAME, function)
    if "decoder" in PurePath(file).parts:
        return _first(_BY_MODULE, module)
    return "other"


def _first(table: dict[str, tuple[str, ...]], name: str) -> str:
    return next((stage for stage, names in table.items() if name in names), "other")


def profile(call: Callable[[], object]) -> dict[str, Any]:
    """Calls once without the profiler and once with it; both calls should do the same.

    Returns:
        "ms" with and "plain_ms" without it, "stages" in ms, and "top": the ten functions with
        most time of their own, as (name, stage, ms, calls).
    """
    began = time.process_time()
    call()
    plain_ms = (time.process_time() - began) * 1e3
    profiler = cProfile.Profile(time.process_time)
    began = time.process_time()
    profiler.runcall(call)
    ms = (time.process_time() - began) * 1e3
    found = dict.fromkeys(STAGES, 0.0)
    rows: list[tuple[str, str, float, int]] = []
    entries: dict[tuple[str, int, str], tuple[int, int, float, float, Any]]
    entries = vars(pstats.Stats(profiler))["stats"]
    for (file, line, function), (_, calls, own, _, _) in entries.items():
        stage = stage_of(file, function)
        found[stage] += own * 1e3
        place = function if file == "~" else f"{PurePath(file).name}:{line} {function}"
        rows.append((place, stage, own * 1e3, calls))
    rows.sort(key=lambda row: -row[2])
    return {"ms": ms, "plain_ms": plain_ms, "stages": found, "top": rows[:10]}


def floor(path: str) -> dict[str, float]:
    """What the parts cost by themselves, in ms: a picture decoded, a frame converted and copied.

    The clip is decoded from start to end with PyAV on one thread and nothing else done. Converting
    and copying are the best of some tries, in memory that has been used before: memory fresh from
    the system can cost ten times the copy.
    """
    import av
    import numpy as np

    kept: list[av.VideoFrame] = []
    pictures = 0
    decode = 0.0
    with av.open(path) as container:
        context = container.streams.video[0].codec_context
        context.thread_count = 1
        for packet in container.demux(video=0):
            began = time.process_time()
            frames = context.decode(packet if packet.size else None)
            decode += time.process_time() - began
            pictures += bool(packet.size)
            if len(kept) < 10:
                kept += frames
    times = []
    for _ in range(6):
        began = time.process_time()
        images = [frame.to_ndarray(format="rgb24", threads=1) for frame in kept]
        converted = time.process_time()
        np.stack(images)
        times.append((converted - began, time.process_time() - converted))
    return {
        "decode": decode / pictures * 1e3,
        "convert": min(t[0] for t in times) / len(kept) * 1e3,
        "copy": min(t[1] for t in times) / len(kept) * 1e3,
    }
