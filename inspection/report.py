"""What `framefs inspect` says: as lines for people and as data for programs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from decoder.closure import closure
from decoder.index import SourceIndex
from decoder.model import expected_amplification
from decoder.plan import Feed, Plan, Run, plan, whole
from inspection.anatomy import Anatomy, Pattern, pictures_of_frames, skipped
from inspection.scheme import scheme

MODEL_PERIOD = 32
MODEL_COUNT = 10
"""The published analysis: 10 targets, an I picture every 32."""

MODEL_STRIDES = (1, 2, 3, 5, 8, 10, 15, 16, 20, 25, 30, 32, 40, 50, 64)

_PACKETS = 40
"""Packets of a run that are listed for people at most."""


@dataclass(frozen=True, slots=True)
class Request:
    """Frames asked for together.

    Attributes:
        frames: their numbers, as asked for.
        pictures: their decode indexes; empty where they are not known.
        closure: decode indexes of all that they need, ascending; empty where that is not known.
        plan: what is fed to the decoder.
    """

    frames: tuple[int, ...]
    pictures: tuple[int, ...]
    closure: tuple[int, ...]
    plan: Plan


def request(index: SourceIndex, frames: Sequence[int]) -> Request:
    """How ``frames`` are read. Raises FrameOutOfRange."""
    for n in frames:
        index.check(n)
    if index.feed is None:
        reason = index.facts.fallback or "it was indexed by decoding"
        whole_plan = whole(len(index.packets), sorted(set(frames)), reason)
        return Request(tuple(frames), (), (), whole_plan)
    graph = index.feed.graph
    targets = pictures_of_frames(index)[list(frames)].tolist()
    needed = tuple(sorted(closure(graph, targets)))
    return Request(tuple(frames), tuple(targets), needed, plan(graph, targets))


def as_data(
    path: str, index: SourceIndex, found: Anatomy, asked: Request | None = None
) -> dict[str, Any]:
    """Everything, in plain types for JSON."""
    document: dict[str, Any] = {
        "path": path,
        "stream": msgspec.to_builtins(index.facts),
        "geometries": msgspec.to_builtins(index.geometries),
        "sparse": index.feed is not None,
        "skipping": skipped(index),
        "scheme": None if (found_scheme := scheme(index)) is None else asdict(found_scheme),
        "structure": asdict(found),
    }
    if asked is not None:
        document["request"] = {
            "frames": asked.frames,
            "pictures": asked.pictures,
            "closure": asked.closure,
            "reconstructed": asked.plan.real,
            "state_only": asked.plan.state_only,
            "dropped": asked.plan.dropped,
            "amplification": asked.plan.amplification,
            "explanation": asked.plan.explain(),
            "runs": [_run_data(run) for run in asked.plan.runs],
        }
    return document


def lines(path: str, index: SourceIndex, found: Anatomy) -> list[str]:
    """The source in words."""
    rows = [("stream", _stream(index)), ("pictures", _pictures(found))]
    if found.segments is not None:
        rows.append(("segments", _segments(found)))
    if found.order:
        rows.append(("order", f"{found.order} (lower case: no other picture reads it)"))
    made = scheme(index)
    if made is not None:
        rows.append(("scheme", str(made)))
    if found.closures is not None:
        sizes = found.closures
        text = f"{sizes.mean:.1f} pictures on average, {sizes.worst} at worst (frame "
        text += f"{sizes.worst_frame})"
        if sizes.looked_at < found.frames:
            text += f", of {sizes.looked_at:,} frames looked at"
        rows.append(("closure", text))
    how = "sparse" if index.feed is not None else f"conservative, because {index.facts.fallback}"
    rows.append(("decoding", how))
    without = skipped(index)
    if without is not None:
        rows.append(("skipping", f"{index.facts.codec}: {without}"))
    direct = f"{found.direct:,} of {found.packets:,} packets are read straight from the file"
    hashes = "with" if found.hashes else "without"
    rows.append(("index", f"{found.bytes:,} bytes in memory, {hashes} hashes; {direct}"))
    rows += [("damage", damage) for damage in index.facts.damage]
    return [path, *(f"  {name:9} {text}" for name, text in rows), "", *_table(found.patterns)]


def request_lines(asked: Request) -> list[str]:
    """The request in words: the plan, and what is fed."""
    told = [f"Frames {', '.join(map(str, asked.frames))}"]
    if asked.pictures:
        told.append(f"  pictures {', '.join(map(str, asked.pictures))} in decode order")
        told.append(f"  closure  {_some(list(map(str, asked.closure)), _PACKETS)}")
    told += [f"  {line}" for line in asked.plan.explain().splitlines()]
    for number, run in enumerate(asked.plan.runs, 1):
        if run.conservative is not None:
            continue
        items = [
            f"{item.packet}{'s' if item.feed is Feed.STATE_ONLY else ''}" for item in run.items
        ]
        note = " (s: state-only)" if run.state_only else ""
        told.append(f"  run {number} feeds packets {_some(items, _PACKETS)}{note}")
    return told


def model_lines(
    period: int = MODEL_PERIOD, count: int = MODEL_COUNT, strides: Iterable[int] = MODEL_STRIDES
) -> list[str]:
    """The published analysis as a table over the stride."""
    told = [
        f"Expected pictures reconstructed per frame: intra period {period}, dyadic B hierarchy, "
        f"{count} frames at a stride",
        f"  {'stride':>6}  {'sequential':>10}  {'sparse':>6}  {'DDRA':>6}",
    ]
    for stride in strides:
        a = expected_amplification(period, count, stride)
        told.append(f"  {stride:6}  {a.sequential:10.2f}  {a.sparse:6.2f}  {a.ddra:6.2f}")
    return told


def model_data(period: int = MODEL_PERIOD, count: int = MODEL_COUNT) -> dict[str, Any]:
    """The published analysis for every stride up to twice the period, in plain types for JSON."""
    strides = range(1, 2 * period + 1)
    return {
        "intra_period": period,
        "frames": count,
        "strides": {n: asdict(expected_amplification(period, count, n)) for n in strides},
    }


def _run_data(run: Run) -> dict[str, Any]:
    return {
        "start": run.start,
        "preamble": run.preamble,
        "targets": run.targets,
        "conservative": run.conservative,
        "real": [item.packet for item in run.items if item.feed is Feed.REAL],
        "state_only": [item.packet for item in run.items if item.feed is Feed.STATE_ONLY],
    }


def _stream(index: SourceIndex) -> str:
    facts = index.facts
    kinds = ", ".join(
        dict.fromkeys(f"{g.width}x{g.height} {g.pixel_format}" for g in index.geometries)
    )
    rate = "" if facts.rate is None else f", {facts.rate[0] / facts.rate[1]:g} fps"
    container = facts.container.split(",")[0]
    return f"{facts.stream} ({container}): {facts.codec} {kinds}{rate}"


def _pictures(found: Anatomy) -> str:
    types = ", ".join(f"{count:,} {letter}" for letter, count in found.types.items())
    text = f"{found.frames:,} frames ({types}) in {found.packets:,} packets"
    if found.unreferenced is not None:
        text += f"; {found.unreferenced:,} of {found.pictures:,} pictures are read by no other"
    return text


def _segments(found: Anatomy) -> str:
    segments = found.segments
    assert segments is not None
    points = "random access points" if found.preambles is not None else "key packets"
    text = f"{segments.count:,} {points}, "
    if segments.shortest == segments.longest:
        text += f"{segments.longest} pictures each"
    else:
        text += f"{segments.shortest} to {segments.longest} pictures each ({segments.mean:.1f})"
    if found.preambles:
        text += f"; {found.preambles:,} more behind a preamble"
    return text


def _table(patterns: Sequence[Pattern]) -> list[str]:
    told = [
        "Pictures reconstructed per frame asked for, 10 frames together:",
        f"  {'':14}{'sequential':>12}{'drop-only':>12}{'closure':>12}{'state-only':>12}",
    ]
    for pattern in patterns:
        cells = (pattern.sequential, pattern.drop_only, pattern.closure, pattern.state_only)
        numbers = "".join(f"{'-' if cell is None else f'{cell:.2f}':>12}" for cell in cells)
        few = f"  ({pattern.frames} frames)" if pattern.frames < 10 else ""
        told.append(f"  {pattern.name:14}{numbers}{few}")
    return told


def _some(items: list[str], most: int) -> str:
    if len(items) <= most:
        return " ".join(items)
    return f"{' '.join(items[:most])} ... ({len(items)} in all)"
