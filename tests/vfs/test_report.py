from __future__ import annotations

import json

import msgspec
import pytest

from decoder.desk import Tally
from decoder.desks import DeskLoad
from decoder.service import Load
from decoder.statistics import SourceWork, Statistics
from decoder.stock import Stock
from vfs import report
from vfs.cache import CacheStats
from vfs.report import Report, Reporter
from vfs.traffic import Traffic


class Parts:
    """A service and a tree that have done nothing."""

    statistics = Statistics()
    load = Load(5, 6, DeskLoad(1, 2, 3, 4, Stock(0).stats, Tally(joined=7, overdue=8)))
    cache_stats = {  # noqa: RUF012
        "frames": CacheStats(1, 2, 3, 4, 5, 6, 7),
        "files": CacheStats(8, 9, 10, 11, 12, 13, 14),
    }


def made(**changes: object) -> Report:
    found = Reporter(Parts(), Parts(), Traffic()).report()
    return msgspec.structs.replace(found, **changes)


def test_a_report_is_a_file_of_fixed_size_and_back() -> None:
    one = made()
    content = report.encode(one)
    assert len(content) == report.SIZE
    assert content.endswith(b"\n")
    assert report.decode(content) == one
    assert json.loads(content)["memory"] == {
        "frames": 7,
        "stock": 0,
        "files": 14,
        "indexes": 6,
    }
    assert json.loads(content)["requests"]["joined"] == 20


def test_long_paths_leave_sources_out_rather_than_more_bytes() -> None:
    top = tuple(SourceWork(f"/{n}/" + "x" * 4000, 1, 1, 1, 1, 1.0) for n in range(10))
    one = made()
    one = msgspec.structs.replace(one, sources=msgspec.structs.replace(one.sources, top=top))
    content = report.encode(one)
    assert len(content) == report.SIZE
    kept = report.decode(content).sources.top
    assert kept == top[: len(kept)]
    assert 5 <= len(kept) < 10


def test_a_path_that_is_no_text_can_be_told() -> None:
    name = b"/caf\xe9.mp4".decode("utf-8", "surrogateescape")
    one = made()
    sources = msgspec.structs.replace(one.sources, top=(SourceWork(name, 1, 1, 1, 1, 1.0),))
    content = report.encode(msgspec.structs.replace(one, sources=sources))
    assert report.decode(content).sources.top[0].path == "/caf\ufffd.mp4"


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"schema": 1}'])
def test_what_is_no_report_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        report.decode(content)


def test_traffic_tells_what_has_come_and_what_is_going_on() -> None:
    traffic = Traffic(["open", "read"])
    assert (traffic.arrived, traffic.latencies, traffic.in_progress) == ({}, {}, 0)
    traffic.of("read").arrived += 2
    traffic.of("read").answered.add(0.5)
    assert traffic.arrived == {"read": 2}
    assert traffic.in_progress == 1
    assert traffic.latencies["read"].count == 1
    assert traffic.latencies["read"].max == 0.5
