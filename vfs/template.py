"""Templates of names: text with fields such as ``img_{number:05d}``. Pure."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from vfs.errors import WrongLayout

FRAME_FIELDS = ("number", "index", "pts", "time_ms")
"""What tells frames of a clip apart. The best to read a name by come first."""

CLIP_FIELDS = ("stem", "name")
"""What tells clips of a folder apart, each by itself."""

FOLDER_FIELDS = ("parent", "relpath")
"""What stands for several names of a path."""

_SPEC = re.compile(r"0?([1-9][0-9]?)d?", re.ASCII)
_MOST_DIGITS = 18

INTEGER = rf"(-?[0-9]{{1,{_MOST_DIGITS + 1}}})"
"""Matches a number in a name."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a template. ``digits`` at least, filled up with zeros; 0 where it does not say."""

    name: str
    digits: int = 0


Piece: TypeAlias = str | Field


@dataclass(frozen=True, slots=True)
class Template:
    """A text with fields; ``text`` is how it was written."""

    text: str
    pieces: tuple[Piece, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """The template that ``text`` writes down.

        Raises:
            WrongLayout: braces do not match, or a field has an impossible format.
        """
        pieces: list[Piece] = []
        try:
            parsed = list(string.Formatter().parse(text))
        except ValueError as error:
            raise WrongLayout(
                f"{text}: braces do not match ({error}); a field is {{number}}"
            ) from error
        for literal, name, spec, conversion in parsed:
            if literal:
                pieces.append(literal)
            if name is not None:
                pieces.append(_field(text, name, spec or "", conversion))
        return cls(text, tuple(pieces))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields, in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Field))

    @property
    def names(self) -> frozenset[str]:
        """The names of the fields."""
        return frozenset(field.name for field in self.fields)

    def filled(self, values: Mapping[str, str | int]) -> Template:
        """The template with the fields that ``values`` has replaced by their values."""
        if not any(isinstance(piece, Field) and piece.name in values for piece in self.pieces):
            return self
        pieces: list[Piece] = []
        for piece in self.pieces:
            if isinstance(piece, Field) and piece.name in values:
                piece = written(values[piece.name], piece.digits)
            if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += piece
            elif piece != "":
                pieces.append(piece)
        return Template(self.text, tuple(pieces))

    def rendered(self, values: Mapping[str, str | int]) -> str:
        """The text with all fields replaced by their values."""
        return "".join(
            piece if isinstance(piece, str) else written(values[piece.name], piece.digits)
            for piece in self.pieces
        )


def written(value: str | int, digits: int) -> str:
    """A value as it stands in a name."""
    return value if isinstance(value, str) else f"{value:0{digits}d}"


def _field(text: str, name: str, spec: str, conversion: str | None) -> Field:
    if not name.isidentifier():
        raise WrongLayout(f"{text}: {{{name}}} is no field; fields are {{number}}, {{stem}}, ...")
    if conversion:
        raise WrongLayout(f"{text}: {{{name}!{conversion}}} is not possible; write {{{name}}}")
    if not spec:
        return Field(name)
    match = _SPEC.fullmatch(spec)
    if match is None or int(match[1]) > _MOST_DIGITS:
        raise WrongLayout(
            f"{text}: {{{name}:{spec}}} is not possible; write {{{name}:06d}} for six digits "
            f"(up to {_MOST_DIGITS})"
        )
    if name in CLIP_FIELDS or name in FOLDER_FIELDS:
        raise WrongLayout(f"{text}: {{{name}}} is text and has no digits; write {{{name}}}")
    return Field(name, int(match[1]))


@functools.lru_cache(maxsize=4096)
def pattern(pieces: tuple[Piece, ...], extensions: tuple[str, ...]) -> re.Pattern[str]:
    """Matches the names that a template gives, each field a group, the extension the last one."""
    parts = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(re.escape(piece))
        elif piece.name in CLIP_FIELDS:
            parts.append("(.+)")
        else:
            parts.append(INTEGER)
    ending = "|".join(map(re.escape, extensions))
    return re.compile(rf"{''.join(parts)}\.({ending})", re.ASCII | re.DOTALL)


def touching(template: Template) -> tuple[Field, str, Field] | None:
    """Two fields, and what is between them, that names do not tell apart.

    A number ends where something other than a digit is. So there must be such a thing between it
    and the next field.
    """
    before: Field | None = None
    between = ""
    for piece in template.pieces:
        if isinstance(piece, str):
            between += piece
            continue
        alike = not between.strip(string.digits)
        if before is not None and alike and _one_is_number(before, piece):
            return before, between, piece
        before, between = piece, ""
    return None


def _one_is_number(one: Field, other: Field) -> bool:
    return one.name not in CLIP_FIELDS or other.name not in CLIP_FIELDS
