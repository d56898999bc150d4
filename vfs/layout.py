"""How clips and their frames become paths in the mounted tree. Pure.

A layout has two templates. That of the directory, ``{parent}/{stem}``, is walked name by name: a
fixed part, the folders of the corpus, another fixed part, the clip's own directory, and a fixed
part in it. Each but the folders may be missing. That of the file, ``img_{number:05d}``, names a
frame; the extension comes from the format. Every step of a look-up follows from the name alone, so
that a path is found without listing anything and without looking at any other clip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from vfs.errors import WrongLayout
from vfs.template import CLIP_FIELDS, FOLDER_FIELDS, FRAME_FIELDS, Field, Template, touching

Widen = Literal["source", "number", "never"]

_PARENT = "{parent}"
_STEM = Template.parse("{stem}")
_NAME = Template.parse("{name}")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where frames are, and what they are called. Made by `Layout.of`.

    Attributes:
        above: fixed directories above the folders of the corpus.
        flat: clips of all folders are together; the folders are not shown.
        between: fixed directories in each folder, below which its clips are.
        clip: names a clip's directory; None where clips have none and share that of their folder.
        below: fixed directories in a clip's directory.
        file: names a frame, without the extension.
        start: the number of the first frame.
        digits: of frame numbers, at least, where the template does not say.
        widen: what becomes of numbers with more digits: all names of the source get as many
            ("source"), or only those names that need them ("number"), or the source is refused
            ("never").
    """

    above: tuple[str, ...]
    flat: bool
    between: tuple[str, ...]
    clip: Template | None
    below: tuple[str, ...]
    file: Template
    start: int = 0
    digits: int = 6
    widen: Widen = "source"

    @classmethod
    def of(
        cls,
        directory: str,
        file: str,
        *,
        start: int = 0,
        digits: int = 6,
        widen: Widen = "source",
    ) -> Layout:
        """The layout with these templates.

        Raises:
            WrongLayout: a template is malformed, or two frames could have the same name.
        """
        above, flat, between, clip, below = _parts(directory)
        template = Template.parse(file)
        _check_file(template, shared=clip is None)
        return cls(above, flat, between, clip, below, template, start, digits, widen)

    @property
    def own(self) -> Template:
        """What tells the clips of a folder apart: their directories, or the names of the files."""
        if self.clip is not None:
            return self.clip
        return _STEM if "stem" in self.file.names else _NAME

    @property
    def clip_in_file(self) -> bool:
        """Whether the names of files say something about the clip."""
        return next(_clip_fields(self.file), None) is not None

    @property
    def clip_fields(self) -> Iterator[tuple[str, str]]:
        """(template, field) of everything that names are made of and that is about the clip."""
        for template in (self.clip, self.file):
            if template is not None:
                yield from ((template.text, field.name) for field in _clip_fields(template))


_Parts = tuple[tuple[str, ...], bool, tuple[str, ...], Template | None, tuple[str, ...]]


def _parts(directory: str) -> _Parts:
    """(above, flat, between, clip, below) of a directory's template; see `Layout`."""
    names: list[str] = []
    for name in filter(None, directory.split("/")):
        names += ["{parent}", "{name}"] if name == "{relpath}" else [name]
    templates = [_directory_part(directory, name) for name in names]
    clips = [place for place, one in enumerate(templates) if one.fields and names[place] != _PARENT]
    if len(clips) > 1:
        one, other = (names[place] for place in clips[:2])
        raise WrongLayout(
            f"{directory}: both {one} and {other} name a clip; put it into one directory"
        )
    if names.count(_PARENT) > 1 or (clips and _PARENT in names[clips[0] :]):
        raise WrongLayout(f"{directory}: {{parent}} goes once, and before the clip")
    clip = clips[0] if clips else len(names)
    parent = names.index(_PARENT) if _PARENT in names else None
    # Where nothing is seen of the folders, all that is fixed lies above the clips.
    above = clip if parent is None else parent
    fixed = tuple(template.rendered({}) if not template.fields else "" for template in templates)
    return (
        fixed[:above],
        parent is None,
        () if parent is None else fixed[parent + 1 : clip],
        templates[clip] if clips else None,
        fixed[clip + 1 :],
    )


def _directory_part(directory: str, name: str) -> Template:
    if name in (".", ".."):
        raise WrongLayout(f"{directory}: {name} is no name for a directory")
    template = Template.parse(name)
    for field in template.fields:
        if field.name in FRAME_FIELDS:
            raise WrongLayout(f"{directory}: {{{field.name}}} belongs to the file")
        if field.name in FOLDER_FIELDS and name != _PARENT:
            raise WrongLayout(f"{directory}: {{{field.name}}} stands alone between two /")
    return template


def _check_file(template: Template, *, shared: bool) -> None:
    text = template.text
    if "/" in text:
        raise WrongLayout(f"{text}: a file name has no /; directories are a setting of their own")
    if template.names & set(FOLDER_FIELDS):
        raise WrongLayout(f"{text}: {{parent}} and {{relpath}} belong to the directory")
    if not template.names & set(FRAME_FIELDS):
        name = template.rendered({field.name: "a" for field in template.fields})
        raise WrongLayout(
            f"{text}: frames 0 and 1 of a clip would both be {name}; add {{number:06d}}"
        )
    if not shared:
        template = template.filled({field.name: "x" for field in _clip_fields(template)})
    else:
        count = len(list(_clip_fields(template)))
        if count != 1 or not template.names & set(CLIP_FIELDS):
            first = template.rendered({field.name: 0 for field in template.fields})
            raise WrongLayout(
                f"{text}: the clips of a folder share its directory, so that names are to have "
                f"{{stem}} or {{name}}, once; frame 0 of a.mp4 and of b.mp4 would both be {first}"
                if count == 0
                else f"{text}: the clips of a folder share its directory, so that names are to "
                "have one of {stem} and {name}, once, and nothing else about the clip"
            )
    if (met := touching(template)) is not None:
        one, between, other = met
        raise WrongLayout(_example(text, one, between, other))


def _clip_fields(template: Template) -> Iterator[Field]:
    return (field for field in template.fields if field.name not in FRAME_FIELDS)


def _example(text: str, one: Field, between: str, other: Field) -> str:
    if one.name in CLIP_FIELDS:
        first, second = ("a", f"1{between}000002"), (f"a{between}1", "000002")
    elif other.name in CLIP_FIELDS:
        first, second = (f"100000{between}1", "a"), ("100000", f"1{between}a")
    else:
        first, second = (f"1{between}1", "1"), ("1", f"1{between}1")
    return (
        f"{text}: {{{one.name}}}{between}{{{other.name}}} is ambiguous: {' with '.join(first)} and "
        f'{" with ".join(second)} would both be "{between.join(first)}"; put something other than '
        "a digit between them"
    )
