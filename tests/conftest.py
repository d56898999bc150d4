"""What tests of all parts share: whether this machine can mount, and where the real clips are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli import machine
from cli.errors import CommandFailed


@pytest.fixture(scope="session")
def fuse() -> None:
    """For tests that mount: skips them where FUSE is missing, fails where it is required."""
    try:
        machine.require(machine.checks())
    except CommandFailed as error:
        if os.environ.get("FRAMEFS_REQUIRE_FUSE") == "1":
            pytest.fail(f"FRAMEFS_REQUIRE_FUSE=1, but {error}")
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def clips() -> Path:
    """The folder of real clips that FRAMEFS_CORPUS names; skips where it names none."""
    folder = os.environ.get("FRAMEFS_CORPUS")
    if not folder:
        pytest.skip("FRAMEFS_CORPUS names no folder of real clips")
    path = Path(folder)
    assert path.is_dir(), f"FRAMEFS_CORPUS={folder} is not a folder"
    return path


@pytest.fixture(scope="session")
def sample() -> Path:
    """The folder of the two bundled videos."""
    return Path(__file__).parent.parent / "sample"
