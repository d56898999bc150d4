"""Ultralytics' checks of a data set, and its data sets for detection and classification."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.loaders.conftest import VIDEOS, Pair, Pairs, write_corpus
from tests.loaders.layouts import EXPECTED
from tests.mounting import mounted

os.environ.setdefault("YOLO_CONFIG_DIR", "/tmp")  # it writes settings when it is imported
utils = pytest.importorskip("ultralytics.data.utils", reason="ultralytics is not installed")
from ultralytics.cfg import get_cfg
from ultralytics.data.dataset import ClassificationDataset, YOLODataset


@pytest.fixture(params=["imagefolder", "mmaction2"])
def pair(request: pytest.FixtureRequest, pairs: Pairs) -> Pair:
    """PNG and JPEG; a JPEG that does not end in FF D9 would be written anew."""
    return pairs(request.param, *EXPECTED[request.param])


def test_every_image_is_verified(pair: Pair) -> None:
    for name in pair.names():
        _, found, corrupt, message = utils.verify_image(((str(pair.mount / name), 0), ""))
        assert (found, corrupt, message) == (1, 0, ""), message


def test_the_hash_of_all_files_stays(pair: Pair) -> None:
    paths = [str(pair.mount / name) for name in pair.names()]
    before = utils.get_hash(paths)
    for path in paths[:5]:
        Path(path).read_bytes()
    assert utils.get_hash(paths) == before


def test_classification(pair: Pair) -> None:
    mount, folder = (
        ClassificationDataset(str(root), get_cfg(overrides={"imgsz": 96})) for root in pair.both()
    )
    assert [label for _, label, *_ in mount.samples] == [label for _, label, *_ in folder.samples]
    for n in (0, 13, 29):
        np.testing.assert_array_equal(mount[n]["img"], folder[n]["img"])


@pytest.mark.parametrize("layout", ["imagefolder", "mmaction2"])
def test_detection(layout: str, fuse: None, tmp_path: Path) -> None:
    """Labels are found by putting labels in place of images in the path.

    An image is read from the array beside it, ``a.npy`` for ``a.jpg``, in OpenCV's order of
    channels, where there is one: a layout for these readers has none.
    """
    corpus = write_corpus(tmp_path / "videos", VIDEOS)
    images = tmp_path / "images" / "train"
    images.mkdir(parents=True)
    with mounted(corpus, "--layout", layout, mountpoint=images):
        for directory, _, names in os.walk(images):
            labels = tmp_path / "labels" / "train" / os.path.relpath(directory, images)
            labels.mkdir(parents=True, exist_ok=True)
            for name in names:
                (labels / name).with_suffix(".txt").write_text("0 0.5 0.5 0.25 0.25\n")
        data: dict[str, Any] = {"names": {0: "thing"}, "nc": 1, "channels": 3}
        dataset = YOLODataset(img_path=str(images), data=data, imgsz=128, augment=False)
        assert len(dataset) == sum(VIDEOS.values())
        for n in (0, 17):
            assert dataset.labels[n]["bboxes"].tolist() == [[0.5, 0.5, 0.25, 0.25]]
            image, *_ = dataset.load_image(n)
            np.testing.assert_array_equal(image, cv2.imread(dataset.im_files[n]))
