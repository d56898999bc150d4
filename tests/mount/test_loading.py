"""Loaders on a real mount: what they read is right, and nothing is left behind when they die."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.clips import read_barcode, write_clip
from tests.loading import load
from tests.mounting import mounted, server_of

SAMPLE = Path(__file__).parents[2] / "sample"


@pytest.mark.timeout(300)
def test_eight_processes_that_read_as_loaders_do_get_every_frame_right(
    fuse: None, tmp_path: Path
) -> None:
    for clip in SAMPLE.glob("*.mp4"):
        shutil.copyfile(clip, tmp_path / clip.name)
    options = {
        "x264-params": "keyint=16:min-keyint=16:scenecut=0:open-gop=1:bframes=15:b-adapt=0:"
        "b-pyramid=none:ref=1"
    }
    write_clip(tmp_path / "ddra.mp4", version=5, frames=200, gop=16, options=options)
    write_clip(tmp_path / "vp9.mkv", version=6, frames=60, gop=20, codec="libvpx-vp9")
    done, faults, statistics = load(
        tmp_path, sorted(tmp_path.iterdir()), 2400, seed=int(time.time()) % 1000
    )
    assert not faults
    assert done >= 2400
    assert statistics["requests"]["failed"] == 0
    assert statistics["pictures"]["read_ahead"] > 0


@pytest.mark.timeout(300)
def test_loaders_that_are_killed_leave_nothing_behind(fuse: None, tmp_path: Path) -> None:
    for n in range(3):
        write_clip(tmp_path / f"{n}.mp4", version=n, frames=60, gop=60)
    rng = random.Random(1)
    with mounted(tmp_path, "-o", "cache.size=8MiB") as mount:
        server = server_of(mount)
        for round_ in range(200):
            first = rng.randrange(50)
            frames = [mount / str(round_ % 3) / f"{n:06d}.npy" for n in range(first, first + 10)]
            reader = subprocess.Popen(["cat", *frames], stdout=subprocess.DEVNULL)
            time.sleep(rng.random() * 0.02)
            reader.send_signal(signal.SIGKILL)
            reader.wait()
            if round_ == 20:
                before = held(server)
        found = idle(mount)
        after = held(server)
    assert found["queues"]["resting"] + found["queues"]["idle"] <= 12
    assert found["memory"]["files"] == 0
    assert found["memory"]["frames"] + found["memory"]["stock"] <= 8 << 20
    threads, files, resident = (late - early for late, early in zip(after, before, strict=True))
    assert threads <= 12
    assert files <= 12
    assert resident < 64 << 20


def held(process: int) -> tuple[int, int, int]:
    """Threads, open files and resident bytes of a process."""
    proc = Path(f"/proc/{process}")
    pages = int((proc / "statm").read_text().split()[1])
    threads = len(list((proc / "task").iterdir()))
    return threads, len(os.listdir(proc / "fd")), pages * os.sysconf("SC_PAGE_SIZE")


def idle(mount: Path) -> dict[str, Any]:
    """The statistics once nothing is going on any more."""
    limit = time.monotonic() + 20
    while True:
        found: dict[str, Any] = json.loads((mount / ".framefs/stats.json").read_bytes())
        queues = found["queues"]
        if not (queues["decoding"] or queues["waiting"] or found["memory"]["files"]):
            return found
        assert time.monotonic() < limit, (queues, found["memory"])
        time.sleep(0.05)


@pytest.mark.parametrize("options", [(), ("frames.stride=2",), ("frames.range=5:50",)])
def test_the_next_file_of_a_window_is_made_while_one_is_read(
    fuse: None, tmp_path: Path, options: tuple[str, ...]
) -> None:
    write_clip(tmp_path / "a.mp4", version=3, frames=60, gop=60)
    first = 5 if "range" in "".join(options) else 0
    step = 2 if "stride" in "".join(options) else 1
    extra = [part for option in options for part in ("-o", option)]
    with mounted(tmp_path, *extra) as mount:
        names = sorted(os.listdir(mount / "a"))
        for place, name in enumerate(names):
            with Image.open(mount / "a" / name) as image:
                assert read_barcode(np.asarray(image)) == (3, first + step * place)
        found = idle(mount)
    # All but the first few were there, or being made, when they were asked for.
    files = found["levels"]["files"]
    assert files["hits"] + files["joined"] >= len(names) - 4
    assert files["misses"] <= len(names) + 1
