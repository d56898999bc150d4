from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from decoder.corpus import source_at
from decoder.errors import UnsupportedStream
from decoder.index import Geometry
from decoder.indexing import index_source
from decoder.pixels import Pixels
from decoder.planes import joined_shape
from decoder.reader import FrameReader
from tests.clips import picture, set_display_matrix, to_frame, write_clip

PLANAR = [
    *("yuv420p", "yuvj420p", "yuv422p", "yuv444p", "yuv411p", "yuv410p", "yuva420p", "gray"),
    *("gbrp", "gray16be"),
    *("yuv420p10le", "yuv422p12le", "yuv444p16le", "gray10le", "gbrp10le"),
]


def pixels(pix_fmt: str, size: tuple[int, int]) -> Pixels:
    frame = to_frame(picture(3, size=(64, 48)), "rgb24")
    return Pixels(frame.reformat(width=size[0], height=size[1], format=pix_fmt))


@pytest.mark.parametrize("size", [(64, 48), (62, 46), (33, 25)])
@pytest.mark.parametrize("pix_fmt", PLANAR)
def test_shape_and_type_are_known_from_the_format(pix_fmt: str, size: tuple[int, int]) -> None:
    one = pixels(pix_fmt, size)
    array = one.joined()
    assert (array.shape, array.dtype) == joined_shape(one.geometry)
    assert array.flags.c_contiguous
    native = one.native.format
    places = {c.plane for c in native.components}
    assert array.size == sum(c.width * c.height for c in native.components)
    assert len(places) == len(native.components)
    assert one.nbytes >= array.nbytes
    # The first plane is luma (green of RGB), whatever follows.
    luma = array.reshape(-1)[: size[0] * size[1]].astype(float)
    expected = one.native.reformat(format="gray16le" if array.itemsize == 2 else "gray")
    spread = np.corrcoef(luma, expected.to_ndarray().reshape(-1))[0, 1]
    assert spread > (0.5 if pix_fmt.startswith("gbr") else 0.99)


def test_420_is_the_i420_of_opencv() -> None:
    one = pixels("yuv420p", (64, 48))
    array = one.joined()
    assert array.shape == (72, 64)
    rgb = cv2.cvtColor(array, cv2.COLOR_YUV2RGB_I420)
    assert np.abs(rgb.astype(int) - one.array("rgb24")).mean() < 3


def test_planes_of_one_size_are_stacked() -> None:
    one = pixels("yuv444p", (33, 25))
    array = one.joined()
    assert array.shape == (3, 25, 33)
    np.testing.assert_array_equal(array, one.native.to_ndarray(channel_last=False))


@pytest.mark.parametrize("pix_fmt", ["rgb24", "nv12", "p010le", "yuyv422", "pal8", "bgr0", "ya8"])
def test_formats_without_a_plane_for_each_kind_are_refused(pix_fmt: str) -> None:
    geometry = Geometry(64, 48, pix_fmt, 8, "upright")
    with pytest.raises(UnsupportedStream, match=f"{pix_fmt} have no plane for each kind"):
        joined_shape(geometry)


def test_planes_are_turned_as_the_frame_is(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", frames=3, size=(128, 96))
    with FrameReader(clip) as reader:
        upright = reader.frame(1).joined()
    set_display_matrix(clip, (0, 1 << 16, -1 << 16, 0))
    index = index_source(source_at(str(clip)))
    with FrameReader(clip, index=index) as reader:
        turned = reader.frame(1).joined()
    assert (turned.shape, turned.dtype) == joined_shape(index.geometry(1))
    assert turned.shape == (192, 96)
    np.testing.assert_array_equal(turned[:128], np.rot90(upright[:96], -1))


def test_every_clip_has_planes_as_its_index_says(clips: Path) -> None:
    for name in ("s17_hdr10.mp4", "s18_444.mp4", "s21b_oddvp9.webm", "s33_prores4444.mov"):
        path = clips / "synth" / name
        index = index_source(source_at(str(path)))
        with FrameReader(path, index=index) as reader:
            array = reader.frame(2).joined()
        assert (array.shape, array.dtype) == joined_shape(index.geometry(2))
        with av.open(str(path)) as container:
            *_, frame = (f for f, _ in zip(container.decode(video=0), range(3), strict=False))
        np.testing.assert_array_equal(array, Pixels(frame).joined())
