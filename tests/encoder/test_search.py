from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder.search import OutOfReach, highest


def counted(surplus: Callable[[float], float]) -> tuple[Callable[[float], float], list[float]]:
    tried: list[float] = []

    def function(value: float) -> float:
        tried.append(value)
        return surplus(value)

    return function, tried


@given(
    st.floats(0.1, 50.9),
    st.floats(0, 51),
    st.sampled_from([0.25, 1.0]),
    st.floats(0.1, 3),
    st.floats(0.01, 10),
)
def test_the_highest_value_that_is_enough_is_found(
    border: float, first: float, step: float, bend: float, slope: float
) -> None:
    surplus, tried = counted(lambda x: math.copysign(abs(border - x) ** bend, border - x))
    found = highest(surplus, first, 0, 51, step, slope)
    assert found == pytest.approx(math.floor(border / step) * step)
    assert len(tried) == len(set(tried)) <= 20


@pytest.mark.parametrize("border", [7.0, 15.3, 18.9, 21.7, 38.3])
@pytest.mark.parametrize("slope", [0.5, 0.65, 0.8])
def test_a_search_ends_as_soon_as_it_is_near_enough(border: float, slope: float) -> None:
    """With a PSNR that falls by a third of a dB more or less than usual."""
    surplus, tried = counted(lambda x: slope * (border - x) + 0.005 * (border - x) ** 2)
    assert abs(surplus(highest(surplus, 18, 0, 51, 0.25, 0.65, within=0.18))) <= 0.18
    assert len(tried) - 1 <= (2 if abs(border - 18) < 1 else 3 if abs(border - 18) < 5 else 5)


def test_what_cannot_be_reached_is_told_with_the_distance() -> None:
    with pytest.raises(OutOfReach) as caught:
        highest(lambda x: -1 - x, 20, 0, 51, 0.25, 0.65)
    assert (caught.value.value, caught.value.surplus) == (0, -1)
    with pytest.raises(OutOfReach):  # a step from +1 to -1 has nothing within 0.5
        highest(lambda x: 1.0 if x < 20 else -1.0, 18, 0, 51, 0.25, 0.65, within=0.5)
    with pytest.raises(OutOfReach):  # everything is better than what is to be met
        highest(lambda x: 60 - x, 18, 0, 51, 0.25, 0.65, within=0.5)


def test_all_is_enough() -> None:
    assert highest(lambda x: 60 - x, 18, 0, 51, 0.25, 0.65) == 51
