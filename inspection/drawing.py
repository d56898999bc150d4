"""What `framefs inspect --plot` draws: pictures and what they refer to; the model's curves.

Frames stand in presentation order, coloured by picture type. An arc above the line leads to a
picture shown earlier, one below it to a picture shown later. What a request needs is drawn strong.
A stream of more than `_ALL` frames is drawn as a whole, without arcs, beside one of its parts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from decoder.index import SourceIndex
from decoder.model import expected_amplification
from inspection.anatomy import (
    closure_sizes,
    typical_segment,
)
from inspection.report import MODEL_COUNT, MODEL_PERIOD, Request
from inspection.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ALL = 100
"""Frames that are drawn one by one at most."""

_LETTERS = 48
"""Frames that have room for the letter of their type at most."""

_SINGLE = 1000
"""Frames that the strip of types shows one by one at most; of more it shows shares."""

_COLORS = {"I": "#c2361e", "P": "#2c6fbb", "B": "#2e9d6b"}
_OTHER = "#7a7a7a"
_INK = "#222222"
_FAINT = "#9aa0a6"
_TARGET = "#e8a200"


class PlotsMissing(Exception):
    """There is no matplotlib; the message says how to get it."""


FORMATS = (".svg", ".png", ".pdf")


def require(path: str) -> None:
    """Whether something can be drawn to ``path``, before any work is done for it.

    Raises:
        PlotsMissing: see there.
        ValueError: its suffix names none of `FORMATS`.
    """
    if os.path.splitext(path)[1].lower() not in FORMATS:
        raise ValueError(f"{path} ends in none of {', '.join(FORMATS)}")
    new_figure((1.0, 1.0))


def draw_source(path: str, title: str, index: SourceIndex, asked: Request | None = None) -> None:
    """Writes a picture of the source to ``path``, whose suffix names the format.

    Raises:
        PlotsMissing: see there.
        OSError: the file cannot be written.
    """
    picture = Scene(index, asked)
    figure = new_figure(_size(picture))
    if picture.graph is None:
        title += f"\nno references are known: {index.facts.fallback}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=_INK)
    if picture.count <= _ALL:
        axes = figure.subplots()
        _draw_part(axes, picture, np.arange(picture.count))
    else:
        part = _part(picture)
        detail, cost, strip = figure.subplots(
            3, 1, height_ratios=(5.5 if picture.graph else 1.2, 2.2, 0.9 if asked is None else 1.4)
        )
        _draw_part(detail, picture, part)
        detail.set_title(f"frames {part[0]:,} to {part[-1]:,}", loc="left", fontsize=9, color=_INK)
        _draw_cost(cost, picture)
        _draw_strip(strip, picture, part)
        strip.sharex(cost)
        cost.tick_params(labelbottom=False)
    figure.savefig(path, dpi=140)


def draw_model(path: str, period: int = MODEL_PERIOD, count: int = MODEL_COUNT) -> None:
    """Writes the model's amplification over the stride to ``path``. Raises as `draw_source`."""
    figure = new_figure((8.0, 4.6))
    axes = figure.subplots()
    strides = np.arange(1, 2 * period + 1)
    values = [expected_amplification(period, count, int(stride)) for stride in strides]
    for name, color, curve in (
        ("sequential", _COLORS["I"], [value.sequential for value in values]),
        ("sparse", _COLORS["P"], [value.sparse for value in values]),
        ("DDRA", _COLORS["B"], [value.ddra for value in values]),
    ):
        axes.plot(strides, curve, color=color, linewidth=1.8)
        axes.annotate(
            name, (strides[-1], curve[-1]), (6, 0), textcoords="offset points",
            color=color, va="center", fontsize=10,
        )  # fmt: skip
        axes.plot(30, curve[29], "o", color=color, markersize=5)
        axes.annotate(
            f"{curve[29]:.2f}", (30, curve[29]), (0, 6), textcoords="offset points",
            color=color, ha="center", fontsize=9,
        )  # fmt: skip
    axes.set_xlim(1, 2 * period)
    axes.set_ylim(0, None)
    axes.set_xticks([1, 8, 16, 24, 30, 40, 48, 56, 64])
    axes.set_xlabel("stride, frames")
    axes.set_ylabel("pictures reconstructed per frame")
    axes.set_title(
        f"Expected amplification of {count} frames at a stride\n"
        f"intra period {period}, dyadic B hierarchy decoded depth first",
        loc="left", fontsize=10, color=_INK,
    )  # fmt: skip
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    _open_frame(axes)
    figure.savefig(path, dpi=140)


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of ``size`` in inches. Raises PlotsMissing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotsMissing(
            "drawing needs matplotlib, which is not installed; "
            "get it with pip install 'framefs[plots]'"
        ) from error
    return Figure(figsize=size, layout="constrained", facecolor="white")


