"""mmaction2's RawframeDataset, with the list that framefs writes for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.commands import FRAMEFS, run
from tests.loaders.conftest import VIDEOS, Pairs, write_corpus
from tests.loaders.layouts import EXPECTED

mmaction = pytest.importorskip("mmaction", reason="mmaction2 is not installed")
from mmaction.datasets import RawframeDataset
from mmaction.registry import TRANSFORMS

PIPELINE = [
    {"type": "SampleFrames", "clip_len": 4, "frame_interval": 2, "num_clips": 1, "test_mode": True},
    {"type": "RawFrameDecode"},
]


def samples(annotations: Path, root: Path) -> list[dict[str, Any]]:
    dataset = RawframeDataset(
        str(annotations),
        [TRANSFORMS.build(step) for step in PIPELINE],
        data_prefix={"img": str(root)},
        test_mode=True,
    )
    return [dataset[n] for n in range(len(dataset))]


def test_rawframes(pairs: Pairs, tmp_path: Path) -> None:
    pair = pairs("mmaction2", *EXPECTED["mmaction2"])
    corpus = write_corpus(tmp_path / "videos", VIDEOS)
    annotations = tmp_path / "train.txt"
    command = ("list", corpus, "--as", "mmaction2", "--output", annotations)
    assert run(*FRAMEFS, *command, "--index", tmp_path / "index.sqlite").returncode == 0
    mounted, extracted = (samples(annotations, root) for root in pair.both())
    assert [sample["total_frames"] for sample in mounted] == list(VIDEOS.values())
    assert [sample["label"] for sample in mounted] == [0, 0, 1]
    for one, other in zip(mounted, extracted, strict=True):
        assert one["frame_inds"].tolist() == other["frame_inds"].tolist()
        np.testing.assert_array_equal(one["imgs"], other["imgs"])
