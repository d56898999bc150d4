"""Where the time of one read goes, from a program's ``open`` to its last byte.

What the filesystem does is told by its own statistics, and what is left is the kernel's. Two parts
are measured by themselves, because they are too short to be timed one by one: the way from C into
Python, and the copying of a file's bytes.
"""

from __future__ import annotations

import ctypes
import io
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

from bench.mount import filesystems
from bench.mount.corpora import Corpus
from bench.mount.data import DATA, Opened, copy_files, opened
from bench.mount.patterns import windows

_NAMES = {"wait": "wait for the decoder", "convert": "colour", "format": "format"}
"""Stages that follow each other in the thread that answers the kernel."""

_MEANWHILE = {"open": "open file and decoder", "plan": "plan", "read": "pread", "decode": "decode"}
"""Stages in a thread of the decoder, while the other one waits; and a little longer."""

_STAGES = (*_NAMES, *_MEANWHILE)
_SUBJECTS = ("native-png", "ddra-png", "memory")
_WAITED = ("getattr", "open", "read")
"""Requests for whose answers the reader waits."""

_CALM = 4
"""One read in so many counts: those that spent least time on anything but waiting. Whatever else
the machine does makes some of the others much longer."""

_TRIES = 200


@dataclass(frozen=True, slots=True)
class Parts:
    """What one read took, in microseconds.

    Attributes:
        whole: for the program that reads.
        rows: its parts by name; they add up to ``whole``.
        meanwhile: what is done by other threads while it waits.
        beside: what the filesystem does when the reader has gone on.
        requests: of the kernel to read, a read; of all reads.
        loading: for the program, to make an array of the bytes.
    """

    whole: float
    rows: dict[str, float]
    meanwhile: dict[str, float]
    beside: float
    requests: float
    loading: float


@dataclass(frozen=True, slots=True)
class _Read:
    whole: float
    loading: float
    size: int
    spent: dict[str, float]


