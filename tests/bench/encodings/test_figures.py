from __future__ import annotations

import pytest

from bench.encodings.figures import by_clip, by_kind, surplus
from bench.encodings.reading import Sample
from bench.encodings.shelf import Encoded
from bench.encodings.ways import ADAPTIVE, WAYS, kind_of


def encoded(size: int, closure: float | None = None) -> Encoded:
    return Encoded("path", size, 41.0, 0.98, 20.0, 3, closure, [""] * 60)


def sample(clip: str, way: str, ms: float, *, batch: int = 0, pattern: str = "random") -> Sample:
    return Sample(clip, way, pattern, batch, 8, ms, 16 if way == "fast" else None)


def test_cameras_are_told_apart_by_the_name_of_the_clip() -> None:
    assert kind_of("native264_Door_robot0_eye_in_hand") == "moving"
    assert kind_of("native264_Door_frontview") == "still"


def test_bytes_are_shares_and_times_ratios_of_those_of_the_same_clips() -> None:
    shelved = {
        "a": {"lerobot": encoded(1000), "jpeg": encoded(4000), "fast": encoded(300, 2.8)},
        "b": {"lerobot": encoded(3000), "jpeg": encoded(8000), "fast": encoded(900, 2.6)},
        "c_eye_in_hand": {"lerobot": encoded(10), "jpeg": encoded(20), "fast": encoded(9, 2.5)},
    }
    samples = [
        *(sample("a", "lerobot", ms) for ms in (80.0, 88.0, 400.0)),  # the median is 88
        *(sample("a", "fast", ms) for ms in (40.0, 44.0, 44.0)),
        sample("b", "lerobot", 72.0, batch=1),
        sample("b", "fast", 36.0, batch=1),
    ]
    still = by_kind(shelved, samples)["still"]
    assert still["fast"].share == pytest.approx(0.3)
    assert still["fast"].jpeg_share == pytest.approx(0.1)
    assert still["fast"].mean_closure == pytest.approx(2.7)
    assert still["lerobot"].mean_closure is None
    found = still["fast"].readings
    assert set(found) == {"random"}
    assert found["random"].ms == pytest.approx((44 / 8 + 36 / 8) / 2)
    assert found["random"].speed == pytest.approx(2.0)
    assert found["random"].pictures == pytest.approx(2.0)
    assert still["lerobot"].readings["random"].speed == pytest.approx(1.0)
    assert by_kind(shelved, samples)["moving"]["fast"].readings == {}
    assert by_clip(shelved, samples)["b"]["fast"].share == pytest.approx(0.3)


def test_times_stand_for_themselves_where_the_base_was_not_read() -> None:
    shelved = {"a": {"lerobot": encoded(1000), "fast": encoded(300)}}
    found = by_clip(shelved, [sample("a", "fast", 40.0)])["a"]["fast"]
    assert found.readings["random"].ms == pytest.approx(5.0)
    assert found.readings["random"].speed is None
    assert found.jpeg_share is None


def test_following_anchors_are_compared_with_the_best_fixed_ones() -> None:
    fixed = {
        name: encoded(size) for name, size in zip(ADAPTIVE["fast"], (300, 200, 250), strict=True)
    }
    assert surplus({"a": {"lerobot": encoded(1), "fast": encoded(210), **fixed}}) == {
        "fast": {"a": pytest.approx(1.05)}
    }
    assert surplus({"a": {"lerobot": encoded(1), "fast": encoded(210)}}) == {}


def test_every_way_has_a_name_of_its_own_in_the_table() -> None:
    assert all(name == way.name for name, way in WAYS.items())
    assert len({way.label for way in WAYS.values()}) == len(WAYS)
