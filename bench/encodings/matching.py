"""The crf that gives a PSNR, in few encodings. Pure."""

from __future__ import annotations

from collections.abc import Callable

_TRIES = 10


class NoMatch(Exception):
    """No crf comes near enough."""


def matched(
    reach: Callable[[float], float],
    psnr: float,
    *,
    first: float,
    slope: float,
    step: float,
    within: float,
) -> float:
    """A crf whose PSNR is ``psnr`` within ``within`` dB.

    Where the curve is known well enough one encoding or two do, while the search of the encoder,
    which knows nothing of it, takes three to eight.

    Args:
        reach: crf -> PSNR; encodes.
        first: crf to begin with.
        slope: dB that a crf higher by 1 costs, about.
        step: nearest crfs that are told apart.

    Raises:
        NoMatch: see there.
    """
    tried: dict[float, float] = {}
    crf = round(first / step) * step
    while len(tried) < _TRIES:
        tried[crf] = reach(crf)
        if abs(tried[crf] - psnr) <= within:
            return crf
        above = [one for one in tried if tried[one] > psnr]
        below = [one for one in tried if tried[one] <= psnr]
        if above and below:
            low, high = max(above), min(below)
            share = (tried[low] - psnr) / (tried[low] - tried[high])
            guess = low + share * (high - low)
        else:
            if len(tried) > 1:  # all on one side: the curve is flatter than it was said to be
                slope /= 2
            guess = crf + (tried[crf] - psnr) / slope
        crf = round(guess / step) * step
        if crf in tried:
            away = step if tried[crf] > psnr else -step
            while crf in tried:
                crf += away
    raise NoMatch(f"no crf gives {psnr:.2f} dB: {tried}")
