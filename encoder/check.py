"""Whether a new file is what was promised; nothing is taken on trust from the encoder."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction

import av
import numpy as np

from decoder.corpus import Source, source_at
from decoder.errors import DecoderError, Stopped
from decoder.graph import REFERENCE, ReferenceGraph
from decoder.index import KEY, PICTURE_TYPES, SourceIndex
from decoder.indexing import index_source, with_hashes
from decoder.reader import FrameReader
from decoder.scan import scan
from encoder.coding import Coding
from encoder.errors import CheckFailed, Interrupted
from encoder.footage import Look, look_of
from encoder.screen import Screen, screen_of
from encoder.timing import Timing
from inspection.anatomy import closure_sizes, pictures_of_frames

_LIMITED = 1
"""AVCOL_RANGE_MPEG, which samples have where nothing is said."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that is what was promised.

    Attributes:
        source: the file in this version.
        index: of it, with hashes of a full decode.
        worst, mean: pictures in the closure of a frame.
    """

    source: Source
    index: SourceIndex
    worst: int
    mean: float


class BoundMissed(CheckFailed):
    """All is well but a closure is larger than was promised."""


def checked(
    path: str,
    coding: Coding,
    look: Look,
    when: Timing,
    stop: threading.Event | None = None,
) -> Checked:
    """Indexes and decodes the file at ``path`` and compares it with what it is to be.

    Raises:
        BoundMissed: see there.
        CheckFailed: something else is not as promised; says what.
        Interrupted: ``stop`` is set.
    """
    try:
        source = source_at(path)
        index = index_source(source, stop=stop)
        if index.feed is None:
            raise CheckFailed(f"{path}: cannot be read sparsely, because {index.facts.fallback}")
        with FrameReader(source, index=index, stop=stop) as reader:
            first, aspect = reader.frame(0).native, Fraction(*index.facts.sample_aspect_ratio)
            found = look_of(first, aspect, screen_of(source))
        _check_look(path, found, look)
        _check_times(path, index, when)
        index = with_hashes(index, _played(source, stop))
    except Stopped as error:
        raise Interrupted(str(error)) from error
    except DecoderError as error:
        raise CheckFailed(f"{path}: the new file cannot be read ({error})") from error
    if index.feed is None:
        raise CheckFailed(f"{path}: a full decode differs: {index.facts.fallback}")
    _check_kinds(path, index, index.feed.graph, coding)
    _check_starts(path, index, index.feed.graph, coding)
    _, sizes = closure_sizes(index, index.feed.graph, index.frame_count)
    worst, mean = int(sizes.max()), float(sizes.mean())
    if worst > coding.bound:
        raise BoundMissed(
            f"{path}: frame {int(sizes.argmax())} needs {worst} pictures, more than {coding.bound}"
        )
    return Checked(source, index, worst, mean)


def _played(source: Source, stop: threading.Event | None) -> SourceIndex:
    """A full decode, which must not bring a single warning. Raises CheckFailed."""
    level = av.logging.get_level()
    av.logging.set_level(av.logging.WARNING)
    try:
        with av.logging.Capture() as logs:
            decoded = scan(source, stop=stop)
    finally:
        av.logging.set_level(level)
    told = [message.strip() for severity, _, message in logs if severity <= av.logging.WARNING]
    told += decoded.facts.damage
    if told:
        raise CheckFailed(f"{source.path}: FFmpeg warns while it plays it: {told[0]}")
    return decoded


def _check_look(path: str, found: Look, look: Look) -> None:
    for name in Look.__slots__:
        one, other = getattr(found, name), getattr(look, name)
        if name == "range":
            one, other = one or _LIMITED, other or _LIMITED
        if name == "sample_aspect_ratio":
            one, other = one or 1, other or 1
        alike = one.is_like(other) if isinstance(one, Screen) else one == other
        if not alike:
            raise CheckFailed(f"{path}: {name.replace('_', ' ')} is {one}, not {other}")


def _check_times(path: str, index: SourceIndex, when: Timing) -> None:
    if index.frame_count != len(when.pts):
        raise CheckFailed(f"{path}: shows {index.frame_count} frames, not {len(when.pts)}")
    for n, pts in enumerate(when.pts):
        time = index.frame(n).time
        if time is None or time * when.timescale != pts:
            raise CheckFailed(f"{path}: frame {n} is shown at {time} s, not {pts}/{when.timescale}")


def _check_kinds(path: str, index: SourceIndex, graph: ReferenceGraph, coding: Coding) -> None:
    pictures = pictures_of_frames(index)
    anchors = set(coding.anchors)
    for n in coding.anchors:
        letter = PICTURE_TYPES[index.frames.picture_type[n]]
        if graph.references_of(int(pictures[n])) or letter != "I":
            raise CheckFailed(f"{path}: frame {n} is to be an anchor and depends on others")
    if coding.references is None:
        return
    others = [n for n in range(index.frame_count) if n not in anchors]
    for n in others:
        letter = PICTURE_TYPES[index.frames.picture_type[n]]
        if letter != "B":
            raise CheckFailed(f"{path}: frame {n} is to be a B picture and is {letter}")
    read = {n for n in others if graph.traits[pictures[n]] & REFERENCE}
    if not read <= set(coding.references):
        n = min(read - set(coding.references))
        raise CheckFailed(f"{path}: frame {n} may be read by others, which it is not to be")


def _check_starts(path: str, index: SourceIndex, graph: ReferenceGraph, coding: Coding) -> None:
    """Sync samples are where they are to be, and nothing refers across them."""
    flagged = np.flatnonzero(index.packets.flags & KEY)
    wanted = index.frames.packet[list(coding.starts)]
    if not np.array_equal(flagged, wanted):
        raise CheckFailed(
            f"{path}: {len(flagged)} sync samples, which are to be frames {list(coding.starts)}"
        )
    shown = np.arange(index.frame_count)
    for start in coding.starts:
        first = index.frames.packet[start]
        late = index.frames.packet >= first
        if np.any(late != (shown >= start)):
            raise CheckFailed(f"{path}: frames across frame {start} are decoded in another order")
    pictures = pictures_of_frames(index)
    heads = np.sort(pictures[list(coding.starts)])
    segments = np.searchsorted(heads, np.arange(len(graph)), side="right")
    readers = np.repeat(np.arange(len(graph)), np.diff(graph.offsets))
    across = segments[readers] != segments[graph.references]
    if np.any(across):
        raise CheckFailed(f"{path}: picture {readers[across][0]} reads one of another segment")
