"""The setting at which what falls with it still is enough. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class OutOfReach(Exception):
    """Not even the end of the range is enough, or near enough; ``surplus`` says by how much."""

    def __init__(self, value: float, surplus: float) -> None:
        super().__init__(value, surplus)
        self.value = value
        self.surplus = surplus


@dataclass(slots=True)
class _Tried:
    value: float
    surplus: float


def highest(
    surplus: Callable[[float], float],
    first: float,
    low: float,
    high: float,
    step: float,
    slope: float,
    within: float | None = None,
) -> float:
    """The highest value, to ``step``, whose ``surplus`` is not negative.

    Args:
        surplus: falls as the value rises; called as seldom as can be.
        first: where to begin.
        low, high: values that may be taken, multiples of ``step``.
        slope: by which the surplus usually falls for each 1 that the value rises by.
        within: end as soon as the surplus is so near to 0, on whichever side.

    Raises:
        OutOfReach: the surplus at ``low`` is negative, or, with ``within``, none is near enough.
    """
    enough: _Tried | None = None
    short: _Tried | None = None
    value, stride = min(high, max(low, _rounded(first, step))), step
    while True:
        before = enough or short
        tried = _Tried(value, surplus(value))
        if within is not None and abs(tried.surplus) <= within:
            return value
        if tried.surplus >= 0:
            enough = tried
        else:
            short = tried
        if enough is None:
            if value <= low:
                raise OutOfReach(value, tried.surplus)
            value = max(low, value - _reach(tried, before, slope, step, stride))
        elif short is None:
            if value >= high:
                return _near_enough(enough, within)
            value = min(high, value + _reach(tried, before, slope, step, stride))
        elif short.value - enough.value <= step * 1.001:
            nearer = min(enough, short, key=lambda one: abs(one.surplus))
            return _near_enough(enough if within is None else nearer, within)
        else:
            value = _between(enough, short, step)
        stride *= 2


def _reach(tried: _Tried, before: _Tried | None, slope: float, step: float, stride: float) -> float:
    """How far it is to 0 from ``tried``, at least ``stride``: as steep as from ``before`` to it."""
    if before is not None and before.surplus != tried.surplus:
        slope = (before.surplus - tried.surplus) / (tried.value - before.value)
    if slope <= 0:
        return stride
    return max(stride, _rounded(abs(tried.surplus) / slope, step))


def _near_enough(found: _Tried, within: float | None) -> float:
    if within is not None and abs(found.surplus) > within:
        raise OutOfReach(found.value, found.surplus)
    return found.value


def _between(enough: _Tried, short: _Tried, step: float) -> float:
    """Where a straight line meets 0, but not so near to an end that little is learnt."""
    reach = short.value - enough.value
    guess = enough.value + reach * enough.surplus / (enough.surplus - short.surplus)
    margin = max(step, reach / 8)
    guess = min(short.value - margin, max(enough.value + margin, guess))
    return min(short.value - step, max(enough.value + step, _rounded(guess, step)))


def _rounded(value: float, step: float) -> float:
    return round(value / step) * step
