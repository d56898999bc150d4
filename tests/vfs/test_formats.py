from __future__ import annotations

import io
import zlib
from typing import Any

import av
import cv2
import imageio.v3 as imageio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tests.vfs.pictures import noise
from vfs.errors import FrameTooLarge
from vfs.formats import Bmp, Format, Jpg, Npy, Png, Ppm, Webp

LOSSLESS: tuple[Format, ...] = (Png(), Bmp(), Ppm(), Webp())
DEEP: tuple[Format, ...] = (Png(), Ppm(), Npy(), Npy("chw"))
EVERY: tuple[Format, ...] = (*LOSSLESS, Npy(), Npy("chw"), Jpg(), Jpg(20, "4:4:4"))

# 21845 samples of a row and its filter byte fill stored blocks exactly: 65535 = 3 * 5 * 17 * 257.
SIZES = [(1, 1), (1, 16383), (3, 21844), (257, 254), (480, 640), (7, 13000), (5, 3)]


def name(form: object) -> str:
    return repr(form).replace(" ", "")


def in_rgb(form: Format, array: NDArray[Any]) -> NDArray[Any]:
    """What a reader makes of a file: a WebP has no gray."""
    gray_as_rgb = isinstance(form, Webp) and array.ndim == 2
    return np.repeat(array[..., None], 3, axis=2) if gray_as_rgb else array


def by_opencv(content: memoryview) -> NDArray[Any]:
    image: Any = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    return np.asarray(image[:, :, ::-1] if image.ndim == 3 else image)


def by_ffmpeg(content: memoryview, codec: str, pixel_format: str) -> NDArray[Any]:
    context: Any = av.CodecContext.create(codec, "r")
    (frame,) = context.decode(av.Packet(bytes(content))) + context.decode(None)
    array: NDArray[Any] = frame.to_ndarray(format=pixel_format)
    return array


@pytest.mark.parametrize("gray", [False, True])
@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("form", LOSSLESS, ids=name)
def test_lossless_files_hold_the_samples_and_have_the_size_told_before(
    form: Format, height: int, width: int, gray: bool
) -> None:
    if isinstance(form, Webp) and width > 1 << 14:
        pytest.skip("wider than a WebP can be")
    array = noise((height, width) if gray else (height, width, 3))
    content = form.encode(array)
    assert len(content) == form.size(array.shape, array.dtype)
    expected = in_rgb(form, array)
    np.testing.assert_array_equal(by_opencv(content), expected)
    with Image.open(io.BytesIO(content)) as image:
        np.testing.assert_array_equal(np.asarray(image), expected)
    np.testing.assert_array_equal(imageio.imread(bytes(content)), expected)


@pytest.mark.parametrize("shape", [(48, 64, 3), (47, 61, 3), (48, 64)])
@pytest.mark.parametrize(
    ("form", "codec"), [(Png(), "png"), (Bmp(), "bmp"), (Ppm(), "ppm"), (Webp(), "webp")]
)
def test_ffmpeg_decodes_lossless_files(form: Format, codec: str, shape: tuple[int, ...]) -> None:
    if isinstance(form, Bmp) and len(shape) == 2:
        pytest.skip("FFmpeg's way from a palette to gray is by way of colours, with rounding")
    array = noise(shape)
    pixel_format = "gray" if len(shape) == 2 else "rgb24"
    if isinstance(form, Webp):
        array, pixel_format = in_rgb(form, array), "rgb24"
    if isinstance(form, Ppm) and len(shape) == 2:
        codec = "pgm"
    np.testing.assert_array_equal(by_ffmpeg(form.encode(array), codec, pixel_format), array)


@pytest.mark.parametrize("form", DEEP, ids=name)
@pytest.mark.parametrize("shape", [(480, 640, 3), (13, 21, 3), (48, 64)])
def test_sixteen_bits_a_sample(form: Format, shape: tuple[int, ...]) -> None:
    array = noise(shape, deep=True)
    content = form.encode(array)
    assert len(content) == form.size(array.shape, array.dtype)
    if isinstance(form, Npy):
        loaded = np.load(io.BytesIO(content))
        if form.order == "chw" and array.ndim == 3:
            loaded = loaded.transpose(1, 2, 0)
    else:
        loaded = by_opencv(content)  # which reads 16-bit colour, as Pillow does not
    np.testing.assert_array_equal(loaded, array)
    assert loaded.dtype == np.uint16


@given(st.integers(1, 300), st.integers(1, 300), st.booleans(), st.sampled_from(EVERY))
@settings(deadline=None, max_examples=80)
def test_any_shape_in_any_format_has_its_size(
    height: int, width: int, gray: bool, form: Format
) -> None:
    array = noise((height, width) if gray else (height, width, 3), seed=height)
    assert len(form.encode(array)) == form.size(array.shape, array.dtype)


@given(st.integers(1, 300), st.integers(1, 300), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=30)
def test_the_stream_of_a_png(height: int, width: int, gray: bool, deep: bool) -> None:
    array = noise((height, width) if gray else (height, width, 3), deep=deep)
    content = bytes(Png().encode(array))
    payload = zlib.decompress(content[41:-16])  # checks Adler-32
    rows = np.frombuffer(payload, np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    big_endian = array.astype(array.dtype.newbyteorder(">")).tobytes()
    assert rows[:, 1:].tobytes() == big_endian


@pytest.mark.parametrize("shape", [(48, 64, 3), (48, 64)])
def test_pillow_finds_the_checksums_of_a_png_right(shape: tuple[int, ...]) -> None:
    with Image.open(io.BytesIO(Png().encode(noise(shape)))) as image:
        image.verify()


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("shape", [(48, 64, 3), (48, 64), (3, 48, 64), (1000,)])
def test_the_npy_file_is_the_one_that_numpy_writes(shape: tuple[int, ...], deep: bool) -> None:
    array = noise(shape, deep=deep)
    expected = io.BytesIO()
    np.save(expected, array)
    assert bytes(Npy().encode(array)) == expected.getvalue()
    assert len(expected.getvalue()) == Npy().size(array.shape, array.dtype)


def test_colours_first_is_what_numpy_writes_of_the_transposed_array() -> None:
    array = noise((48, 64, 3))
    expected = io.BytesIO()
    np.save(expected, np.ascontiguousarray(array.transpose(2, 0, 1)))
    assert bytes(Npy("chw").encode(array)) == expected.getvalue()


@pytest.mark.parametrize("form", EVERY, ids=name)
def test_a_file_cannot_be_written_to_and_a_read_only_array_can_be_encoded(form: Format) -> None:
    array = noise((4, 4, 3))
    array.flags.writeable = False
    assert form.encode(array).readonly


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        (Png(), (32768, 32768, 3)),
        (Bmp(), (40000, 40000, 3)),
        (Jpg(), (65536, 8, 3)),
        (Jpg(), (8, 65536)),
        (Webp(), (16385, 8, 3)),
    ],
    ids=name,
)
def test_what_a_format_cannot_hold_is_refused_before_anything_is_decoded(
    form: Format, shape: tuple[int, ...]
) -> None:
    with pytest.raises(FrameTooLarge):
        form.size(shape, np.dtype(np.uint8))
