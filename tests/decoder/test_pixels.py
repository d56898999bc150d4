from __future__ import annotations

import gc
import random
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from decoder.corpus import source_at
from decoder.errors import UnsupportedStream
from decoder.pixels import Orientation, PixelFormat, Pixels
from decoder.reader import FrameReader
from tests.clips import packets_of, picture, read_barcode, set_display_matrix, to_frame, write_clip
from tests.oracle import Shown, full_frames, native_digest

FORMATS = (
    "yuv420p yuv422p yuv444p yuv410p yuv411p yuva420p yuv420p10le yuv444p12le yuv420p10be "
    "gray gray10le gray16le ya8 rgb24 bgr24 bgra argb rgb555le rgb565le gbrp gbrp10le gbrap nv12 "
    "nv16 p010le yuyv422 uyvy422 pal8 monow monob rgb8 bgr8 yuvj420p"
).split()

UNIT = 1 << 16


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", [(64, 48), (67, 49)])
def test_hash_covers_every_sample_and_no_padding(name: str, size: tuple[int, int]) -> None:
    frame = to_frame(picture(3, size=size), name)
    pixels = Pixels(frame)
    before = pixels.hash
    _fill_padding(frame)
    assert Pixels(frame).hash == before
    for number, plane in enumerate(frame.planes):
        memory = np.frombuffer(memoryview(plane), np.uint8)
        last = pixels.planes[number].shape[1] - 1
        rows = max(1, plane.height) if plane.line_size else 1
        for place in (0, last, (rows - 1) * abs(plane.line_size) + last):
            memory[place] ^= 0x80
            assert Pixels(frame).hash != before, f"{name}: byte {place} of plane {number}"
            memory[place] ^= 0x80
    assert Pixels(frame).hash == before


def _fill_padding(frame: av.VideoFrame) -> None:
    for plane, used in zip(frame.planes, Pixels(frame).planes, strict=True):
        if plane.line_size:
            memory = np.frombuffer(memoryview(plane), np.uint8)
            rows = memory.reshape(plane.height, abs(plane.line_size))
            rows[:, used.shape[1] :] = 0xA5


def test_hash_tells_formats_sizes_and_colours_apart() -> None:
    def plain(width: int, height: int, name: str) -> av.VideoFrame:
        frame = av.VideoFrame(width, height, name)
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        return frame

    frames = [plain(64, 32, "gray"), plain(32, 64, "gray"), plain(64, 32, "rgb8")]
    for colorspace, color_range in ((1, 1), (5, 1), (1, 2)):
        frame = plain(64, 32, "gray")
        frame.colorspace, frame.color_range = colorspace, color_range
        frames.append(frame)
    assert len({Pixels(frame).hash for frame in frames}) == len(frames)


@pytest.mark.parametrize("name", [n for n in FORMATS if n not in ("monow", "monob")])
@pytest.mark.parametrize("pixel_format", ["rgb24", "rgb48le", "gray", "gray16le"])
def test_arrays_of_any_native_format(name: str, pixel_format: PixelFormat) -> None:
    size = (66, 48)
    pixels = Pixels(to_frame(picture(77, 5, size), name))
    array = pixels.array(pixel_format)
    assert array.flags.c_contiguous
    assert array.shape == ((48, 66) if pixel_format.startswith("gray") else (48, 66, 3))
    assert array.dtype == (np.uint16 if pixel_format.endswith("le") else np.uint8)
    assert read_barcode(array) == (5, 77)
    assert np.array_equal(array, Shown(pixels.native, Fraction(1)).array(pixel_format))


def test_conversion_is_the_same_every_time() -> None:
    pixels = Pixels(to_frame(picture(3, size=(67, 49)), "yuv420p"))
    for pixel_format in ("gray16le", "rgb48le", "rgb24", "gray"):
        first = pixels.array(pixel_format)
        for _ in range(100):
            assert np.array_equal(pixels.array(pixel_format), first)


def test_what_was_converted_before_makes_no_difference() -> None:
    """A thread converts all its frames with one converter."""
    generator = random.Random(1)
    frames = []
    for name in FORMATS:
        for size in ((64, 48), (67, 49)):
            frame = to_frame(picture(3, size=size), name)
            frame.colorspace = generator.choice([1, 2, 5, 9])
            frame.color_range = generator.choice([0, 1, 2])
            frames.append(frame)
    for _ in range(600):
        frame = generator.choice(frames)
        pixel_format: PixelFormat = generator.choice(("rgb24", "rgb48le", "gray", "gray16le"))
        expected = frame.to_ndarray(format=pixel_format, threads=1)
        assert np.array_equal(Pixels(frame).array(pixel_format), expected)
        if generator.random() < 0.1:
            with pytest.raises(UnsupportedStream):
                Pixels(av.VideoFrame(64, 48, "gbrap32le")).array(pixel_format)


