"""What there is to show: clips, in folders. Pure.

A clip is a source or a part of one, under a name. Where the corpus is a data set with an order of
its own, its clips are what the data set says: these frames of that file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from decoder.index import SourceIndex


class Span(Protocol):
    """Where in its source a clip lies."""

    def frames(self, index: SourceIndex) -> range:
        """The numbers of its frames. Raises VfsError: the source does not have them."""


@dataclass(frozen=True, slots=True)
class Clip:
    """Consecutive frames of one source, shown together.

    Attributes:
        relpath: the video's path in the corpus.
        folder: the folder in which the clip is shown, "" for the root.
        name: what it is called there, with an extension if it has one.
        fields: what names can be made of besides.
        span: where in the source it lies; None where it is all of it.
    """

    relpath: str
    folder: str
    name: str
    fields: Mapping[str, str | int] = field(default_factory=dict, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    def frames(self, index: SourceIndex) -> range:
        """Their numbers in the source that ``index`` is of. Raises VfsError: it has none such."""
        return range(index.frame_count) if self.span is None else self.span.frames(index)
