"""One source that takes long must not keep the others from being read."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from tests.clips import write_clip
from tests.mounting import mounted, server_of

CROWD = 100


def test_a_crowd_that_waits_for_one_slow_source_holds_up_nobody(fuse: None, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    write_clip(corpus / "small.mp4", frames=5)
    # FFmpeg looks for a first picture in this for as long as one lets it.
    with open(corpus / "endless.h264", "wb") as file:
        file.truncate(200 << 30)
    with mounted(corpus) as mount:
        crowd = [
            subprocess.Popen(["ls", mount / "endless"], stderr=subprocess.DEVNULL)
            for _ in range(CROWD)
        ]
        try:
            time.sleep(1)
            began = time.monotonic()
            assert len(os.listdir(mount / "small")) == 5
            assert time.monotonic() - began < 10
            assert crowd[0].poll() is None
        finally:
            # Only the end of the mount ends them, and only its last resort ends the mount.
            os.kill(server_of(mount), signal.SIGTERM)
            for process in crowd:
                process.wait(60)
