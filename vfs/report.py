"""What a mount tells of itself: the content of ``.framefs/stats.json``; see docs/statistics.md."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import msgspec
from msgspec import Struct, json

from decoder.service import Load
from decoder.statistics import Latency, SourceWork, Statistics
from decoder.stock import StockStats
from vfs.cache import CacheStats
from vfs.hidden import HiddenFile
from vfs.traffic import Traffic

SCHEMA = 2
"""Goes up when what stands in a report changes its meaning or goes away."""

NAME = "stats.json"

SIZE = 32 << 10
"""Bytes of the file, whatever it tells: blanks follow the text."""

_PAGE = os.sysconf("SC_PAGESIZE")


class Process(Struct, frozen=True):
    """The process that serves the mount: seconds since it mounted, and of processor time."""

    pid: int
    uptime: float
    cpu: float
    resident: int
    threads: int


class Fuse(Struct, frozen=True):
    """Requests of the kernel: being answered now; and answered, by kind."""

    in_progress: int
    operations: dict[str, Latency]


class Requests(Struct, frozen=True):
    """For frames, by those who read files: that the decoder was asked for, that joined one of those
    because they were for the same frame, that failed, and those of them that were not in time."""

    decoded: int
    joined: int
    failed: int
    overdue: int


class Pictures(Struct, frozen=True):
    """Why pictures were reconstructed, and what became of the others; and how many frames were
    decoded conservatively.

    ``target`` was asked for when it was decoded, ``read_ahead`` has been asked for since, ``waste``
    was decoded ahead and nobody has asked for it; ``reference`` is all the rest."""

    target: int
    read_ahead: int
    waste: int
    reference: int
    state_only: int
    dropped: int
    conservative: int


class Sources(Struct, frozen=True):
    """What was done to files; ``top`` are those that took most seconds."""

    bytes_read: int
    opened: int
    seeks: int
    alarms: int
    rejected: int
    top: tuple[SourceWork, ...]


class Queues(Struct, frozen=True):
    """What is going on at this moment; see `decoder.service.Load`."""

    decoding: int
    waiting: int
    resting: int
    idle: int
    indexing: int


class Memory(Struct, frozen=True):
    """Bytes held, by owner: decoded frames, those of them that nobody has asked for yet, files that
    are being read, indexes."""

    frames: int
    stock: int
    files: int
    indexes: int


class Report(Struct, frozen=True):
    """Everything. Counts since the mount came up; durations in seconds."""

    schema: int
    process: Process
    fuse: Fuse
    requests: Requests
    levels: dict[str, CacheStats]
    stock: StockStats
    pictures: Pictures
    sources: Sources
    stages: dict[str, Latency]
    queues: Queues
    memory: Memory


class Service(Protocol):
    """What is asked of `decoder.service.FrameService`."""

    @property
    def statistics(self) -> Statistics:
        """What has been done."""

    @property
    def load(self) -> Load:
        """What is going on."""


class Caches(Protocol):
    """What is asked of `vfs.tree.Tree`."""

    @property
    def cache_stats(self) -> Mapping[str, CacheStats]:
        """Counters of the caches by name: "frames" and "files"."""


class Reporter:
    """Makes reports on a mount whenever one is asked for."""

    def __init__(self, service: Service, caches: Caches, traffic: Traffic) -> None:
        self._service = service
        self._caches = caches
        self._traffic = traffic
        self._began = time.monotonic()

    def file(self) -> HiddenFile:
        """The report as a hidden file."""
        return HiddenFile(NAME, SIZE, lambda: encode(self.report()))

    def report(self) -> Report:
        """How things are now."""
        work = self._service.statistics.work()
        load = self._service.load
        levels = dict(self._caches.cache_stats)
        desks = load.desks
        joined = sum(level.joined for level in levels.values()) + desks.tally.joined
        done = work.counters
        stock = desks.stock
        ahead = stock.hits["foretold"]
        waste = max(0, desks.tally.foretold - ahead)
        return Report(
            schema=SCHEMA,
            process=self._process(),
            fuse=Fuse(self._traffic.in_progress, self._traffic.latencies),
            requests=Requests(work.requests, joined, work.failed, desks.tally.overdue),
            levels=levels,
            stock=stock,
            pictures=Pictures(
                target=max(0, done.delivered - desks.tally.foretold),
                read_ahead=ahead,
                waste=waste,
                # Frames of some codecs come without a picture of their own being counted.
                reference=max(0, done.reconstructed - done.delivered),
                state_only=done.state_only,
                dropped=done.dropped,
                conservative=done.conservative,
            ),
            sources=Sources(
                done.bytes_read, done.opened, done.seeks, done.alarms, done.rejected, work.sources
            ),
            stages=work.stages,
            queues=Queues(desks.decoding, desks.waiting, desks.resting, desks.idle, load.indexing),
            memory=Memory(
                levels["frames"].size, stock.size, levels["files"].size, load.index_bytes
            ),
        )

    def _process(self) -> Process:
        with open("/proc/self/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * _PAGE
        return Process(
            pid=os.getpid(),
            uptime=time.monotonic() - self._began,
            cpu=time.process_time(),
            resident=resident,
            threads=threading.active_count(),
        )


def encode(report: Report) -> bytes:
    """A report as the file: one JSON text and blanks, `SIZE` bytes ending in a line break.

    Where long paths do not fit the list of sources ends earlier.
    """
    top = tuple(replace(one, path=_printable(one.path)) for one in report.sources.top)
    while True:
        text = json.format(json.encode(_with_top(report, top)), indent=1)
        if len(text) < SIZE or not top:
            return text.ljust(SIZE - 1) + b"\n"
        top = top[:-1]


def decode(content: bytes) -> Report:
    """The report in a file. Raises ValueError: it is none of this schema."""
    return json.decode(content, type=Report)


def _with_top(report: Report, top: tuple[SourceWork, ...]) -> Report:
    sources = msgspec.structs.replace(report.sources, top=top)
    return msgspec.structs.replace(report, sources=sources)


def _printable(path: str) -> str:
    """JSON is Unicode; what a path has beyond it is shown as question marks."""
    return os.fsencode(path).decode("utf-8", "replace")