@pytest.mark.parametrize(
    ("matrix", "name"),
    [
        ((UNIT, 0, 0, UNIT), "upright"),
        ((0, UNIT, -UNIT, 0), "transpose+mirror"),
        ((-UNIT, 0, 0, -UNIT), "mirror+flip"),
        ((0, -UNIT, UNIT, 0), "transpose+flip"),
        ((-UNIT, 0, 0, UNIT), "mirror"),
        ((UNIT, 0, 0, -UNIT), "flip"),
        ((0, UNIT, UNIT, 0), "transpose"),
        ((0, -UNIT, -UNIT, 0), "transpose+mirror+flip"),
    ],
)
def test_turned_as_the_ffmpeg_tool_does(
    tmp_path: Path, matrix: tuple[int, int, int, int], name: str
) -> None:
    path = write_clip(tmp_path / "clip.mp4", frames=4, size=(96, 64))
    set_display_matrix(path, matrix)
    with FrameReader(str(path)) as reader, FrameReader(str(path), rotate=False) as raw:
        assert reader.index.geometry(0).orientation == name
        for n, shown in enumerate(full_frames(path)):
            array = reader.frame(n).array("rgb24")
            assert np.array_equal(array, shown.array())
            assert array.shape[:2] == reader.index.shape(n)
            assert array.flags.c_contiguous
            assert np.array_equal(raw.frame(n).array("rgb24"), shown.array(rotate=False))
        assert raw.index.shape(0) == (64, 96)
        assert reader.read([1], "gray").shape == (1, *reader.index.shape(1))


@pytest.mark.parametrize(
    ("said", "name"),
    [(1, "upright"), (2, "mirror"), (6, "transpose+mirror"), (8, "transpose+flip")],
)
def test_orientation_in_exif(tmp_path: Path, said: int, name: str) -> None:
    """Side data of a kind that PyAV has no name for."""
    tiff = b"II*\0" + struct.pack("<IHHHIII", 8, 1, 0x112, 3, 1, said, 0)
    exif = b"\xff\xe1" + struct.pack(">H", len(tiff) + 8) + b"Exif\0\0" + tiff
    path = write_clip(tmp_path / "a.avi", codec="mjpeg", pix_fmt="yuvj420p", frames=3)
    pictures = [bytes(packet) for packet in packets_of(path)]
    with av.open(path) as template, av.open(tmp_path / "b.avi", "w") as output:
        stream = output.add_stream_from_template(template.streams.video[0])
        for n, picture in enumerate(pictures):
            packet: Any = av.Packet(picture[:2] + exif + picture[2:])
            packet.stream, packet.pts, packet.dts = stream, n, n
            packet.time_base, packet.is_keyframe = Fraction(1, 30), True
            output.mux(packet)
    with FrameReader(tmp_path / "b.avi") as reader:
        assert reader.index.geometry(0).orientation == name
        shown = next(iter(full_frames(tmp_path / "b.avi")))
        plain = shown.native.to_ndarray(format="rgb24")
        turned = {2: plain[:, ::-1], 6: np.rot90(plain, -1), 8: np.rot90(plain)}.get(said, plain)
        assert np.array_equal(reader.frame(0).array("rgb24"), turned)


def test_frames_are_freed_as_soon_as_they_are_let_go(tmp_path: Path) -> None:
    """Not when the garbage collector comes by: a hundred large frames are a gigabyte."""
    path = write_clip(tmp_path / "clip.mp4", frames=3)
    set_display_matrix(path, (0, UNIT, -UNIT, 0))
    gc.collect()
    gc.disable()
    try:
        for shown in full_frames(path):
            before = sys.getrefcount(shown.native)
            pixels = Pixels(shown.native)
            assert pixels.geometry.orientation == "transpose+mirror"
            pixels.array("rgb24")
            assert pixels.hash
            del pixels
            after = sys.getrefcount(shown.native)
            assert after == before
    finally:
        gc.enable()


def test_tilted_pictures_are_left_as_they_are(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", frames=2)
    set_display_matrix(path, (46341, 46341, -46341, 46341))
    with FrameReader(source_at(str(path))) as reader:
        assert reader.index.geometry(0).orientation == "tilted"
        assert read_barcode(reader.frame(1).array("rgb24")) == (0, 1)


def test_orientation_of_scaled_and_of_no_matrix() -> None:
    def of(*matrix: int) -> str:
        return Orientation.of(np.array(matrix, np.int32)).name

    assert of(2 * UNIT, 0, 0, 0, 3 * UNIT, 0, 0, 0, 1 << 30) == "upright"
    assert of(0, 2 * UNIT, 0, -UNIT, 0, 0, 0, 0, 1 << 30) == "transpose+mirror"
    assert of(0, 0, 0, 0, 0, 0, 0, 0, 0) == "tilted"


def test_native_planes_are_those_of_the_decoder(h264: Path) -> None:
    shown = list(full_frames(h264))
    with FrameReader(str(h264)) as reader:
        for n in (0, 31, 59):
            pixels = reader.frame(n)
            assert native_digest(pixels.native) == shown[n].digest
            assert [plane.shape for plane in pixels.planes] == [(96, 128), (48, 64), (48, 64)]


def test_one_frame_that_several_threads_convert_at_once(tmp_path: Path) -> None:
    """Askers of one frame are handed the same object."""
    formats: tuple[PixelFormat, ...] = ("rgb24", "gray", "rgb48le", "rgb24", "gray16le", "rgb24")
    path = write_clip(tmp_path / "a.mp4", frames=8, size=(320, 240))
    with FrameReader(str(path)) as reader:
        expected = {name: reader.read([5], name)[0] for name in formats}
        for _ in range(60):
            pixels = reader.frame(5)
            before = pixels.hash
            barrier = threading.Barrier(len(formats))

            def convert(
                name: PixelFormat, pixels: Pixels = pixels, barrier: threading.Barrier = barrier
            ) -> bool:
                barrier.wait()
                return bool((pixels.array(name) == expected[name]).all())

            with ThreadPoolExecutor(len(formats)) as pool:
                assert all(pool.map(convert, formats))
            assert pixels.hash == before
