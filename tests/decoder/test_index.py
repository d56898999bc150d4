from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from decoder.errors import FrameOutOfRange
from decoder.index import (
    DISCARD,
    KEY,
    NO_PACKET,
    NO_TIMESTAMP,
    FrameTable,
    Geometry,
    PacketTable,
    SourceIndex,
    StreamFacts,
)


def small_index() -> SourceIndex:
    """Three packets, of which the last shows nothing; four frames of two sizes."""
    facts = StreamFacts(0, "matroska,webm", "vp8", (1, 1000), (30000, 1001), (4, 3), ("torn",))
    packets = PacketTable(
        pts=np.array([0, NO_TIMESTAMP, 66], np.int64),
        dts=np.array([0, 33, NO_TIMESTAMP], np.int64),
        position=np.array([100, -1, 1 << 40], np.int64),
        size=np.array([10, 20, 30], np.int32),
        flags=np.array([KEY, 0, KEY | DISCARD], np.uint8),
        offset=np.array([0, 4, 0], np.uint8),
    )
    frames = FrameTable(
        packet=np.array([0, 0, 1, NO_PACKET], np.int32),
        picture_type=np.array([1, 1, 2, 0], np.uint8),
        hash=np.array([1, 2, 2**64 - 1, 0], np.uint64),
        geometry=np.array([0, 0, 1, 1], np.uint16),
    )
    geometries = (
        Geometry(64, 48, "yuv420p", 8, "upright"),
        Geometry(48, 64, "yuv420p10le", 10, "transpose+mirror"),
    )
    return SourceIndex(facts, packets, frames, geometries)


def test_frames_are_described() -> None:
    index = small_index()
    assert index.frame_count == 4
    first = index.frame(0)
    assert (first.frame, first.pts, first.time, first.picture_type) == (0, 0, Fraction(0), "I")
    assert (first.width, first.height, first.bits) == (64, 48, 8)
    assert index.frame(1).pts == 0  # two frames of one packet
    third = index.frame(2)
    assert (third.pts, third.time, third.picture_type, third.bits) == (None, None, "P", 10)
    assert (index.frame(3).pts, index.frame(3).picture_type) == (None, "?")
    assert [index.shape(n) for n in range(4)] == [(48, 64), (48, 64), (64, 48), (64, 48)]
    assert index.uniform_shape is None
    assert index.bits(3) == 10


@pytest.mark.parametrize("n", [-1, 4, 10**12])
def test_out_of_range(n: int) -> None:
    index = small_index()
    for ask in (index.frame, index.shape, index.bits, index.pts, index.geometry, index.check):
        with pytest.raises(FrameOutOfRange, match=f"no frame {n}; there are 4"):
            ask(n)


def test_uniform_shape_and_its_limits(index: SourceIndex) -> None:
    assert index.uniform_shape == (96, 128)
    assert index.shape(59) == (96, 128)
    for n in (-1, 60):
        with pytest.raises(FrameOutOfRange):
            index.shape(n)


def test_bytes_and_back(index: SourceIndex) -> None:
    for one in (small_index(), index):
        other = SourceIndex.from_bytes(one.to_bytes())
        assert other.facts == one.facts
        assert other.geometries == one.geometries
        assert other.uniform_shape == one.uniform_shape
        for name in PacketTable.__dataclass_fields__:
            a, b = getattr(other.packets, name), getattr(one.packets, name)
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
        for name in FrameTable.__dataclass_fields__:
            a, b = getattr(other.frames, name), getattr(one.frames, name)
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
        assert other.nbytes == one.nbytes


@pytest.mark.parametrize("seed", range(20))
def test_damaged_bytes_are_refused(seed: int) -> None:
    """Never another index, never another exception."""
    rng = random.Random(seed)
    good = small_index().to_bytes()
    for _ in range(20):
        blob = bytearray(good)
        kind = rng.randrange(3)
        if kind == 0:
            blob[rng.randrange(len(blob))] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del blob[rng.randrange(len(blob)) :]
        else:
            start = rng.randrange(len(blob))
            blob[start : start + 8] = rng.randbytes(8)
        with pytest.raises(ValueError, match="not an index"):
            SourceIndex.from_bytes(bytes(blob))


def test_a_large_index_is_cheap() -> None:
    """A day at 30 frames per second; nothing about one frame may touch all of them."""
    n = 30 * 86400
    zeros = np.zeros(n, np.int64)
    sizes, flags = zeros.astype(np.int32), np.ones(n, np.uint8)
    packets = PacketTable(zeros, zeros, zeros, sizes, flags, flags)
    frames = FrameTable(
        np.arange(n, dtype=np.int32),
        np.ones(n, np.uint8),
        np.zeros(n, np.uint64),
        np.zeros(n, np.uint16),
    )
    geometry = (Geometry(64, 48, "yuv420p", 8, "upright"),)
    index = SourceIndex(small_index().facts, packets, frames, geometry)
    assert index.frame(n - 1).frame == n - 1
    assert index.nbytes == n * (3 * 8 + 4 + 1 + 1 + 4 + 1 + 8 + 2)
