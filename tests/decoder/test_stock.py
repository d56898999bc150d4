from __future__ import annotations

from typing import Any

import av
import pytest

from decoder.corpus import Fingerprint, Source
from decoder.pixels import Pixels
from decoder.stock import Stock, Worth

A, B = (Source(f"/corpus/{name}.mp4", Fingerprint(1, 1)) for name in "ab")


def pixels() -> Pixels:
    return Pixels(av.VideoFrame(64, 32, "gray"))


SIZE = pixels().nbytes


def has(stock: Stock, n: int, source: Source = A) -> bool:
    return stock.take(source, n) is not None


def test_what_is_taken_is_gone() -> None:
    stock = Stock(10 * SIZE)
    frame = pixels()
    stock.put(A, 1, frame, Worth.FORETOLD)
    assert stock.stats.size == SIZE
    assert stock.take(B, 1) is None
    assert stock.take(A, 1) is frame
    assert stock.take(A, 1) is None
    stats = stock.stats
    assert (stats.entries, stats.size) == (0, 0)
    assert stats.hits == {"by_product": 0, "anchor": 0, "foretold": 1}


def test_what_is_worth_least_makes_room_first_and_the_oldest_of_it() -> None:
    stock = Stock(3 * SIZE)
    stock.put(A, 1, pixels(), Worth.FORETOLD)
    stock.put(A, 2, pixels(), Worth.BY_PRODUCT)
    stock.put(A, 3, pixels(), Worth.BY_PRODUCT)
    stock.put(A, 4, pixels(), Worth.ANCHOR)
    stock.put(A, 5, pixels(), Worth.ANCHOR)
    assert stock.stats.evicted == 2
    assert [has(stock, n) for n in (1, 2, 3, 4, 5)] == [True, False, False, True, True]


@pytest.mark.parametrize("worth", list(Worth))
def test_nothing_makes_room_for_what_is_worth_less(worth: Worth) -> None:
    stock = Stock(2 * SIZE)
    stock.put(A, 1, pixels(), Worth.FORETOLD)
    stock.put(A, 2, pixels(), Worth.FORETOLD)
    stock.put(A, 3, pixels(), worth)
    assert has(stock, 3) == (worth is Worth.FORETOLD)
    assert has(stock, 2)


def test_a_frame_is_kept_once_for_its_best_reason() -> None:
    stock = Stock(10 * SIZE)
    for worth in (Worth.ANCHOR, Worth.BY_PRODUCT, Worth.FORETOLD, Worth.ANCHOR):
        stock.put(A, 1, pixels(), worth)
    assert stock.stats.entries == 1
    assert has(stock, 1)
    assert stock.stats.hits["foretold"] == 1


def test_no_room_at_all() -> None:
    stock = Stock(SIZE - 1)
    stock.put(A, 1, pixels(), Worth.FORETOLD)
    assert stock.stats.entries == 0


def test_a_source_is_forgotten() -> None:
    stock = Stock(10 * SIZE)
    for n, worth in enumerate(Worth):
        stock.put(A, n, pixels(), worth)
        stock.put(B, n, pixels(), worth)
    stock.forget(A)
    assert stock.stats.size == 3 * SIZE
    assert [has(stock, n, B) for n in range(3)] == [True] * 3


def test_sizes_are_those_of_native_planes() -> None:
    stock = Stock(1 << 30)
    frame: Any = av.VideoFrame(640, 480, "yuv420p")
    stock.put(A, 1, Pixels(frame), Worth.ANCHOR)
    assert 640 * 480 * 3 // 2 <= stock.stats.size < 640 * 480 * 2
