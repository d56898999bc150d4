"""Taking a mount away, whether its process is alive or not."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

from cli.errors import CommandFailed
from cli.machine import HELPERS
from cli.mounts import FILESYSTEM_TYPE, is_dead, mount_table, mounted_at, real_place

_PATIENCE = 5.0
"""Seconds that the kernel gets to take a mount out of its table, and a tool to ask it for that."""

_SILENCE = "no answer"


def unmount(mountpoint: str, *, lazy: bool = False) -> None:
    """Unmount the framefs mount at ``mountpoint``.

    Args:
        lazy: take it out of the tree now although it is in use; it ends with its last user. A mount
            whose process has died is taken out like this anyway, since nothing in it works.

    Raises:
        CommandFailed: nothing of framefs is mounted there, it is in use, or the system refuses.
    """
    place = real_place(mountpoint)
    mounted = mounted_at(place)
    if mounted is None:
        raise CommandFailed(f"{mountpoint}: nothing is mounted here")
    if mounted.type != FILESYSTEM_TYPE:
        raise CommandFailed(f"{mountpoint}: what is mounted here is {mounted.type}, not framefs")
    before = _count(place)
    complaint = _try(place, lazy=lazy)
    if complaint == _SILENCE:
        if _count(place) < before:
            # out of the tree; on a busy machine the kernel takes long to free the pages it kept
            return
        raise CommandFailed(f"{mountpoint}: the mount hangs; take it away with --lazy")
    if complaint is not None and not lazy and is_dead(place):
        complaint = _try(place, lazy=True)
    if complaint is not None:
        if "busy" in complaint:
            raise CommandFailed(
                f"{mountpoint}: the mount is in use; close what uses it "
                f"(fuser -vm {mountpoint} shows it), or take it away with --lazy"
            )
        raise CommandFailed(f"{mountpoint}: cannot be unmounted: {complaint}")
    end = time.monotonic() + _PATIENCE
    while _count(place) >= before:
        if time.monotonic() > end:
            raise CommandFailed(f"{mountpoint}: is still mounted")
        time.sleep(0.01)


def _count(place: str) -> int:
    return sum(mounted.mountpoint == place for mounted in mount_table())


def _try(place: str, *, lazy: bool) -> str | None:
    """What the first tool at hand complains of; ``None`` when it did it."""
    complaint = None
    for command in _commands(lazy):
        if shutil.which(command[0]) is None:
            continue
        try:
            done = subprocess.run(
                [*command, place], capture_output=True, text=True, check=False, timeout=_PATIENCE
            )
        except subprocess.TimeoutExpired:
            # umount(8) asks the mount for its type first, unless it is to be lazy
            return _SILENCE
        if done.returncode == 0:
            return None
        # the first tool is the right one for this user; what later ones say is about themselves
        complaint = complaint or " ".join(done.stderr.split()) or f"{command[0]} failed"
    return complaint or "there is no umount or fusermount3 on this machine"


def _commands(lazy: bool) -> list[list[str]]:
    system = ["umount", "-l"] if lazy else ["umount"]
    helpers = [[name, "-u", *(["-z"] if lazy else [])] for name in HELPERS]
    return [system, *helpers] if os.geteuid() == 0 else [*helpers, system]
