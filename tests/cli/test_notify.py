from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.notify import notify


@pytest.fixture(params=["path", "abstract"])
def manager(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    """The socket of a service manager, which NOTIFY_SOCKET names."""
    name = f"@framefs-test-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(name.replace("@", "\0", 1))
        receiver.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield receiver


def test_assignments_arrive_in_one_datagram(manager: socket.socket) -> None:
    assert notify("READY=1", "STATUS=up")
    assert manager.recv(4096) == b"READY=1\nSTATUS=up"
    assert notify("STOPPING=1")
    assert manager.recv(4096) == b"STOPPING=1"


def test_without_a_manager_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not notify("READY=1")


def test_a_manager_that_is_gone_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError):
        notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "relative")
    with pytest.raises(ValueError, match="neither a path nor an abstract name"):
        notify("READY=1")
