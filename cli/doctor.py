"""``framefs doctor``."""

from __future__ import annotations

import os

import click

from cli import machine
from cli.errors import DONE, FAILED
from cli.logs import SYSLOG


@click.command(name="doctor", short_help="Say what this machine lacks, and what brings it.")
@click.option("--allow-other", is_flag=True, help="Check what the option allow_other needs, too.")
def command(allow_other: bool) -> int:
    """Check what a mount needs of this machine; exit status 1 when something is missing."""
    checks = machine.checks(allow_other=allow_other)
    for check in checks:
        mark = "ok" if check.passed else "missing"
        click.echo(f"{mark:8} {check.name:12} {check.found}")
        if not check.passed:
            click.echo(f"{'':21} {check.remedy}")
    if not os.path.exists(SYSLOG):
        click.echo(f"{'note':8} {'log':12} there is no {SYSLOG}: messages of a mount are lost")
        click.echo(f"{'':21} keep them with -o logging.target=FILE")
    return DONE if all(check.passed for check in checks) else FAILED
