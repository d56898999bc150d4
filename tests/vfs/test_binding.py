from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vfs.conftest import require_fuse

SHOW = "from vfs.binding import load; import os; print(load(), 'FUSE_LIBRARY_PATH' in os.environ)"
HIDE = """
import importlib.abc, sys
class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in {hidden!r}:
            raise ImportError(name + " is hidden")
sys.meta_path.insert(0, Hide())
"""


def loaded(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        check=False,
    )


def test_libfuse3_is_preferred_and_the_environment_left_as_it_was() -> None:
    require_fuse("libfuse3")
    assert loaded(SHOW).stdout.startswith("mfusepy on libfuse 3.")
    assert loaded(SHOW).stdout.endswith("False\n")


def test_the_user_chooses_another_library() -> None:
    library = require_fuse("libfuse2")
    assert loaded(SHOW, FUSE_LIBRARY_PATH=library).stdout.startswith("mfusepy on libfuse 2.")


def test_without_mfusepy_it_is_fusepy_on_libfuse2() -> None:
    require_fuse("libfuse2")
    shown = loaded(HIDE.format(hidden=["mfusepy"]) + SHOW)
    assert shown.stdout.startswith("fusepy on libfuse 2."), shown.stderr


@pytest.mark.parametrize(
    ("prefix", "environment"),
    [
        (HIDE.format(hidden=["mfusepy", "fuse"]), {}),
        ("", {"FUSE_LIBRARY_PATH": "/nowhere/libfuse.so"}),
    ],
)
def test_without_any_the_message_says_what_to_install(
    prefix: str, environment: dict[str, str]
) -> None:
    shown = loaded(prefix + SHOW, **environment)
    assert shown.returncode == 1
    assert "BindingMissing: no FUSE binding can be loaded" in shown.stderr
    assert "apt install fuse3" in shown.stderr
