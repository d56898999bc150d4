from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.clips import write_clip

# In a process of its own: the priority of this one is no matter of encoders.
_SCRIPT = """
import os, sys, threading
from encoder.settings import Settings
from encoder.unit import transcode

found, seen = set(), []

def look(done, count):
    threads = [int(name) for name in os.listdir("/proc/self/task")]
    seen.append(len(threads))
    found.update(os.sched_getscheduler(thread) for thread in threads)

transcode(sys.argv[1], sys.argv[2], Settings.of_profile("small"), progress=look)
look(0, 0)
print(max(seen), found == {os.SCHED_OTHER})
"""


def test_no_thread_of_an_encoder_goes_before_everything_else(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", frames=40)
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(clip), str(tmp_path / "out.mp4")],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    threads, ordinary = done.stdout.split()
    assert int(threads) > 1
    assert ordinary == "True"
