"""The closure of targets: the least set of pictures that holds them and what they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from decoder.graph import ReferenceGraph


def closure(
    graph: ReferenceGraph, targets: Iterable[int], known: Mapping[int, set[int]] | None = None
) -> set[int]:
    """Decode indexes of the targets and everything they depend on.

    Costs time in proportion to the closure, not to the stream; what is ``known``, by single target,
    is not gone through again.
    """
    known = known or {}
    # Single numbers come out of a memoryview faster than out of an array.
    offsets = graph.offsets.data
    references = graph.references.data
    found = set(targets)
    pending = list(found)
    while pending:
        picture = pending.pop()
        for index in references[offsets[picture] : offsets[picture + 1]].tolist():
            if index in found:
                continue
            if index in known:
                found |= known[index]
            else:
                found.add(index)
                pending.append(index)
    return found


def reason_against(graph: ReferenceGraph, pictures: Iterable[int]) -> str | None:
    """Why one of ``pictures`` cannot be planned, the first in decode order; None if all can."""
    if not graph.unsafe:
        return None
    first = min((i for i in pictures if i in graph.unsafe), default=None)
    return None if first is None else f"picture {first}: {graph.unsafe[first]}"
