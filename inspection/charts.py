"""What is drawn of encodings: two of them side by side, and many of them, from plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inspection.drawing import new_figure

_COLORS = ("#c2361e", "#2c6fbb", "#2e9d6b", "#e8a200", "#7a4fa3", "#7a7a7a")


@dataclass(frozen=True, slots=True)
class Point:
    """One encoding in a plot of bytes against time.

    Attributes:
        label: beside the point.
        group: points of one share a colour.
        size: bytes a frame.
        time: milliseconds a frame.
        best: on the front: none is smaller and faster.
    """

    label: str
    group: str
    size: float
    time: float
    best: bool


def draw_comparison(
    path: str,
    names: tuple[str, str],
    sizes: tuple[Sequence[int], Sequence[int]],
    psnr: Sequence[float],
    costs: Mapping[str, tuple[float, float]],
) -> None:
    """Writes bytes and PSNR by frame, and pictures a frame by pattern, to ``path``.

    Args:
        names: of the two files.
        sizes: bytes of each frame, of both.
        psnr: dB of each frame of the second against the first.
        costs: pattern -> pictures reconstructed a frame, of both.

    Raises:
        PlotsMissing: see `inspection.drawing`.
        OSError: the file cannot be written.
    """
    figure = new_figure((11.0, 8.0))
    above, middle, below = figure.subplots(3, 1, height_ratios=(2.2, 1.6, 1.6))
    for name, values, color in zip(names, sizes, _COLORS, strict=False):
        above.step(range(len(values)), values, where="mid", color=color, linewidth=1.0, label=name)
    above.set_yscale("log")
    above.set_ylabel("bytes of a frame")
    above.legend(frameon=False, fontsize=9)
    middle.plot(range(len(psnr)), psnr, color=_COLORS[1], linewidth=1.0)
    middle.set_ylabel("PSNR, dB")
    middle.set_xlabel("frame")
    for side, (name, color) in enumerate(zip(names, _COLORS, strict=False)):
        places = [place + 0.4 * side - 0.2 for place in range(len(costs))]
        heights = [pair[side] for pair in costs.values()]
        below.bar(places, heights, 0.38, color=color, label=name)
    below.set_xticks(range(len(costs)), list(costs))
    below.set_ylabel("pictures a frame")
    for axes in (above, middle, below):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=140)


def draw_front(path: str, title: str, points: Sequence[Point]) -> None:
    """Writes bytes against time of ``points`` to ``path``. Raises as `draw_comparison`."""
    figure = new_figure((9.0, 6.0))
    axes = figure.subplots()
    groups = list(dict.fromkeys(point.group for point in points))
    for group, color in zip(groups, _COLORS * len(groups), strict=False):
        some = [point for point in points if point.group == group]
        axes.scatter(
            [point.size / 1000 for point in some],
            [point.time for point in some],
            color=color,
            s=[60 if point.best else 25 for point in some],
            label=group,
        )
        for point in some:
            axes.annotate(
                point.label, (point.size / 1000, point.time), (5, 4),
                textcoords="offset points", fontsize=8,
            )  # fmt: skip
    front = sorted((p for p in points if p.best), key=lambda point: point.size)
    axes.plot([p.size / 1000 for p in front], [p.time for p in front], color="#9aa0a6", zorder=0)
    axes.set_xlabel("KB a frame")
    axes.set_ylabel("ms a frame")
    axes.set_title(title, loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=140)