def show(
    console: Console,
    corpus: Corpus,
    scratch: Path,
    number: int,
    seed: str,
    options: Sequence[str],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Measures single frames at random places, read cold and once more; prints a table.

    Returns:
        The figures, for ``--json``.
    """
    chosen = windows("single", corpus.frame_counts, number=number, seed=seed)
    frames = [(window.clip, window.frames[0]) for window in chosen]
    needed: dict[str, set[int]] = {}
    for clip, n in frames:
        needed.setdefault(clip, set()).add(n)
    copy_files(corpus, needed, scratch, options)
    columns: dict[str, Parts] = {}
    for name in _SUBJECTS:
        say(f"reading {name}")
        with opened(DATA[name], corpus, scratch, rate=None, options=options) as mount:
            if DATA[name].server == "framefs":
                for clip in corpus.frame_counts:
                    os.stat(mount.file(clip, 0))
            files = [mount.file(clip, n) for clip, n in frames]
            for epoch in ("cold", "cached"):
                columns[f"{name}, {epoch}"] = _parts(mount, files, cold=epoch == "cold")
    table = Table(f"us a read, of {len(frames)}", *columns)
    for column in table.columns[1:]:
        column.justify = "right"
    first = next(iter(columns.values()))
    for row in first.rows:
        shown = [parts.rows.get(row) for parts in columns.values()]
        table.add_row(row, *("" if value is None else f"{value:.0f}" for value in shown))
    table.add_section()
    for row in first.meanwhile:
        shown = [parts.meanwhile.get(row) for parts in columns.values()]
        table.add_row(
            f"meanwhile: {row}", *("" if value is None else f"{value:.0f}" for value in shown)
        )
    table.add_section()
    below: tuple[tuple[str, Callable[[Parts], str]], ...] = (
        ("all of it", lambda parts: f"{parts.whole:.0f}"),
        ("release, when the reader has gone on", lambda parts: f"{parts.beside:.0f}"),
        ("then Pillow, in the loader", lambda parts: f"{parts.loading:.0f}"),
        ("requests to read", lambda parts: f"{parts.requests:.2f}"),
    )
    for words, of in below:
        table.add_row(words, *map(of, columns.values()))
    console.print(table)
    return {
        name: {
            "whole": parts.whole,
            "rows": parts.rows,
            "meanwhile": parts.meanwhile,
            "beside": parts.beside,
            "requests": parts.requests,
            "loading": parts.loading,
        }
        for name, parts in columns.items()
    }


def _parts(mount: Opened, files: Sequence[str], *, cold: bool) -> Parts:
    told = mount.data.server == "framefs"
    before = _told(mount) if told else {}
    reads = []
    for file in files:
        whole, content = _read(file)
        loading = _load(content)
        spent: dict[str, float] = {}
        if told:
            spent = _difference(before, before := _told(mount))
        reads.append(_Read(whole, loading, len(content), spent))
    counting = [one for one in reads if _is_plain(one, cold)] if told else reads
    counting.sort(key=lambda one: one.whole - one.spent.get("stage wait", 0.0))
    calm = counting[: -(-len(counting) // _CALM)]

    def mean(of: Callable[[_Read], float]) -> float:
        return statistics.fmean(map(of, calm)) * 1e6

    whole, loading = mean(lambda one: one.whole), mean(lambda one: one.loading)
    if not told:
        return Parts(whole, {}, {}, 0.0, 0.0, loading)
    names = calm[0].spent
    us = {name: mean(lambda one, name=name: one.spent[name]) for name in names}  # type: ignore[misc]
    counts = {name: us[f"count {name}"] / 1e6 for name in _WAITED}
    rows = _rows(us, counts, calm[0].size, whole)
    requests = statistics.fmean(one.spent["count read"] for one in reads)
    meanwhile = {words: us[f"stage {name}"] for name, words in _MEANWHILE.items()}
    return Parts(whole, rows, meanwhile, us["FUSE release"], requests, loading)


def _is_plain(one: _Read, cold: bool) -> bool:
    """A cold read decodes, and by itself: some frames are there already, or others are made, too.

    Of the others those count for which the kernel has all pages still.
    """
    if cold:
        alone = one.spent["stage wait"] + one.spent["stage convert"] <= one.spent["FUSE read"]
        return one.spent["stage decode"] > 0 and alone
    return not one.spent["count read"]


def _rows(
    us: dict[str, float], requests: dict[str, float], size: int, whole: float
) -> dict[str, float]:
    """The parts of a read, from what the filesystem told of each."""
    handled = {name: us[f"FUSE {name}"] for name in _WAITED}
    stages = {words: us[f"stage {name}"] for name, words in _NAMES.items()}
    binding = sum(requests.values()) * callback_us()
    reading = requests["read"]
    copy = reading * copy_us(round(size / reading)) if reading else 0.0
    cache = handled["read"] - sum(stages.values()) - copy
    kernel = whole - binding - sum(handled.values())
    return {
        "kernel": kernel,
        "binding": binding,
        "tree": handled["getattr"] + handled["open"],
        "cache": cache,
        **stages,
        "copy": copy,
    }


def _told(mount: Opened) -> dict[str, float]:
    """Seconds by stage and kind of request, and counts of these."""
    found = filesystems.statistics(mount.root)
    told = {f"stage {name}": found["stages"][name]["seconds"] for name in _STAGES}
    operations = found["fuse"]["operations"]
    for name in (*_WAITED, "release"):
        one = operations.get(name, {"seconds": 0.0, "count": 0})
        told[f"FUSE {name}"] = one["seconds"]
        told[f"count {name}"] = one["count"]
    return told


def _difference(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {name: value - before[name] for name, value in after.items()}


def _read(file: str) -> tuple[float, bytes]:
    """Seconds from opening a file to its last byte, and its bytes."""
    began = time.perf_counter()
    descriptor = os.open(file, os.O_RDONLY)
    try:
        content = os.read(descriptor, os.fstat(descriptor).st_size)
        return time.perf_counter() - began, content
    finally:
        os.close(descriptor)


def _load(content: bytes) -> float:
    began = time.perf_counter()
    with Image.open(io.BytesIO(content)) as image:
        np.asarray(image)
    return time.perf_counter() - began


def callback_us() -> float:
    """What a call from C into Python takes by itself, in microseconds: the best of some tries."""
    count = 0
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(one: int, other: int) -> int:
        nonlocal count
        count += 1
        return 0

    sort = ctypes.CDLL(None).qsort
    items = (ctypes.c_int * 100)()
    callback = kind(compare)
    best = float("inf")
    for _ in range(_TRIES):
        count = 0
        began = time.perf_counter()
        sort(items, len(items), ctypes.sizeof(ctypes.c_int), callback)
        best = min(best, (time.perf_counter() - began) / count)
    return best * 1e6


def copy_us(size: int) -> float:
    """What copying so many bytes takes, in microseconds: the best of some tries."""
    source, target = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
    best = float("inf")
    for _ in range(_TRIES):
        began = time.perf_counter()
        ctypes.memmove(target, source, size)
        best = min(best, time.perf_counter() - began)
    return best * 1e6
