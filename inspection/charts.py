"""What is drawn of encodings: two of them side by side, and many of them, from plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspection.drawing import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = ("#c2361e", "#2c6fbb", "#2e9d6b", "#e8a200", "#7a4fa3", "#7a7a7a")


_BESIDE = (
    ((7, 0), "left", "center"),
    ((-7, 0), "right", "center"),
    ((0, 8), "center", "bottom"),
    ((0, -8), "center", "top"),
    ((6, 9), "left", "bottom"),
    ((6, -9), "left", "top"),
    ((-6, 9), "right", "bottom"),
    ((-6, -9), "right", "top"),
    ((6, 20), "left", "bottom"),
    ((6, -20), "left", "top"),
)
"""Where a label may stand: offset from its point, and which of its sides is there; best first."""


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
        above.plot(range(len(values)), values, ".", color=color, markersize=4, label=name)
    above.set_yscale("log")
    above.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    above.set_ylabel("bytes of a frame")
    above.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    middle.plot(range(len(psnr)), psnr, color=_COLORS[1], linewidth=1.0)
    middle.set_ylabel("PSNR of the second\nagainst the first, dB")
    middle.set_xlabel("frame")
    middle.sharex(above)
    for side, (name, color) in enumerate(zip(names, _COLORS, strict=False)):
        places = [place + 0.4 * side - 0.2 for place in range(len(costs))]
        heights = [pair[side] for pair in costs.values()]
        bars = below.bar(places, heights, 0.38, color=color, label=name)
        below.bar_label(bars, fmt="%.2f", fontsize=8)
    below.set_xticks(range(len(costs)), list(costs))
    below.set_ylabel("pictures reconstructed\nfor a frame asked for")
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
    front = sorted((p for p in points if p.best), key=lambda point: point.size)
    axes.plot([p.size / 1000 for p in front], [p.time for p in front], color="#9aa0a6", zorder=0,
              label="none is smaller and faster")  # fmt: skip
    axes.margins(0.12, 0.08)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.set_xlabel("size, KB a frame")
    axes.set_ylabel("time to read, ms a frame")
    axes.set_title(title, loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    _label(figure, axes, points)
    figure.savefig(path, dpi=140)


def _label(figure: Figure, axes: Axes, points: Sequence[Point]) -> None:
    """Writes the label of each point beside it, where no other label or point is if it can be."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # now it is known where points are
    places = [axes.transData.transform((point.size / 1000, point.time)) for point in points]
    taken = [Bbox.from_extents(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    for point in sorted(points, key=lambda one: (one.size, one.time)):
        boxes = []
        for place, (offset, across, along) in enumerate(_BESIDE):
            text = axes.annotate(
                point.label, (point.size / 1000, point.time), offset, fontsize=8,
                textcoords="offset points", ha=across, va=along,
            )  # fmt: skip
            box = text.get_window_extent()
            covered = sum(box.overlaps(other) for other in taken)
            outside = not (axes.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1)
            boxes.append((covered + 10 * outside, place, text, box))
        best = min(boxes, key=lambda one: one[:2])
        for one in boxes:
            if one is not best:
                one[2].remove()
        taken.append(best[3])