def _size(stream: Scene) -> tuple[float, float]:
    """Inches."""
    if stream.count > _ALL:
        return 13.0, 8.4 if stream.graph is not None else 5.6
    width = min(14.0, max(7.5, 2.0 + 0.36 * stream.count))
    return width, 5.2 if stream.graph is not None else 2.4


def _color(stream: Scene, n: int) -> str:
    return _COLORS.get(str(stream.letters[n]), _OTHER)


def _part(stream: Scene) -> NDArray[np.int64]:
    """Frames to draw one by one where there are too many: around what was asked for, if it was."""
    if stream.asked is None or not stream.needed.any():
        return typical_segment(stream.pictures, stream.points)[:_ALL]
    target, needed = stream.hardest()
    low, high = int(needed[0]), int(needed[-1])
    if high - low >= _ALL:
        high = min(high, target + _ALL // 10)
        low = max(low, high - _ALL + 1)
    margin = max(0, min(8, (_ALL - (high - low + 1)) // 2))
    return np.arange(max(0, low - margin), min(stream.count, high + margin + 1))


def _draw_part(axes: Axes, stream: Scene, frames: NDArray[np.int64]) -> None:
    """Frames one by one, with arcs."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    chosen = stream.asked is not None and bool(stream.needed.any())
    low, high = float(frames[0]), float(frames[-1])
    span = max(high - low, 8.0)
    edges = stream.edges(frames.tolist())
    above = max((e.frame - e.reads for e in edges if e.reads < e.frame), default=1)
    below = max((e.reads - e.frame for e in edges if e.reads > e.frame), default=0)

    def height(length: int) -> float:
        return 0.35 + 2.4 * math.pow(length / max(above, below, 4), 0.7)

    for edge in edges:
        x, y = float(edge.frame), float(edge.reads)
        top = height(abs(edge.frame - edge.reads)) * (1.35 if y < x else -1.35)
        curve = Path(
            [(x, 0.0), (x, top), (y, top), (y, 0.0)],
            [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
        )
        strong = edge.needed
        axes.add_patch(
            PathPatch(
                curve,
                fill=False,
                edgecolor=_color(stream, edge.frame) if strong or not chosen else _FAINT,
                linewidth=1.2 if strong else 0.7,
                alpha=0.85 if strong else (0.22 if chosen else 0.45),
                zorder=2 if strong else 1,
            )
        )
    room = len(frames) <= _LETTERS
    width = _size(stream)[0] * 72 * 0.92 / (span + 1)
    side = min(330.0, (0.8 * width) ** 2)
    for n in frames.tolist():
        color = _color(stream, n)
        weak = chosen and not stream.needed[n]
        solid = bool(stream.referenced[n])
        axes.scatter(
            n, 0,
            s=side, marker="s" if stream.access[n] else "o",
            facecolor=color if solid else "white",
            edgecolor=_TARGET if stream.targets[n] else color,
            linewidth=2.6 if stream.targets[n] else 1.4,
            alpha=0.28 if weak else 1.0, zorder=4,
        )  # fmt: skip
        if weak:
            axes.scatter(n, 0, s=side, marker="s" if stream.access[n] else "o", facecolor="white",
                         edgecolor="none", zorder=3)  # fmt: skip
        if room:
            axes.text(
                n, -0.02, str(stream.letters[n]), ha="center", va="center", fontsize=8.5,
                color="white" if solid and not weak else color, zorder=5,
                alpha=0.7 if weak else 1.0,
            )  # fmt: skip
    axes.set_xlim(low - 0.02 * span - 0.6, high + 0.02 * span + 0.6)
    bottom = -(height(below) + 0.25) if below else -0.6
    axes.set_ylim(bottom, height(above) + 0.25)
    axes.set_yticks([])
    _open_frame(axes, left=False)
    axes.set_xlabel("frame", fontsize=9)
    if room:
        step = 1 if len(frames) <= 36 else 2
        axes.set_xticks(frames[::step])
    axes.tick_params(labelsize=8)
    _legend(axes, stream, frames)


def _legend(axes: Axes, stream: Scene, frames: NDArray[np.int64]) -> None:
    from matplotlib.lines import Line2D

    def mark(label: str, shape: str, face: str, edge: str, width: float = 1.4) -> Line2D:
        return Line2D(
            [], [], linestyle="none", marker=shape, markersize=8, label=label,
            markerfacecolor=face, markeredgecolor=edge, markeredgewidth=width,
        )  # fmt: skip

    present = [letter for letter in "IPB" if (stream.letters[frames] == letter).any()]
    marks = [mark(letter, "o", _COLORS[letter], _COLORS[letter]) for letter in present]
    if stream.access[frames].any():
        name = "random access point" if stream.graph is not None else "key packet"
        marks.append(mark(name, "s", "white", _INK))
    if not stream.referenced[frames].all():
        marks.append(mark("read by no other", "o", "white", _INK))
    if stream.asked is not None:
        marks.append(mark("asked for", "o", "white", _TARGET, 2.6))
        if stream.graph is not None:
            size = len(stream.asked.closure)
            marks.append(mark(f"closure ({size:,})", "o", _INK, _INK))
    axes.legend(
        handles=marks, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(marks),
        frameon=False, fontsize=8.5, handletextpad=0.2, columnspacing=1.2,
    )  # fmt: skip


def _draw_cost(axes: Axes, stream: Scene) -> None:
    """Pictures that each frame needs, over the whole stream."""
    _open_frame(axes)
    axes.set_xlim(-0.5, stream.count - 0.5)
    axes.set_ylabel("pictures to\ndecode", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.set_title("cost of a single frame", loc="left", fontsize=9, color=_INK)
    sequential = stream.since_access()
    x, low, high = _binned(np.arange(stream.count), sequential, 600)
    axes.fill_between(x, 0, high, color="#dcdcdc", linewidth=0, step="mid", label="sequential")
    if stream.graph is not None:
        frames, sizes = closure_sizes(stream.index, stream.graph)
        x, low, high = _binned(frames, sizes, 600)
        axes.fill_between(x, low, high, color=_COLORS["P"], alpha=0.5, linewidth=0, step="mid")
        axes.step(x, high, color=_COLORS["P"], linewidth=0.9, where="mid", label="closure")
    axes.set_ylim(0, None)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2, frameon=False, fontsize=8.5)


def _binned(
    x: NDArray[np.int64], y: NDArray[np.int64], bins: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Middle, least and greatest of neighbouring points, so that there are ``bins`` at most."""
    parts = np.array_split(np.arange(len(x)), min(bins, len(x)))
    return (
        np.array([x[part].mean() for part in parts]),
        np.array([y[part].min() for part in parts]),
        np.array([y[part].max() for part in parts]),
    )


def _draw_strip(axes: Axes, stream: Scene, part: NDArray[np.int64]) -> None:
    """Picture types over the whole stream, and the closure below them."""
    _open_frame(axes, left=False)
    count = stream.count
    rows = 1 if stream.asked is None else 2
    edges = np.linspace(0, count, (count if count <= _SINGLE else 200) + 1).round().astype(int)
    for name, color in [*_COLORS.items(), ("other", _OTHER)]:
        known = np.isin(stream.letters, list(_COLORS))
        of_kind = ~known if name == "other" else stream.letters == name
        if of_kind.any():
            _bars(axes, edges, of_kind, color, stream, rows - 1)
    points = np.flatnonzero(stream.access)
    if count > _SINGLE and len(points) <= _SINGLE // 5:
        _spans(axes, points, rows - 1 + 0.1, 0.8, _COLORS["I"], count)
    if stream.asked is not None:
        axes.axhspan(0.1, 0.9, color="#f1f1f1", linewidth=0, zorder=0)
        _spans(axes, np.flatnonzero(stream.needed), 0.1, 0.8, _INK, count)
        _spans(axes, np.flatnonzero(stream.targets), 0.0, 1.0, _TARGET, count, 3)
    axes.axvspan(part[0] - 0.5, part[-1] + 0.5, ymin=0, ymax=1, facecolor="none",
                 edgecolor=_INK, linewidth=1.0, zorder=6)  # fmt: skip
    axes.set_ylim(-0.05, rows + 0.1)
    labels = ["types"] if stream.asked is None else ["closure", "types"]
    axes.set_yticks([row + 0.5 for row in range(rows)], labels, fontsize=8.5)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlabel("frame (the box is the part drawn above)", fontsize=9)


def _bars(
    axes: Axes, edges: NDArray[Any], of_kind: NDArray[np.bool_], color: str, stream: Scene,
    row: int,
) -> None:  # fmt: skip
    """The share of one type in each bin, stacked in the order I, P, B, other."""
    order = {name: place for place, name in enumerate("IPB")}
    rank = np.array([order.get(str(letter), 3) for letter in stream.letters])
    this = rank[of_kind][0]
    sums = np.concatenate([[0], np.cumsum(rank < this)])
    own = np.concatenate([[0], np.cumsum(of_kind)])
    width = np.diff(edges)
    low = np.diff(sums[edges]) / width
    share = np.diff(own[edges]) / width
    axes.bar(
        edges[:-1] - 0.5, share * 0.8, width, row + 0.1 + low * 0.8, align="edge", color=color,
        linewidth=0,
    )  # fmt: skip


def _spans(
    axes: Axes, frames: Sequence[int] | NDArray[Any], low: float, height: float, color: str,
    count: int, z: int = 2,
) -> None:  # fmt: skip
    """A mark at each frame, wide enough to be seen."""
    width = max(1.0, count / 900)
    axes.bar(
        np.asarray(frames), height, width, low, align="center", color=color, linewidth=0, zorder=z
    )


def _open_frame(axes: Axes, *, left: bool = True) -> None:
    for side in ("top", "right", *(() if left else ("left",))):
        axes.spines[side].set_visible(False)
