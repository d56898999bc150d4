from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.encodings.matching import NoMatch, matched


def counted(curve: Callable[[float], float]) -> tuple[Callable[[float], float], list[float]]:
    asked: list[float] = []

    def reach(crf: float) -> float:
        asked.append(crf)
        return curve(crf)

    return reach, asked


def test_a_curve_that_is_known_takes_two_encodings() -> None:
    reach, asked = counted(lambda crf: 60 - 0.8 * crf)
    assert matched(reach, 42.0, first=18.1, slope=0.8, step=0.25, within=0.18) == 22.5
    assert asked == [18.0, 22.5]


@pytest.mark.parametrize("slope", [0.2, 0.5, 2.0])
@pytest.mark.parametrize("psnr", [36.0, 41.3, 47.7])
def test_a_curve_that_is_not_known_takes_a_few(slope: float, psnr: float) -> None:
    def curve(crf: float) -> float:
        return 55 - 0.1 * crf - 0.012 * crf**2

    reach, asked = counted(curve)
    crf = matched(reach, psnr, first=20, slope=slope, step=0.25, within=0.18)
    assert abs(curve(crf) - psnr) <= 0.18
    assert len(asked) <= 8


def test_a_curve_with_a_step_has_no_match() -> None:
    reach, asked = counted(lambda crf: 45.0 if crf < 30 else 40.0)
    with pytest.raises(NoMatch, match=r"42\.00 dB"):
        matched(reach, 42.0, first=29, slope=0.5, step=1.0, within=0.18)
    assert len(set(asked)) == len(asked)
