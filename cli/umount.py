"""``framefs umount``."""

from __future__ import annotations

import click

import config
from cli.mounts import mounted_at
from cli.unmounting import unmount


@click.command(name="umount", short_help="Unmount, also a mount whose process has died.")
@click.argument("mountpoint", metavar="MNT", required=False)
@click.option("--config", "config_file", metavar="FILE", help="Take MNT from a configuration file.")
@click.option("-l", "--lazy", is_flag=True, help="Take it away although it is in use.")
@click.option("--if-mounted", is_flag=True, help="Do nothing where nothing is mounted.")
def command(mountpoint: str | None, config_file: str | None, lazy: bool, if_mounted: bool) -> None:
    """Unmount what framefs has mounted at MNT."""
    if mountpoint is None and config_file is not None:
        mountpoint = config.load(config_file).mountpoint
    if mountpoint is None:
        raise click.UsageError("name the mount point: MNT")
    if if_mounted and mounted_at(mountpoint) is None:
        return
    unmount(mountpoint, lazy=lazy)
