from __future__ import annotations

import io
import zlib
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from vfs.errors import FrameTooLarge
from vfs.formats import FORMATS, PixelFormat, dtype_of, npy_encode, png_encode, png_size, shape_of

PIXEL_FORMATS: tuple[PixelFormat, ...] = ("rgb24", "rgb48le", "gray", "gray16le")


def picture(height: int, width: int, pixel_format: PixelFormat, seed: int = 0) -> NDArray[Any]:
    dtype = dtype_of(pixel_format)
    limit = 256 if dtype.itemsize == 1 else 65536
    random = np.random.default_rng(seed)
    array: NDArray[Any] = random.integers(0, limit, shape_of(height, width, pixel_format), dtype)
    return array


# 21845 samples of a row and its filter byte fill stored blocks exactly: 65535 = 3 * 5 * 17 * 257.
SHAPES = [(1, 1), (1, 65534), (1, 65535), (3, 21844), (257, 254), (480, 640), (7, 13000)]


@pytest.mark.parametrize("pixel_format", PIXEL_FORMATS)
@pytest.mark.parametrize(("height", "width"), SHAPES)
def test_png_holds_the_samples_and_has_the_size_told_before(
    height: int, width: int, pixel_format: PixelFormat
) -> None:
    array = picture(height, width, pixel_format)
    content = png_encode(array)
    assert len(content) == png_size(height, width, pixel_format)
    # OpenCV is the one that reads 16-bit colour.
    image: Any = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    decoded = image[:, :, ::-1] if array.ndim == 3 else image
    np.testing.assert_array_equal(decoded, array)
    assert decoded.dtype == array.dtype


@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from(PIXEL_FORMATS))
@settings(deadline=None, max_examples=50)
def test_any_shape_in_any_format(height: int, width: int, pixel_format: PixelFormat) -> None:
    array = picture(height, width, pixel_format, seed=height)
    for form in FORMATS.values():
        assert len(form.encode(array)) == form.size(height, width, pixel_format)
    stored = np.load(io.BytesIO(npy_encode(array)), allow_pickle=False)
    np.testing.assert_array_equal(stored, array)
    assert stored.dtype == array.dtype
    content = bytes(png_encode(array))
    payload = zlib.decompress(content[41:-16])  # checks Adler-32
    rows = np.frombuffer(payload, np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    big_endian = array.astype(array.dtype.newbyteorder(">")).tobytes()
    assert rows[:, 1:].tobytes() == big_endian


@pytest.mark.parametrize("pixel_format", ["rgb24", "gray", "gray16le"])
def test_pillow_reads_the_png_and_finds_its_checksums_right(pixel_format: PixelFormat) -> None:
    array = picture(48, 64, pixel_format)
    with Image.open(io.BytesIO(png_encode(array))) as image:
        image.verify()
    with Image.open(io.BytesIO(png_encode(array))) as image:
        np.testing.assert_array_equal(np.asarray(image), array)


def test_the_npy_file_is_the_one_that_numpy_writes() -> None:
    for pixel_format in PIXEL_FORMATS:
        array = picture(48, 64, pixel_format)
        expected = io.BytesIO()
        np.save(expected, array)
        assert bytes(npy_encode(array)) == expected.getvalue()


def test_a_file_cannot_be_written_to() -> None:
    for form in FORMATS.values():
        assert form.encode(picture(2, 2, "rgb24")).readonly


def test_a_read_only_array_can_be_encoded() -> None:
    array = picture(4, 4, "rgb48le")
    array.flags.writeable = False
    for form in FORMATS.values():
        form.encode(array)


def test_more_than_a_png_chunk_holds_is_refused_before_anything_is_decoded() -> None:
    with pytest.raises(FrameTooLarge, match=r"\.npy"):
        png_size(32768, 32768, "rgb24")
