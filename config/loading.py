"""From YAML and ``section.key=value`` to :class:`~config.settings.Settings`, strictly.

Nothing unknown is passed over and nothing is guessed: every error is a
:class:`~config.errors.ConfigError` of one line that names the setting by its path.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Hashable, Mapping
from typing import Any, get_args, get_origin

import msgspec
import yaml

from config.errors import ConfigError
from config.settings import FramesSettings, Settings
from config.values import ByteSize, CacheSize, CropText, RangeText, Rate, Umask


def load(path: str) -> Settings:
    """The settings in the YAML file at ``path``; what it leaves out has its default.

    ``source``, ``mountpoint`` and ``index.path`` are taken relative to the file's own folder.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or says something unknown or wrong.
    """
    given = document(path)
    try:
        settings = from_mapping(given)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    folder = os.path.dirname(os.path.abspath(path))

    def absolute(place: str | None) -> str | None:
        return None if place is None else os.path.join(folder, place)

    if settings.index.path != ":memory:":
        index = msgspec.structs.replace(settings.index, path=absolute(settings.index.path))
        settings = msgspec.structs.replace(settings, index=index)
    return msgspec.structs.replace(
        settings, source=absolute(settings.source), mountpoint=absolute(settings.mountpoint)
    )


def document(path: str) -> object:
    """What the YAML file at ``path`` says, as plain data.

    Raises:
        ConfigError: it cannot be read or is not YAML; the message begins with ``path``.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return yaml.load(file, Loader=_StrictLoader)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is not valid YAML: {_first_line(error)}") from error


def from_mapping(document: object) -> Settings:
    """The settings in a parsed document (``None`` is an empty one).

    Raises:
        ConfigError: a setting is unknown or has a wrong type or value.
    """
    given = _mapping("", document)
    values: dict[str, Any] = {}
    fields = _fields(Settings)
    for name, value in given.items():
        info = _known(fields, "", name)
        if name == "views":
            values[name] = {
                _view_name(view): section(f"views.{view}", FramesSettings, settings)
                for view, settings in _mapping(name, value).items()
            }
        elif _is_section(info):
            values[name] = info.type(**section(name, info.type, value))
        else:
            values[name] = _convert(name, info, value)
    return Settings(**values)


def section(path: str, kind: type[msgspec.Struct], value: object) -> dict[str, Any]:
    """The settings of a section that ``value`` gives, converted; no others.

    Raises:
        ConfigError: a setting is unknown or has a wrong type or value.
    """
    fields = _fields(kind)
    prefix = f"{path}." if path else ""
    return {
        key: _convert(f"{prefix}{key}", _known(fields, prefix, key), item)
        for key, item in _mapping(path, value).items()
    }


def _view_name(name: object) -> str:
    if not isinstance(name, str) or not name or "/" in name or "\0" in name or name[0] == ".":
        raise ConfigError(f"views: expected names of directories such as small, got {_shown(name)}")
    return name


def override(settings: Settings, path: str, text: str) -> Settings:
    """``settings`` with the one at ``path`` (``cache.size``) set to what ``text`` says.

    Lists are separated by colons (``mp4:mkv``); ``null`` is null.

    Raises:
        ConfigError: there is no such setting, or ``text`` is no value for it.
    """
    section_name, _, key = path.partition(".")
    section = _known(_fields(Settings), "", section_name)
    if not _is_section(section) or not key:
        raise ConfigError(f"{path}: unknown setting; settings look like cache.size")
    info = _known(_fields(section.type), f"{section_name}.", key)
    value: object = None if text == "null" else text
    if value is not None and _is_list(info.type):
        value = text.split(":") if text else []
    changed = msgspec.structs.replace(
        getattr(settings, section_name), **{key: _convert(path, info, value, strict=False)}
    )
    return msgspec.structs.replace(settings, **{section_name: changed})


def setting_paths() -> dict[str, str]:
    """Every setting as ``section.key`` (or ``source``), with the description of its values."""
    paths: dict[str, str] = {}
    for name, info in _fields(Settings).items():
        if _is_section(info):
            paths |= {f"{name}.{key}": _described(sub) for key, sub in _fields(info.type).items()}
        else:
            paths[name] = _described(info)
    return paths


class _StrictLoader(yaml.SafeLoader):
    """Plain data only, and no key twice: the last one would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys: set[object] = set()
        for key_node, _ in node.value:
            key = key_node.value
            if key in keys:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key} is set twice", key_node.start_mark
                )
            keys.add(key)
        return super().construct_mapping(node, deep)


def _first_line(error: yaml.YAMLError) -> str:
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    mark = getattr(error, "problem_mark", None)
    return f"{problem} (line {mark.line + 1})" if mark is not None else str(problem)


def _fields(struct: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {info.name: info for info in msgspec.structs.fields(struct)}


def _is_section(info: msgspec.structs.FieldInfo) -> bool:
    return isinstance(info.type, type) and issubclass(info.type, msgspec.Struct)


def _bare(annotation: Any) -> Any:
    return getattr(annotation, "__origin__", annotation)


def _is_list(annotation: Any) -> bool:
    bare = _bare(annotation)
    return any(get_origin(part) is tuple for part in (bare, *get_args(bare)))


def _described(info: msgspec.structs.FieldInfo) -> str:
    # typing flattens nested Annotated: the outermost Meta, which has the description, comes last.
    return str(info.type.__metadata__[-1].description)


def _known(
    fields: Mapping[str, msgspec.structs.FieldInfo], prefix: str, name: object
) -> msgspec.structs.FieldInfo:
    if isinstance(name, str) and name in fields:
        return fields[name]
    near = difflib.get_close_matches(str(name), fields, n=1)
    advice = f"did you mean {prefix}{near[0]}?" if near else f"there are {', '.join(fields)}"
    raise ConfigError(f"{prefix}{name}: unknown setting; {advice}")


def _mapping(path: str, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    where = f"{path}: " if path else ""
    raise ConfigError(f"{where}expected settings, one 'name: value' a line, got {_shown(value)}")


def _convert(
    path: str, info: msgspec.structs.FieldInfo, value: object, *, strict: bool = True
) -> Any:
    try:
        return msgspec.convert(value, info.type, strict=strict, dec_hook=_decode)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: expected {_described(info)}, got {_shown(value)}") from error


def _decode(wanted: type, value: object) -> object:
    for known in (CacheSize, ByteSize, Umask, Rate, CropText, RangeText):
        if wanted is known:
            return known.parse(value)
    raise NotImplementedError(f"no conversion to {wanted}")  # as msgspec asks of a dec_hook


def _shown(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
