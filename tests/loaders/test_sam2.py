"""SAM 2's loading of a video as a folder of frames."""

from __future__ import annotations

import pytest

from tests.loaders.conftest import FLAT, Pairs
from tests.loaders.layouts import EXPECTED

misc = pytest.importorskip("sam2.utils.misc", reason="sam2 is not installed")
import torch


@pytest.mark.parametrize("at_once", [True, False])
def test_frame_folder(at_once: bool, pairs: Pairs) -> None:
    pair = pairs("sam2", *EXPECTED["sam2"])
    for name, frames in FLAT.items():
        stem = name.removesuffix(".mp4")
        loaded = []
        for root in pair.both():
            images, height, width = misc.load_video_frames(
                str(root / stem),
                image_size=64,
                offload_video_to_cpu=True,
                async_loading_frames=not at_once,
                compute_device=torch.device("cpu"),
            )
            assert (len(images), height, width) == (frames, 96, 128)
            loaded.append(torch.stack([images[n] for n in range(frames)]))
        assert torch.equal(*loaded)
