"""The names of one clip's frames, and back from a name to a frame. Pure; the two are inverses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfs.errors import WrongLayout
from vfs.layout import Layout
from vfs.template import FRAME_FIELDS, Field, Template, pattern

Column = Sequence[int] | NDArray[Any]
"""What a field is for each frame of a clip: a range, or an array of whole numbers."""


class FrameNames:
    """Names by position in what is shown of a clip, from 0.

    Args:
        layout: whose file template names the frames.
        clip: what the fields that are about the clip mean.
        extensions: of the files that there are of a frame.
        columns: (field) -> its value for each frame; called for the fields that the template has.
        what: the clip in words, for messages.

    Raises:
        WrongLayout: two frames would have the same name, or a number has more digits than it may
            have.
    """

    __slots__ = ("_columns", "_formats", "_key", "_lookup", "_pattern", "count", "extensions")

    def __init__(
        self,
        layout: Layout,
        clip: Mapping[str, str | int],
        extensions: tuple[str, ...],
        columns: Callable[[str], Column],
        what: str,
    ) -> None:
        template = layout.file.filled(clip)
        self.extensions = extensions
        self._columns = [columns(field.name) for field in template.fields]
        self.count = len(self._columns[0])
        self._pattern = pattern(template.pieces, extensions)
        self._key = self._unique(template, what) if self.count else 0
        self._lookup: tuple[NDArray[Any], NDArray[Any]] | None = None
        text = "".join(
            piece.replace("%", "%%")
            if isinstance(piece, str)
            else f"%0{self._digits(layout, piece, place, what)}d"
            for place, piece in _numbered(template)
        )
        self._formats = tuple(f"{text}.{extension}" for extension in extensions)

    def name(self, position: int, choice: int = 0) -> str:
        """The name of a frame; ``choice`` is the place of its extension."""
        return self._formats[choice] % tuple([column[position] for column in self._columns])

    def parse(self, name: str) -> tuple[int, int] | None:
        """(position, choice) of the frame that has this name, or None."""
        match = self._pattern.fullmatch(name)
        if match is None:
            return None
        position = self._position(int(match[self._key + 1]))
        choice = self.extensions.index(match[match.re.groups])
        # Other spellings of a number (more zeros, fewer) are no names.
        if position is None or self.name(position, choice) != name:
            return None
        return position, choice

    def _position(self, value: int) -> int | None:
        column = self._columns[self._key]
        if isinstance(column, range):
            return column.index(value) if value in column else None
        if self._lookup is None:
            values = np.asarray(column)
            order = np.argsort(values, kind="stable")
            self._lookup = values[order], order
        values, order = self._lookup
        if not _INT64.min <= value <= _INT64.max:
            return None
        place = int(np.searchsorted(values, value))
        return int(order[place]) if place < len(values) and values[place] == value else None

    def _unique(self, template: Template, what: str) -> int:
        """The place of a field that differs from frame to frame."""
        fields = template.fields
        for place in sorted(range(len(fields)), key=lambda n: FRAME_FIELDS.index(fields[n].name)):
            column = self._columns[place]
            if isinstance(column, range) or len(np.unique(column)) == len(column):
                return place
        values = np.asarray(self._columns[0])
        order = np.argsort(values, kind="stable")
        twice = int(np.flatnonzero(np.diff(values[order]) == 0)[0])
        one, other = sorted((int(order[twice]), int(order[twice + 1])))
        raise WrongLayout(
            f"{what}: the names of frames {one} and {other} would be the same, since both have the "
            f"{fields[0].name} {int(values[one])}; name frames by {{number}}"
        )

    def _digits(self, layout: Layout, field: Field, place: int, what: str) -> int:
        digits = field.digits or layout.digits
        column = self._columns[place]
        if layout.widen == "number" or not self.count:
            return digits
        ends = (
            (column[0], column[-1])
            if isinstance(column, range)
            else (np.min(column), np.max(column))
        )
        needed = max(len(str(int(end))) for end in ends)
        if needed > digits and layout.widen == "never":
            raise WrongLayout(
                f"{what}: {self.count} frames need {needed} digits, and who reads this layout "
                f"expects {digits}; choose fewer with stride, fps or range, or another layout"
            )
        return max(digits, needed)


_INT64 = np.iinfo(np.int64)


def _numbered(template: Template) -> list[tuple[int, str | Field]]:
    """The pieces, each with the number of fields before it."""
    numbered: list[tuple[int, str | Field]] = []
    place = 0
    for piece in template.pieces:
        numbered.append((place, piece))
        place += isinstance(piece, Field)
    return numbered
