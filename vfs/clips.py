"""Clips: what is shown, in folders. Pure.

A clip is a source or a part of one, under a name. In a plain corpus every video is a clip, in the
folder in which it lies. Where the corpus is a data set with an order of its own, its clips are what
the data set says: these frames of that file.
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

    @property
    def stem(self) -> str:
        """The name without its extension."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def extension(self) -> str:
        """The extension of the name without its dot; "" where it has none."""
        stem, _, extension = self.name.rpartition(".")
        return extension if stem else ""


@dataclass(frozen=True, slots=True)
class ClipFolder:
    """What is in one folder. Another object as soon as anything in it has changed."""

    mtime_ns: int
    folders: frozenset[str]
    clips: tuple[Clip, ...]


class Clips(Protocol):
    """All that there is to show. Thread safe."""

    @property
    def fields(self) -> frozenset[str]:
        """The names in `Clip.fields` that every clip has."""

    def folder(self, relpath: str) -> ClipFolder:
        """What is in the folder ``relpath`` ("" is the root).

        Raises:
            SourceNotFound: there is no such folder.
            SourceUnreadable: it exists and cannot be listed.
        """
