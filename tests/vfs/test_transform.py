from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.vfs.pictures import noise, smooth
from vfs.errors import FrameTooSmall
from vfs.transform import Crop, Resize, Transform


@pytest.mark.parametrize(
    ("short", "shape", "expected"),
    [
        (240, (480, 640), (240, 320)),
        (256, (480, 640), (256, 341)),
        (256, (640, 480), (341, 256)),
        (100, (33, 33), (100, 100)),
        (1, (1000, 3), (333, 1)),
        (1, (7, 1000), (1, 142)),
    ],
)
def test_the_short_side_is_given_and_the_other_follows(
    short: int, shape: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert Resize(short).shape(*shape) == expected


@pytest.mark.parametrize("name", ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"])
def test_the_filter_is_that_of_pillow(name: Any) -> None:
    array = smooth(60, 90)
    resized = Resize(24, name).apply(array)
    filter_ = getattr(Image.Resampling, name.upper())
    expected = Image.fromarray(array).resize((36, 24), filter_)
    np.testing.assert_array_equal(resized, np.asarray(expected))


@pytest.mark.parametrize("shape", [(60, 90, 3), (60, 90)])
def test_sixteen_bits_are_resized_to_the_nearest_level(shape: tuple[int, ...]) -> None:
    deep = noise(shape, deep=True)
    resized = Resize(24, "bicubic").apply(deep)
    assert resized.dtype == np.uint16
    assert resized.shape == (24, 36, *shape[2:])
    # Levels that are multiples of 257 are those of 8 bits, whose own rounding is coarser.
    shallow = noise(shape)
    both = Resize(24, "bicubic").apply(shallow.astype(np.uint16) * 257) / 257
    assert np.abs(both - Resize(24, "bicubic").apply(shallow)).max() <= 1


def test_levels_between_two_become_the_nearest() -> None:
    array = np.array([[1000, 1001], [1001, 1001]], np.uint16)
    assert Resize(1, "box").apply(array).tolist() == [[1001]]
    bright = np.array([[65535, 65535, 0, 0]] * 4, np.uint16)
    assert Resize(9, "lanczos").apply(bright).max() == 65535  # where it overshoots


def test_what_has_the_size_already_is_left_alone() -> None:
    array = smooth(48, 64)
    assert Resize(48).apply(array) is array
    assert Transform().apply(array) is array


def test_a_crop_from_the_middle_or_from_a_corner() -> None:
    array = np.arange(6 * 9, dtype=np.uint8).reshape(6, 9)
    np.testing.assert_array_equal(Crop(3, 2).apply(array), array[2:4, 3:6])
    np.testing.assert_array_equal(Crop(3, 2, 0, 4).apply(array), array[4:6, 0:3])
    assert Crop(3, 2).apply(array).flags.c_contiguous


@pytest.mark.parametrize("crop", [Crop(10, 2), Crop(3, 7), Crop(3, 2, 7, 0), Crop(3, 2, 0, 5)])
def test_a_crop_that_does_not_fit_is_refused_by_its_size(crop: Crop) -> None:
    with pytest.raises(FrameTooSmall, match=f"{crop.width}x{crop.height} at .* of 9x6; choose a"):
        crop.shape(6, 9)


@given(
    st.integers(1, 120),
    st.integers(1, 120),
    st.integers(1, 60),
    st.booleans(),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_the_shape_is_known_before(
    height: int, width: int, short: int, deep: bool, gray: bool
) -> None:
    crop = Crop(max(1, short // 2), max(1, short // 3))
    transform = Transform(Resize(short), crop)
    array = noise((height, width) if gray else (height, width, 3), deep=deep)
    out = transform.apply(array)
    assert out.shape[:2] == transform.shape(height, width)
    assert out.dtype == array.dtype
    assert out.flags.c_contiguous
