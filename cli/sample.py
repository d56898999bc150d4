"""``make run``: mounts a folder of videos, at first the bundled sample, and says what to try."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile

import click

import mount
from cli.running import run
from config import Settings

SAMPLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sample")


@click.command()
@click.option("--videos", default=SAMPLE, help="The folder of videos.")
@click.option("--mount", "mountpoint", help="The folder to mount at; made where it is missing.")
def command(videos: str, mountpoint: str | None) -> None:
    """Mount in the foreground until Ctrl-C."""
    made = mountpoint is None or not os.path.lexists(mountpoint)
    if mountpoint is None:
        mountpoint = tempfile.mkdtemp(prefix="framefs-")
    elif made:
        os.makedirs(mountpoint)
    try:
        mount.mount(mount.MountRequest(videos, mountpoint, Settings(), foreground=True), _explain)
    finally:
        if made:
            os.rmdir(mountpoint)


def _explain(source: str, mountpoint: str) -> None:
    click.echo(f"{source} is mounted at {mountpoint}")
    folder = _first_source(mountpoint)
    if folder is None:
        click.echo("There is no video in it yet. Ctrl-C unmounts.")
        return
    png = os.path.join(folder, min(os.listdir(folder)))
    npy = f"{os.path.splitext(png)[0]}.npy"
    show = f'from PIL import Image; print(Image.open("{png}"))'
    load = f'import numpy; print(numpy.load("{npy}", mmap_mode="r").shape)'
    click.echo(
        f"""Try, in another terminal:
  ls {shlex.quote(folder)} | head
  {shlex.quote(sys.executable)} -c {shlex.quote(show)}
  {shlex.quote(sys.executable)} -c {shlex.quote(load)}
Ctrl-C unmounts."""
    )


def _first_source(folder: str) -> str | None:
    """The first folder in depth order that holds no folder, which in a mount is a source."""
    for directory, folders, files in os.walk(folder):
        folders.sort()
        if files:
            return directory
    return None


if __name__ == "__main__":
    sys.exit(run(command, "make run"))
