from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import cv2
import imageio.v3 as imageio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tests.oracle import full_decode
from tests.vfs.pictures import noise, smooth
from tests.vfs.test_formats import by_ffmpeg
from vfs.formats import Jpg, Png, quality_of
from vfs.formats.jpg import Subsampling, _filled

SUBSAMPLINGS: tuple[Subsampling, ...] = ("4:2:0", "4:2:2", "4:4:4")


def by_pillow(array: NDArray[Any], quality: int, subsampling: Subsampling) -> bytes:
    file = io.BytesIO()
    Image.fromarray(array).save(file, "JPEG", quality=quality, subsampling=subsampling)
    return file.getvalue()


def decoded(content: bytes | memoryview) -> NDArray[Any]:
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image)


def segments(content: memoryview) -> list[tuple[int, int]]:
    """(marker, length) of the segments up to the first scan, as a strict reader walks them."""
    found = []
    place = 2
    while True:
        marker, length = struct.unpack_from(">HH", content, place)
        assert marker >> 8 == 0xFF
        found.append((marker, length))
        if marker == 0xFFDA:
            return found
        place += 2 + length


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("quality", [1, 50, 95, 100])
@pytest.mark.parametrize(("height", "width"), [(480, 640), (97, 131), (8, 8), (1, 1)])
def test_it_is_the_encoding_of_the_picture_and_comments(
    quality: int, subsampling: Subsampling, height: int, width: int
) -> None:
    array = smooth(height, width)
    form = Jpg(quality, subsampling)
    content = form.encode(array)
    assert len(content) == form.size(array.shape, array.dtype)
    plain = by_pillow(array, quality, subsampling)
    assert quality_of(content) == quality
    np.testing.assert_array_equal(decoded(content), decoded(plain))
    # All of it: what was put in between are comments and nothing else.
    assert bytes(content[:20]) == plain[:20]
    assert bytes(content[-len(plain) + 20 :]) == plain[20:]
    inserted = segments(content)[1 : -len(segments(memoryview(plain))) + 1]
    assert {marker for marker, _ in inserted} == {0xFFFE}
    assert bytes(content[-2:]) == b"\xff\xd9"


def test_gray_is_encoded_as_gray() -> None:
    array = smooth(60, 80)[..., 0]
    content = Jpg().encode(np.ascontiguousarray(array))
    np.testing.assert_array_equal(decoded(content), decoded(by_pillow(array, 95, "4:2:0")))
    assert decoded(content).shape == (60, 80)


def by_opencv(content: bytes | memoryview) -> NDArray[Any]:
    image: Any = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    return np.asarray(image)


READERS: dict[str, Callable[[bytes | memoryview], NDArray[Any]]] = {
    "opencv": by_opencv,
    "imageio": lambda content: np.asarray(imageio.imread(bytes(content))),
    "ffmpeg": lambda content: by_ffmpeg(memoryview(content), "mjpeg", "rgb24"),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_sees_the_picture_that_is_there_without_the_comments(reader: str) -> None:
    array = smooth(120, 160)
    read = READERS[reader]
    np.testing.assert_array_equal(read(Jpg().encode(array)), read(by_pillow(array, 95, "4:2:0")))


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 100), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_there_is_room_for_comments_of_any_length(
    height: int, width: int, quality: int, seed: int
) -> None:
    array = smooth(height, width, seed)
    content = Jpg(quality).encode(array)
    assert quality_of(content) == quality
    assert sum(2 + length for _, length in segments(content)) < len(content)
    assert decoded(content).shape == array.shape


@pytest.mark.parametrize("gap", [30, *range(65535, 65545), *range(131072, 131082), 200_000])
def test_a_gap_of_any_length_is_filled_with_whole_segments(gap: int) -> None:
    array = smooth(16, 16)
    plain = by_pillow(array, 95, "4:2:0")
    content = _filled(plain, 95, len(plain) + gap)
    assert len(content) == len(plain) + gap
    comments = [length for marker, length in segments(content) if marker == 0xFFFE]
    assert sum(2 + length for length in comments) == gap
    np.testing.assert_array_equal(decoded(content), decoded(plain))


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
def test_a_picture_that_exceeds_the_size_gets_the_highest_quality_that_fits(
    subsampling: Subsampling,
) -> None:
    array = noise((240, 320, 3))
    form = Jpg(95, subsampling)
    content = form.encode(array)
    size = form.size(array.shape, array.dtype)
    assert len(content) == size
    quality = quality_of(content)
    assert quality is not None
    assert 60 < quality < 95
    np.testing.assert_array_equal(decoded(content), decoded(by_pillow(array, quality, subsampling)))
    assert len(by_pillow(array, quality + 1, subsampling)) > size - 40


@pytest.mark.parametrize("quality", [1, 10, 30, 60, 95, 100])
@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("gray", [False, True])
def test_even_black_and_white_noise_fits_at_some_quality(
    quality: int, subsampling: Subsampling, gray: bool
) -> None:
    for height, width in [(128, 128), (17, 33), (1, 1), (16, 400)]:
        shape = (height, width) if gray else (height, width, 3)
        array = (noise(shape) & 1) * np.uint8(255)
        content = Jpg(quality, subsampling).encode(array)
        assert decoded(content).shape == shape


def test_frames_of_film_keep_the_quality_asked_for(sample: Any) -> None:
    for clip in sample.glob("*.mp4"):
        for number, array in enumerate(full_decode(clip)):
            if number % 75 == 0:
                for quality in (75, 95):
                    assert quality_of(Jpg(quality).encode(array)) == quality


def test_other_files_have_no_quality() -> None:
    assert quality_of(Png("jpg").encode(smooth(8, 8))) is None
