"""pycocotools with the list that framefs writes for it: every image is there, as described."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tests.cli.commands import FRAMEFS, run
from tests.loaders.conftest import VIDEOS, Pairs, write_corpus
from tests.loaders.layouts import EXPECTED

coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")


def test_every_image_is_there(pairs: Pairs, tmp_path: Path) -> None:
    pair = pairs("default", *EXPECTED["default"])
    corpus = write_corpus(tmp_path / "videos", VIDEOS)
    listed = tmp_path / "frames.json"
    command = ("list", corpus, "--as", "coco", "--output", listed)
    assert run(*FRAMEFS, *command, "--index", tmp_path / "index.sqlite").returncode == 0
    read = coco.COCO(str(listed))
    images = read.loadImgs(read.getImgIds())
    assert [image["file_name"] for image in images] == pair.names()
    for image in images:
        with Image.open(pair.mount / image["file_name"]) as frame:
            assert frame.size == (image["width"], image["height"])
