"""What a mount holds in memory."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.clips import write_clip
from tests.mounting import mounted, server_of
from tests.stress import resident_mib

CACHE_MIB = 96
ALLOWANCE_MIB = 300
SIZES = ((640, 480), (1280, 720), (1920, 1080), (322, 242))


def test_frames_of_many_sizes_stay_within_the_budget(fuse: None, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for width, height in SIZES:
        write_clip(corpus / f"{width}.mp4", frames=20, size=(width, height))
    with mounted(corpus, "-o", f"cache.size={CACHE_MIB}MiB") as mount:
        frames = [path for folder in mount.iterdir() for path in folder.iterdir()]
        frames = random.Random(1).choices(frames, k=3 * len(frames))
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda path: path.read_bytes(), frames))
        assert resident_mib(server_of(mount)) < CACHE_MIB + ALLOWANCE_MIB
