"""PyTorchVideo's frame videos, and its manifest of EPIC-Kitchens."""

from __future__ import annotations

import pytest

from tests.loaders.conftest import Pairs
from tests.loaders.layouts import EXPECTED

pytest.importorskip("pytorchvideo", reason="pytorchvideo is not installed")
import torch
from pytorchvideo.data.epic_kitchen.utils import build_frame_manifest_from_flat_directory
from pytorchvideo.data.frame_video import FrameVideo


@pytest.mark.parametrize("layout", ["default", "mmaction2"])
def test_frames_of_a_directory(layout: str, pairs: Pairs) -> None:
    """It takes every file that is listed for a frame, in natural order."""
    pair = pairs(layout, *EXPECTED[layout])
    clips = []
    for root in pair.both():
        video = FrameVideo.from_directory(str(root / "eat" / "v1"), fps=30)
        assert video.duration == 11 / 30
        clips.append(video.get_clip(0, 11 / 30)["video"])
    assert torch.equal(*clips)
    assert clips[0].shape == (3, 11, 96, 128)


def test_epic_kitchens_manifest(pairs: Pairs) -> None:
    pair = pairs("epic-kitchens", *EXPECTED["epic-kitchens"])
    manifests = []
    for root in pair.both():
        videos = build_frame_manifest_from_flat_directory(
            str(root / "eat" / "rgb_frames"), multithreaded=False
        )
        manifests.append(
            {
                name: (info.min_frame_number, info.max_frame_number, info.frame_string_length)
                for name, info in videos.items()
            }
        )
    assert manifests[0] == manifests[1]
    assert manifests[0]["v1"] == (1, 11, len("frame_0000000001"))
