"""PNG with stored (uncompressed) deflate blocks and filter 0: a few copies, two checksums. Pure."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from vfs.errors import FrameTooLarge
from vfs.formats.format import Shape

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_ZLIB_HEADER = b"\x78\x01"  # 32 KiB window, fastest
_BLOCK = 65535  # the most that one stored deflate block holds (RFC 1951, 3.2.4)
_BLOCK_HEADER = 5
_IDAT_START = 8 + 25 + 8  # signature, IHDR chunk, length and type of IDAT
_CHUNK_LIMIT = 2**31 - 1  # PNG, 5.3: the length of a chunk


@dataclass(frozen=True, slots=True)
class Png:
    """Lossless, 8 or 16 bits a sample. Under another ``extension`` for those who insist on it."""

    extension: str = "png"

    def size(self, shape: Shape, dtype: np.dtype[Any]) -> int:
        """As `Format.size`. Raises FrameTooLarge beyond 2 GiB of samples."""
        height, width = shape[:2]
        row = 1 + width * (3 if len(shape) == 3 else 1) * dtype.itemsize
        stream = _stream_size(height * row)
        if stream > _CHUNK_LIMIT:
            raise FrameTooLarge(
                f"{width}x{height} {dtype}: more than one PNG chunk holds; read it as .npy"
            )
        return _IDAT_START + stream + 4 + 12

    def encode(self, array: NDArray[Any]) -> memoryview:
        """As `Format.encode`."""
        height, width = array.shape[:2]
        sample = array.itemsize
        row = 1 + (array.size // height) * sample
        stream = _stream_size(height * row)
        out = np.empty(_IDAT_START + stream + 4 + 12, np.uint8)

        color_type = 2 if array.ndim == 3 else 0
        header = struct.pack(">IIBBBBB", width, height, 8 * sample, color_type, 0, 0, 0)
        start = _SIGNATURE + _chunk(b"IHDR", header) + struct.pack(">I", stream) + b"IDAT"
        out[:_IDAT_START] = np.frombuffer(start, np.uint8)

        # The rows go to the end of the stream first, from where its blocks are moved to their
        # places.
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
