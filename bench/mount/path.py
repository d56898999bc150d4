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

_STAGES = ("wait", "index", "open", "plan", "read", "decode", "convert", "format")
_NAMES = {
    "wait": "wait for a reader",
    "index": "index",
    "open": "open file and decoder",
    "plan": "plan",
    "read": "pread",
    "decode": "decode",
    "convert": "colour",
    "format": "format",
}
_SUBJECTS = ("native-png", "ddra-png", "memory")
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Parts:
    """What one read took on average, in microseconds.

    Attributes:
        whole: for the program that reads.
        rows: its parts by name; they add up to ``whole``.
        beside: what the filesystem does when the reader has gone on.
        requests: of the kernel, a read.
        loading: for the program, to make an array of the bytes.
    """

    whole: float
    rows: dict[str, float]
    beside: float
    requests: dict[str, float]
    loading: float


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
                columns[f"{name}, {epoch}"] = _parts(mount, files)
    table = Table(f"us a read, mean of {len(frames)}", *columns)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in next(iter(columns.values())).rows:
        shown = [parts.rows.get(row) for parts in columns.values()]
        table.add_row(row, *("" if value is None else f"{value:.0f}" for value in shown))
    table.add_section()
    below: tuple[tuple[str, Callable[[Parts], str]], ...] = (
        ("all of it", lambda parts: f"{parts.whole:.0f}"),
        ("release, when the reader has gone on", lambda parts: f"{parts.beside:.0f}"),
        ("then Pillow, in the loader", lambda parts: f"{parts.loading:.0f}"),
        ("requests to read", lambda parts: f"{parts.requests.get('read', 0):.1f}"),
    )
    for words, of in below:
        table.add_row(words, *map(of, columns.values()))
    console.print(table)
    return {
        name: {
            "whole": parts.whole,
            "rows": parts.rows,
            "beside": parts.beside,
            "requests": parts.requests,
            "loading": parts.loading,
        }
        for name, parts in columns.items()
    }


def _parts(mount: Opened, files: Sequence[str]) -> Parts:
    told = mount.data.server == "framefs"
    before = _told(mount) if told else {}
    asked = _difference(before, _told(mount)) if told else {}
    before = _told(mount) if told else {}
    wholes, loadings, size = [], [], 0
    for file in files:
        seconds, content = _read(file)
        wholes.append(seconds)
        size = len(content)
        loadings.append(_load(content))
    grown = _difference(before, _told(mount)) if told else {}
    # Reading the statistics is a request, too.
    spent = {name: grown[name] - asked.get(name, 0.0) for name in grown}
    count = len(files)
    whole = sum(wholes) / count * 1e6
    mean = {name: max(0.0, value) / count for name, value in spent.items()}
    requests = {
        name.partition(" ")[2]: value for name, value in mean.items() if name.startswith("count ")
    }
    loading = statistics.mean(loadings) * 1e6
    if not told:
        return Parts(whole, {}, 0.0, {}, loading)
    rows = _rows({name: value * 1e6 for name, value in mean.items()}, requests, size, whole)
    return Parts(whole, rows, mean.get("FUSE release", 0.0) * 1e6, requests, loading)


def _rows(
    us: dict[str, float], requests: dict[str, float], size: int, whole: float
) -> dict[str, float]:
    """The parts of a read, from what the filesystem told of each."""
    waited = ("getattr", "open", "read")
    handled = {name: us.get(f"FUSE {name}", 0.0) for name in waited}
    stages = {name: us.get(f"stage {name}", 0.0) for name in _STAGES}
    calls = sum(requests.get(name, 0.0) for name in waited)
    binding = calls * callback_us()
    reading = requests.get("read", 0.0)
    copy = reading * copy_us(round(size / reading)) if reading else 0.0
    cache = handled["read"] - sum(stages.values()) - copy
    kernel = whole - binding - sum(handled.values())
    return {
        "kernel": kernel,
        "binding": binding,
        "tree": handled["getattr"] + handled["open"],
        "cache": cache,
        **{_NAMES[name]: value for name, value in stages.items()},
        "copy": copy,
    }


def _told(mount: Opened) -> dict[str, float]:
    """Seconds by stage and kind of request, and counts of these."""
    found = filesystems.statistics(mount.root)
    told = {f"stage {name}": value["seconds"] for name, value in found["stages"].items()}
    for name, value in found["fuse"]["operations"].items():
        told[f"FUSE {name}"] = value["seconds"]
        told[f"count {name}"] = value["count"]
    return told


def _difference(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


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
