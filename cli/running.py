"""Runs a click command: one line for every failure, and the exit status that goes with it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from cli.errors import DONE, FAILED, INTERRUPTED, WRONG_USE, CommandFailed
from config.errors import ConfigError


def run(command: click.Command, name: str, arguments: Sequence[str] | None = None) -> int:
    """Run ``command`` as ``name`` with ``arguments`` (``None``: those of the process).

    Returns:
        The exit status: 0 done, 1 the work failed, 2 wrong use or configuration, 130 interrupted.
    """
    try:
        result = command.main(args=arguments, prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else name
        complain(f"{error.format_message().rstrip('.')} (see {path} --help)")
        return WRONG_USE
    except ConfigError as error:
        complain(str(error))
        return WRONG_USE
    except CommandFailed as error:
        complain(str(error))
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    return result if isinstance(result, int) else DONE


def complain(message: str) -> None:
    """Write one line to stderr, whatever line breaks ``message`` has."""
    print(f"framefs: {' '.join(message.split())}", file=sys.stderr, flush=True)
