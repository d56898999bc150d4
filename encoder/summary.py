"""What there is to say at the end of a run over a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from encoder.unit import Outcome

_UNITS = ("B", "kB", "MB", "GB", "TB")


def summary(
    made: Sequence[Outcome], before: Sequence[Outcome], failures: Iterable[str]
) -> list[str]:
    """Lines.

    Args:
        made, before: by this run, and by earlier ones.
        failures: a sentence for each source without a result.
    """
    failures = sorted(failures)
    outcomes = [*made, *before]
    lines = [
        f"{counted(len(outcomes), 'video')} encoded"
        + (f", {len(before):,} of them before" if before else "")
    ]
    if outcomes:
        lines += _figures(outcomes)
    notes = Counter(note for outcome in outcomes for note in outcome.notes)
    if notes:
        lines.append("  not as in the source")
        lines += [f"    {count:,}: {note}" for note, count in notes.most_common()]
    if failures:
        lines.append(f"  {len(failures):,} failed")
        lines += [f"    {failure}" for failure in failures]
    return lines


def _figures(outcomes: Sequence[Outcome]) -> list[str]:
    frames = sum(outcome.frames for outcome in outcomes)
    came, went = (sum(sizes) for sizes in zip(*map(_sizes, outcomes), strict=True))
    closures = sum(outcome.mean_closure * outcome.frames for outcome in outcomes) / frames
    return [
        f"  {counted(frames, 'frame')}, {size(came)} -> {size(went)}, {ratio(went, came)}",
        f"  RGB PSNR {_range([outcome.psnr for outcome in outcomes], '.2f')} dB, "
        f"SSIM {_range([outcome.ssim for outcome in outcomes], '.4f')}",
        f"  closure of a frame {closures:.2f} pictures on average, "
        f"{max(outcome.bound for outcome in outcomes)} at worst",
    ]


def _sizes(outcome: Outcome) -> tuple[int, int]:
    return outcome.bytes_in, outcome.bytes_out


def _range(values: Sequence[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def size(count: float) -> str:
    """Bytes in decimal units: 1.2 GB."""
    for unit in _UNITS[:-1]:
        if count < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {_UNITS[-1]}"


def ratio(part: float, whole: float) -> str:
    """28.4 % of something; of nothing, nothing is said."""
    return f"{part / whole:.1%}".replace("%", " %") if whole else "-"


def counted(number: int, noun: str) -> str:
    """1 frame, 2,000 frames."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
