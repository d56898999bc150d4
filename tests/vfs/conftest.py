"""Fixtures: a corpus of fake videos, and the same mounted for real in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from decoder.corpus import Corpus
from tests.vfs.fakes import FakeService
from vfs.tree import Tree

LIBRARIES = {"libfuse3": "fuse3", "libfuse2": "fuse"}


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    folder.mkdir()
    return folder


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def tree(videos: Path, service: FakeService) -> Tree:
    return Tree(Corpus(str(videos), freshness=0), service)


@dataclass
class Mount:
    """A mounted corpus.

    Attributes:
        root: the mount point.
        process: the filesystem's process.
        library: "libfuse3" or "libfuse2".
    """

    root: Path
    process: subprocess.Popen[str]
    library: str

    def ask(self, question: str) -> Any:
        """What the filesystem's process answers; see `tests.vfs.served`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def calls(self) -> dict[str, int]:
        """How often each operation has been called."""
        answer: dict[str, int] = self.ask("calls")
        return answer

    def unmount(self) -> int:
        """Ends the filesystem as Ctrl-C does; its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=20)


MountFactory = Callable[..., Mount]


def require_fuse(library: str) -> str:
    """The file of the library; skips (or fails, where FUSE is required) without it."""
    file = find_library(LIBRARIES[library])
    missing = [] if file else [library]
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        missing.append("/dev/fuse")
    if missing:
        reason = f"missing: {' and '.join(missing)}"
        if os.environ.get("FRAMEFS_REQUIRE_FUSE") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    assert file is not None
    return file


@pytest.fixture(params=sorted(LIBRARIES, reverse=True))
def library(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    require_fuse(name)
    return name


@pytest.fixture
def mount(tmp_path: Path, videos: Path) -> Iterator[MountFactory]:
    """Mounts the folder ``videos``; whatever is mounted is unmounted at the end."""
    mounts: list[Mount] = []

    def start(library: str, binding: str = "mfusepy", **options: Any) -> Mount:
        root = tmp_path / f"mount{len(mounts)}"
        root.mkdir()
        environment = {**os.environ, "FUSE_LIBRARY_PATH": require_fuse(library)}
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.vfs.served",
                str(videos),
                str(root),
                binding,
                json.dumps(options),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=Path(__file__).parents[2],
        )
        made = Mount(root, process, library)
        mounts.append(made)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return made

    yield start
    for one in mounts:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGTERM)
            try:
                one.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                one.process.kill()
                subprocess.run(["umount", "-l", str(one.root)], check=False)
                raise


def until(condition: Callable[[], bool], seconds: float = 1.0) -> float:
    """Waits until the condition holds; how long that took. Fails after ``seconds``."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            pytest.fail(f"not within {seconds} s")
        time.sleep(0.01)
    return time.monotonic() - start
