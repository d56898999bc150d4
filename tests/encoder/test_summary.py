from __future__ import annotations

import msgspec
import pytest

from encoder.summary import counted, ratio, size, summary
from tests.encoder.test_manifest import outcome


def test_it_tells_of_both_runs_and_of_failures() -> None:
    made = msgspec.structs.replace(
        outcome(500_000), bytes_in=2_000_000, frames=30, psnr=40.128, mean_closure=2.0, notes=[]
    )
    before = msgspec.structs.replace(outcome(700_000), bytes_in=2_000_000, frames=10)
    assert summary([made], [before], ["/b: no", "/a: not"]) == [
        "2 videos encoded, 1 of them before",
        "  40 frames, 4 MB -> 1.2 MB, 30.0 %",
        "  RGB PSNR 40.13 to 41.50 dB, SSIM 0.9800",
        "  closure of a frame 2.12 pictures on average, 3 at worst",
        "  not as in the source",
        "    1: a note",
        "  2 failed",
        "    /a: not",
        "    /b: no",
    ]


def test_nothing_done() -> None:
    assert summary([], [], []) == ["0 videos encoded"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (999_499, "999 kB"), (999_999, "1 MB"),
     (1_234_000_000, "1.23 GB"), (5e15, "5e+03 TB")],
)  # fmt: skip
def test_sizes(count: float, text: str) -> None:
    assert size(count) == text


def test_numbers() -> None:
    assert (counted(1, "frame"), counted(2000, "frame")) == ("1 frame", "2,000 frames")
    assert (ratio(1, 3), ratio(1, 0)) == ("33.3 %", "-")
