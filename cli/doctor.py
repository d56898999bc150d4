"""``framefs doctor``."""

from __future__ import annotations

import click

from cli import machine
from cli.errors import DONE, FAILED


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
    return DONE if all(check.passed for check in checks) else FAILED
