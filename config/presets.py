"""Layouts by name: the files in ``config/layouts``."""

from __future__ import annotations

import difflib
import functools
import os
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from config.errors import ConfigError
from config.loading import document, section
from config.settings import FramesSettings

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layouts")


class _Head(Struct, frozen=True):
    names: Annotated[
        tuple[str, ...], Meta(min_length=1, description="a list of names such as [tsn, tsm]")
    ]
    about: Annotated[str, Meta(description="what reads it, in a line")]


class Preset(Struct, frozen=True):
    """A layout with a name.

    Attributes:
        names: all names of it.
        about: what reads it, in a line.
        settings: what it has for settings of `FramesSettings` that are None.
    """

    names: tuple[str, ...]
    about: str
    settings: dict[str, Any]


@functools.cache
def presets() -> tuple[Preset, ...]:
    """All layouts, the default first, then by name."""
    files = sorted(os.listdir(_FOLDER), key=lambda name: (name != "default.yaml", name))
    return tuple(_read(os.path.join(_FOLDER, name)) for name in files)


def preset(name: str) -> Preset:
    """The layout of this name.

    Raises:
        ConfigError: there is none.
    """
    by_name = {alias: one for one in presets() for alias in one.names}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name, by_name, n=1)
    advice = f"did you mean {near[0]}? " if near else ""
    raise ConfigError(
        f"frames.layout: there is no layout {name}; {advice}framefs layouts lists them"
    )


def completed(frames: FramesSettings) -> FramesSettings:
    """``frames`` with what it leaves to its layout.

    Raises:
        ConfigError: there is no such layout.
    """
    base = {**preset("default").settings, **preset(frames.layout).settings}
    missing = {key: value for key, value in base.items() if getattr(frames, key) is None}
    return msgspec.structs.replace(frames, **missing)


def views(frames: FramesSettings, given: dict[str, dict[str, Any]]) -> dict[str, FramesSettings]:
    """The settings of each view by its name, complete; the only one at the root is named "".

    A view has the settings in ``frames``, and its own before them.

    Raises:
        ConfigError: there is no such layout; the message names the view.
    """
    if not given:
        return {"": completed(frames)}
    made = {}
    for name, own in given.items():
        try:
            made[name] = completed(msgspec.structs.replace(frames, **own))
        except ConfigError as error:
            raise ConfigError(f"views.{name}: {error}") from error
    return made


def _read(path: str) -> Preset:
    given = document(path)
    if not isinstance(given, dict):
        raise ConfigError(f"{path}: expected settings")
    head = {key: value for key, value in given.items() if key in ("names", "about")}
    rest = {key: value for key, value in given.items() if key not in head}
    return Preset(**section("", _Head, head), settings=section("", FramesSettings, rest))
