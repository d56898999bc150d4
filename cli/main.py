"""The ``framefs`` command: the verbs, put together."""

from __future__ import annotations

import importlib
import os
import sys

import click

from cli import helper
from cli.errors import WRONG_USE
from cli.running import run

_VERBS = {
    "mount": "mount",
    "umount": "cli.umount",
    "layouts": "cli.layouts",
    "index": "cli.index",
    "inspect": "cli.inspect",
    "verify": "cli.verify",
    "compare": "cli.compare",
    "transcode": "cli.transcode",
    "list": "cli.list",
    "stats": "cli.stats",
    "doctor": "cli.doctor",
}
"""Each verb, and the module that has it as ``command``."""


class _Verbs(click.Group):
    """Loads a verb when it is asked for: only mounting needs FFmpeg, and it takes its time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        command: click.Command = importlib.import_module(_VERBS[cmd_name]).command
        return command


@click.group(cls=_Verbs, invoke_without_command=True)
@click.version_option(package_name="framefs", message="%(prog)s %(version)s")
@click.pass_context
def framefs(context: click.Context) -> int:
    """Every frame of a folder of videos as an image file."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        return WRONG_USE
    return 0


def main() -> None:
    """Run ``framefs``, or only its mount command where mount(8) calls it by a link; and exit."""
    if helper.is_helper(os.path.basename(sys.argv[0])):
        sys.exit(importlib.import_module("mount").main())
    sys.exit(run(framefs, "framefs"))


if __name__ == "__main__":
    main()
