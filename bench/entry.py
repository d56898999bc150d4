"""What the commands of the benchmarks share: names, files, results, and how they end."""

from __future__ import annotations

import glob
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

DONE, FAULTS, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses."""


def known_names(known: Sequence[str]) -> Any:
    """A callback of click: splits at commas, refuses what is not known."""

    def split(context: click.Context, option: click.Parameter, value: str) -> list[str]:
        names = [name.strip() for name in value.split(",") if name.strip()]
        for name in names:
            if name not in known:
                raise click.BadParameter(f"there is no {name!r}; known: {', '.join(known)}")
        return list(dict.fromkeys(names))

    return split


def files(patterns: Sequence[str]) -> list[Path]:
    """The files that glob patterns name. Raises click.UsageError where there is none."""
    paths = [Path(path) for one in patterns for path in sorted(glob.glob(one)) or [one]]
    for path in paths:
        if not path.is_file():
            raise click.UsageError(f"there is no file {path}")
    return paths


def named_apart(paths: list[Path], why: str) -> list[Path]:
    """``paths``, if no two have the same name. Raises click.UsageError, which says ``why``."""
    if len({path.stem for path in paths}) < len(paths):
        raise click.UsageError(f"two clips have the same name{why}")
    return paths


def write(output: str, whole: Any) -> None:
    """All results as JSON. Raises click.FileError."""
    try:
        Path(output).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise click.FileError(output, error.strerror) from error


def run(command: click.Command, name: str, arguments: Sequence[str] | None) -> int:
    """Runs a command; one line for every failure, and the exit status that goes with it."""
    try:
        status = command.main(
            args=None if arguments is None else list(arguments),
            prog_name=name,
            standalone_mode=False,
        )
    except click.ClickException as error:
        print(f"bench: {' '.join(error.format_message().split())}", file=sys.stderr)
        return WRONG_USE
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    return status if isinstance(status, int) else DONE
