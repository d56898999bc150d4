"""Frames as files whose size is known before the pixels are. Pure.

PNG with stored (uncompressed) deflate blocks and filter 0, NPY in format 1.0. Both are a few copies
and, for PNG, two checksums.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from vfs.errors import FrameTooLarge

PixelFormat = Literal["rgb24", "rgb48le", "gray", "gray16le"]
"""Samples of a frame: uint8 or uint16, [H, W, 3] or [H, W]."""

_CHANNELS: Mapping[PixelFormat, int] = {"rgb24": 3, "rgb48le": 3, "gray": 1, "gray16le": 1}
_SAMPLE_BYTES: Mapping[PixelFormat, int] = {"rgb24": 1, "rgb48le": 2, "gray": 1, "gray16le": 2}

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_ZLIB_HEADER = b"\x78\x01"  # 32 KiB window, fastest
_BLOCK = 65535  # the most that one stored deflate block holds (RFC 1951, 3.2.4)
_BLOCK_HEADER = 5
_IDAT_START = 8 + 25 + 8  # signature, IHDR chunk, length and type of IDAT
_CHUNK_LIMIT = 2**31 - 1  # PNG, 5.3: the length of a chunk
_NPY_HEADER = 128


@dataclass(frozen=True, slots=True)
class Format:
    """One file format.

    Attributes:
        extension: without the dot.
        size: (height, width, pixel format) -> bytes of the file. Raises FrameTooLarge.
        encode: C-contiguous uint8 or uint16 array [H, W, 3] or [H, W] -> the file, as a read-only
            view of that many bytes.
    """

    extension: str
    size: Callable[[int, int, PixelFormat], int]
    encode: Callable[[NDArray[Any]], memoryview]


def shape_of(height: int, width: int, pixel_format: PixelFormat) -> tuple[int, ...]:
    """The shape of an array with such samples."""
    return (height, width, 3) if _CHANNELS[pixel_format] == 3 else (height, width)


def dtype_of(pixel_format: PixelFormat) -> np.dtype[Any]:
    """The type of an array with such samples."""
    return np.dtype(np.uint8 if _SAMPLE_BYTES[pixel_format] == 1 else np.uint16)


def png_size(height: int, width: int, pixel_format: PixelFormat) -> int:
    """Bytes of the PNG file of such a frame. Raises FrameTooLarge beyond 2 GiB of samples."""
    row = 1 + width * _CHANNELS[pixel_format] * _SAMPLE_BYTES[pixel_format]
    stream = _stream_size(height * row)
    if stream > _CHUNK_LIMIT:
        raise FrameTooLarge(
            f"{width}x{height} {pixel_format}: more than one PNG chunk holds; read it as .npy"
        )
    return _IDAT_START + stream + 4 + 12


def png_encode(array: NDArray[Any]) -> memoryview:
    """The PNG file of a frame; see `Format`."""
    height, width = array.shape[:2]
    sample = array.itemsize
    row = 1 + (array.size // height) * sample
    stream = _stream_size(height * row)
    out = np.empty(_IDAT_START + stream + 4 + 12, np.uint8)

    color_type = 2 if array.ndim == 3 else 0
    header = struct.pack(">IIBBBBB", width, height, 8 * sample, color_type, 0, 0, 0)
    start = _SIGNATURE + _chunk(b"IHDR", header) + struct.pack(">I", stream) + b"IDAT"
    out[:_IDAT_START] = np.frombuffer(start, np.uint8)

    # The rows go to the end of the stream first, from where its blocks are moved to their places.
    payload = out[_IDAT_START + stream - 4 - height * row : _IDAT_START + stream - 4]
    rows = payload.reshape(height, row)
    rows[:, 0] = 0  # filter 0
    if sample == 1:
        rows[:, 1:] = array.reshape(height, row - 1)
    else:
        big_endian: NDArray[Any] = np.ndarray(
            (height, (row - 1) // 2), ">u2", payload.data, offset=1, strides=(row, 2)
        )
        big_endian[...] = array.reshape(height, -1)
    _store(out[_IDAT_START : _IDAT_START + stream], payload)

    checksum = zlib_ng.crc32(out[_IDAT_START - 4 : _IDAT_START + stream])
    end = struct.pack(">I", checksum) + _chunk(b"IEND", b"")
    out[_IDAT_START + stream :] = np.frombuffer(end, np.uint8)
    return out.data.toreadonly()


def _stream_size(payload: int) -> int:
    """Bytes of ``payload`` bytes as a zlib stream of stored blocks."""
    return len(_ZLIB_HEADER) + payload + _BLOCK_HEADER * -(-payload // _BLOCK) + 4


def _store(stream: NDArray[np.uint8], payload: NDArray[np.uint8]) -> None:
    """Makes a zlib stream of stored blocks of ``payload``, which lies at its end."""
    size = payload.size
    checksum = zlib_ng.adler32(payload)
    target, source = stream.data, payload.data
    target[:2] = _ZLIB_HEADER
    place = len(_ZLIB_HEADER)
    for start in range(0, size, _BLOCK):
        length = min(_BLOCK, size - start)
        last = start + length == size
        target[place : place + _BLOCK_HEADER] = struct.pack("<BHH", last, length, length ^ 0xFFFF)
        place += _BLOCK_HEADER
        # Towards the front, and never beyond where the next block still waits.
        target[place : place + length] = source[start : start + length]
        place += length
    target[place:] = struct.pack(">I", checksum)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib_ng.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def npy_size(height: int, width: int, pixel_format: PixelFormat) -> int:
    """Bytes of the NPY file of such a frame."""
    samples = height * width * _CHANNELS[pixel_format]
    return _NPY_HEADER + samples * _SAMPLE_BYTES[pixel_format]


def npy_encode(array: NDArray[Any]) -> memoryview:
    """The NPY file of a frame; see `Format`."""
    descr = "|u1" if array.itemsize == 1 else "<u2"
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {array.shape}, }}"
    length = _NPY_HEADER - 10
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", length)
    header += text.encode("ascii").ljust(length - 1) + b"\n"
    out = np.empty(_NPY_HEADER + array.nbytes, np.uint8)
    out[:_NPY_HEADER] = np.frombuffer(header, np.uint8)
    out[_NPY_HEADER:] = array.reshape(-1).view(np.uint8)
    return out.data.toreadonly()


FORMATS: Mapping[str, Format] = {
    "png": Format("png", png_size, png_encode),
    "npy": Format("npy", npy_size, npy_encode),
}
"""By extension."""
