"""NVIDIA DALI's readers on the processor, which map files into memory by default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.loaders.conftest import Pairs
from tests.loaders.layouts import EXPECTED

dali = pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is not installed")
from nvidia.dali import fn


def labelled(root: Path, mapped: bool) -> list[tuple[NDArray[np.uint8], int]]:
    pipeline = dali.Pipeline(batch_size=1, num_threads=2, device_id=None)
    with pipeline:
        content, label = fn.readers.file(file_root=str(root), dont_use_mmap=not mapped, name="all")
        pipeline.set_outputs(content, label)
    pipeline.build()
    result = []
    for _ in range(pipeline.epoch_size("all")):
        contents, labels = pipeline.run()
        result.append((np.array(contents.at(0)), int(labels.at(0)[0])))
    return result


@pytest.mark.parametrize("mapped", [True, False])
def test_files_by_class(mapped: bool, pairs: Pairs) -> None:
    pair = pairs("imagefolder", *EXPECTED["imagefolder"])
    read = labelled(pair.mount, mapped)
    names = pair.names()
    assert len(read) == len(names) == 30
    for (content, label), name in zip(read, names, strict=True):
        assert content.tobytes() == (pair.mount / name).read_bytes()
        assert label == (0 if name.startswith("eat/") else 1)


def test_decoded_sequences(pairs: Pairs) -> None:
    """readers.sequence takes each directory for one sequence, in the order of names."""
    pair = pairs("default", *EXPECTED["default"])
    sequences = []
    for root in pair.both():
        pipeline = dali.Pipeline(batch_size=1, num_threads=2, device_id=None)
        with pipeline:
            pipeline.set_outputs(
                fn.readers.sequence(file_root=str(root / "eat"), sequence_length=4, name="all")
            )
        pipeline.build()
        runs = pipeline.epoch_size("all")
        sequences.append([np.array(pipeline.run()[0].at(0)) for _ in range(runs)])
    assert len(sequences[0]) == len(sequences[1]) > 0
    for one, other in zip(*sequences, strict=True):
        np.testing.assert_array_equal(one, other)
