"""Hugging Face's image folders, with and without metadata."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.commands import FRAMEFS, run
from tests.loaders.conftest import VIDEOS, Pairs, write_corpus
from tests.loaders.layouts import EXPECTED
from tests.mounting import mounted

datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")


def load(folder: Path, cache: Path, **options: Any) -> Any:
    return datasets.load_dataset(
        "imagefolder", data_dir=str(folder), split="train", cache_dir=str(cache), **options
    )


def test_the_same_rows(pairs: Pairs, tmp_path: Path) -> None:
    pair = pairs("imagefolder", *EXPECTED["imagefolder"])
    rows, expected = (load(root, tmp_path / root.name) for root in pair.both())
    assert rows.features["label"].names == ["eat", "run"]
    assert len(rows) == len(expected) == sum(VIDEOS.values())
    for row, other in zip(rows, expected, strict=True):
        assert row["label"] == other["label"]
        np.testing.assert_array_equal(np.asarray(row["image"]), np.asarray(other["image"]))


def test_a_new_mount_finds_the_cache_of_the_old_one(fuse: None, tmp_path: Path) -> None:
    """The cache's key has the modification time of every file."""
    corpus = write_corpus(tmp_path / "videos", VIDEOS)
    target = tmp_path / "frames"
    keys = []
    for _ in range(2):
        with mounted(corpus, "--layout", "imagefolder", mountpoint=target):
            builder = datasets.load_dataset_builder(
                "imagefolder", data_dir=str(target), cache_dir=str(tmp_path / "cache")
            )
            keys.append((builder.hash, builder.config_id))
        time.sleep(0.01)
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("form", "name"), [("imagefolder-csv", "metadata.csv"), ("jsonl", "metadata.jsonl")]
)
def test_metadata_beside_a_mount(form: str, name: str, fuse: None, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "videos", VIDEOS)
    data = tmp_path / "data"
    data.mkdir()
    command = ("list", corpus, "--as", form, "--prefix", "frames", "--output", data / name)
    result = run(*FRAMEFS, *command, "--index", tmp_path / "index.sqlite")
    assert result.returncode == 0, result
    with mounted(corpus, "--layout", "imagefolder", mountpoint=data / "frames"):
        rows = load(data, tmp_path / "cache")
        assert len(rows) == sum(VIDEOS.values())
        labels = [row["label"] for row in rows]
        assert labels == ["eat"] * 20 + ["run"] * 10
        first = np.asarray(rows[0]["image"])
    assert first.shape == (96, 128, 3)
    assert not os.path.ismount(data / "frames")
