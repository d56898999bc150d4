"""What ``-o`` says, in the words of mount(8), FUSE and framefs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import click

import config

HELP = (
    "Any setting as section.key=value; also uid=, gid=, umask=, allow_other, nonempty, config=FILE "
    f"and the common options of mount(8). {config.DEFAULTS} lists all settings."
)

_SHORT = {"uid": "mount.uid", "gid": "mount.gid", "umask": "mount.umask"}
_FLAGS = {"allow_other": "mount.allow_other"}

# Passed on to libfuse.
_FUSE = frozenset("ro nosuid nodev noexec noatime default_permissions auto_unmount".split())
_FUSE_WITH_VALUE = frozenset({"fsname", "max_read"})

# For mount(8), systemd or the kernel, with nothing for a read-only filesystem of images to do.
_IGNORED = frozenset(
    "rw defaults auto noauto user nouser users owner group _netdev nofail "
    "async sync dirsync atime relatime norelatime strictatime nostrictatime lazytime nolazytime "
    "diratime nodiratime dev suid exec mand nomand iversion noiversion silent loud".split()
)
_IGNORED_WITH_VALUE = re.compile(r"^(x-|X-|comment=|user=|helper=|uhelper=)")

_SEPARATOR = re.compile(r"(?<!\\),")


@dataclass(frozen=True, slots=True)
class Options:
    """What a list of ``-o`` options asks for."""

    settings: tuple[tuple[str, str], ...] = ()
    """(``section.key``, text), in the order given."""
    fuse: tuple[str, ...] = ()
    """Further options for libfuse."""
    nonempty: bool = False
    config: str | None = None


def parse(texts: Iterable[str], *, sloppy: bool = False) -> Options:
    r"""Parse what follows each ``-o``: options separated by commas (``\,`` is a plain comma).

    Args:
        sloppy: pass over unknown options, as mount(8) asks with ``-s``.

    Raises:
        click.UsageError: an option is unknown, lacks its value, or has one too many.
    """
    settings: list[tuple[str, str]] = []
    fuse: list[str] = []
    nonempty = False
    config = None
    for option in _split(texts):
        name, equals, value = option.partition("=")
        if "." in name and equals and not _IGNORED_WITH_VALUE.match(option):
            settings.append((name, value))
        elif name in _SHORT and equals:
            settings.append((_SHORT[name], value))
        elif option in _FLAGS:
            settings.append((_FLAGS[option], "true"))
        elif name == "config" and value:
            config = value
        elif option == "nonempty":
            nonempty = True
        elif option in _FUSE or (name in _FUSE_WITH_VALUE and value):
            fuse.append(option.replace(",", "\\,"))
        elif option == "remount":
            raise click.UsageError("remount is not possible; unmount and mount again")
        elif option not in _IGNORED and not _IGNORED_WITH_VALUE.match(option) and not sloppy:
            raise click.UsageError(_refusal(name, equals, option))
    return Options(tuple(settings), tuple(fuse), nonempty, config)


def _split(texts: Iterable[str]) -> Iterable[str]:
    for text in texts:
        for option in _SEPARATOR.split(text):
            if option:
                yield option.replace("\\,", ",")


def _refusal(name: str, equals: str, option: str) -> str:
    if "." in name or name in _SHORT or name == "config":
        return f"-o {option} lacks its value: {name}=..."
    if equals and (name in _FLAGS or name in _FUSE or name in _IGNORED or name == "nonempty"):
        return f"-o {option}: {name} takes no value"
    return f"unknown option -o {option}"
