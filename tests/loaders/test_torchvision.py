"""torchvision's ImageFolder and its own image reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loaders.conftest import Pair, Pairs
from tests.loaders.layouts import EXPECTED

torchvision = pytest.importorskip("torchvision", reason="torchvision is not installed")
import torch
from torchvision import io
from torchvision.datasets import ImageFolder


@pytest.fixture
def pair(pairs: Pairs) -> Pair:
    return pairs("imagefolder", *EXPECTED["imagefolder"])


def test_image_folder_has_the_same_classes_samples_and_images(pair: Pair) -> None:
    mounted, extracted = (ImageFolder(str(root)) for root in pair.both())
    assert mounted.classes == extracted.classes == ["eat", "run"]

    def relative(dataset: ImageFolder, root: Path) -> list[tuple[str, int]]:
        return [(str(Path(path).relative_to(root)), label) for path, label in dataset.samples]

    assert relative(mounted, pair.mount) == relative(extracted, pair.folder)
    assert len(mounted) == 30
    for (image, label), (expected, number) in zip(mounted, extracted, strict=True):
        assert label == number
        assert image.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "read",
    [
        lambda path: io.decode_image(str(path)),
        lambda path: io.decode_image(io.read_file(str(path)), io.ImageReadMode.RGB),
        lambda path: io.read_image(str(path)),
    ],
)
def test_reading_through_read_file_which_believes_the_size(
    read: Callable[[Path], torch.Tensor], pair: Pair
) -> None:
    for name in pair.names():
        assert torch.equal(read(pair.mount / name), read(pair.folder / name))


def test_jpeg_decoder(pairs: Pairs) -> None:
    pair = pairs("kinetics", *EXPECTED["kinetics"])
    for name in pair.names():
        image = io.decode_image(str(pair.mount / name))
        assert torch.equal(image, io.decode_image(str(pair.folder / name)))


def test_a_data_loader_with_workers(pair: Pair) -> None:
    to_tensor = torchvision.transforms.ToTensor()
    batches = []
    for root in pair.both():
        loader = torch.utils.data.DataLoader(
            ImageFolder(str(root), transform=to_tensor), batch_size=7, num_workers=2
        )
        batches.append(torch.cat([images for images, _ in loader]))
    assert torch.equal(*batches)
