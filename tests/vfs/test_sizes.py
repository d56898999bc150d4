"""Sizes of the files of every real clip in every format: told by the index alone, and true."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from decoder.corpus import Corpus, Source
from decoder.errors import DecoderError, UnsupportedStream
from decoder.foresight import Outlook
from decoder.pixels import PixelFormat, Pixels
from decoder.service import FrameService
from decoder.store import IndexStore
from tests.vfs.test_tree import content
from vfs.formats import Bmp, Jpg, Npy, Png, Ppm, Webp, quality_of
from vfs.nodes import ClipNode, FrameNode
from vfs.transform import Crop, Resize, Transform
from vfs.tree import Tree
from vfs.view import Samples, View

SMALL = Transform(Resize(50, "box"), Crop(48, 40))

VIEWS = {
    "png": View(),
    "deep": View(samples=Samples("rgb", 16), formats=(Png(), Npy(), Ppm())),
    "gray": View(samples=Samples("gray"), formats=(Bmp(), Jpg(), Webp(), Ppm("pgm"))),
    "deepgray": View(samples=Samples("gray", 16), formats=(Png(), Ppm("pgm"))),
    "planes": View(samples=Samples("native"), formats=(Npy(),)),
    "rgb": View(formats=(Jpg(), Bmp(), Ppm(), Webp(), Npy("chw"))),
    "jpg444": View(formats=(Jpg(75, "4:4:4"), Png("jpeg"))),
    "small": View(transform=SMALL, formats=(Jpg(), Png(), Bmp())),
    "smalldeep": View(transform=SMALL, samples=Samples("gray", 16)),
}


class Watched:
    """A service that can be forbidden to decode."""

    def __init__(self, service: FrameService) -> None:
        self._service = service
        self.index, self.known = service.index, service.known
        self.announce = service.announce
        self.may_decode = False

    def array(
        self, source: Source, frame: int, pixel_format: PixelFormat, outlook: Outlook | None = None
    ) -> NDArray[Any]:
        assert self.may_decode, "decoded for a size"
        return self._service.array(source, frame, pixel_format)

    def pixels(self, source: Source, frame: int, outlook: Outlook | None = None) -> Pixels:
        assert self.may_decode, "decoded for a size"
        return self._service.pixels(source, frame)


@pytest.fixture(scope="module")
def service() -> Iterator[Watched]:
    real = FrameService(IndexStore(":memory:"))
    yield Watched(real)
    real.close()


@pytest.fixture(scope="module")
def tree(clips: Path, service: Watched) -> Tree:
    return Tree(Corpus(str(clips)), service, views=VIEWS)


def clip_names(tree: Tree) -> list[str]:
    """folder/clip of all that can be read."""
    names = []
    for folder in ("synth", "real", "robot"):
        for entry in tree.listing(f"/png/{folder}").entries():
            node = tree.node(f"/png/{folder}/{entry.name}")
            assert isinstance(node, ClipNode)
            try:
                if len(tree.listing(node.path)):
                    names.append(f"{folder}/{entry.name}")
            except DecoderError:
                continue
    return names


def check(tree: Tree, path: str, choice: int) -> None:
    view = VIEWS[path.split("/")[1]]
    form = view.formats[choice]
    name = f"{path}.{form.extension}"
    node = tree.node(name)
    assert isinstance(node, FrameNode)
    data = content(tree, name)
    assert len(data) == tree.attributes(name).size, name
    if isinstance(form, Npy):
        array = np.load(io.BytesIO(data))
        assert array.size
        return
    with Image.open(io.BytesIO(data)) as image:
        image.load()
    decoded: Any = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    height, width = view.transform.shape(*node.reel.index.shape(node.frame))
    assert decoded.shape[:2] == (height, width) == image.size[::-1], name
    if isinstance(form, Jpg):
        # No frame of film or of the usual test patterns exceeds the size.
        assert quality_of(memoryview(data)) == form.quality, name


@pytest.mark.timeout(400)
def test_every_size_of_every_clip(tree: Tree, service: Watched, clips: Path) -> None:
    names = clip_names(tree)
    assert len(names) > 100
    checked = 0
    for number, name in enumerate(names):
        node = tree.node(f"/png/{name}")
        assert isinstance(node, ClipNode)
        frames = sample(service.index(node.source).frames.geometry, number)
        for view, settings in VIEWS.items():
            directory = f"/{view}/{name}"
            service.may_decode = False
            try:
                listing = tree.listing(directory)
            except UnsupportedStream:
                assert view == "planes"  # packed samples or a palette
                continue
            for entry in listing.entries(max(0, len(listing) - 20)):
                assert entry.attributes == tree.attributes(f"{directory}/{entry.name}")
            digits = max(6, len(str(len(listing) - 1)))
            service.may_decode = True
            for frame in frames:
                # One format of each view for each clip, another one for the next.
                check(tree, f"{directory}/{frame:0{digits}d}", number % len(settings.formats))
                checked += 1
    assert checked > 1000


def sample(kinds: NDArray[Any], number: int) -> set[int]:
    """One of the first frames, and the first of every kind: few, and cheap to decode."""
    firsts = {int(np.argmax(kinds == kind)) for kind in np.unique(kinds)}
    return {min(number % 5, len(kinds) - 1)} | (firsts if len(firsts) > 1 else set())
