from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clips import write_clip

PROGRAM = """
import sys
from encoder.settings import Settings
from encoder.unit import transcode
transcode(sys.argv[1], sys.argv[2], Settings.of_profile(sys.argv[3]))
"""


@pytest.mark.parametrize("size", [(64, 64), (176, 144)])
@pytest.mark.parametrize("profile", ["fast", "compact", "small"])
def test_what_memory_held_before_does_not_matter(
    profile: str, size: tuple[int, int], tmp_path: Path
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", frames=40, size=size)
    results = set()
    for fill in ("1", "254"):  # what glibc writes into memory that it gives away
        target = tmp_path / f"{fill}.mp4"
        subprocess.run(
            [sys.executable, "-c", PROGRAM, clip, target, profile],
            env={**os.environ, "MALLOC_PERTURB_": fill},
            check=True,
        )
        results.add(target.read_bytes())
    assert len(results) == 1
