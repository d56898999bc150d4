"""Whether a corpus and a mount point can be what they are said to be.

Each refusal is a :class:`~cli.errors.CommandFailed` of its own, raised before anything is mounted.
"""

from __future__ import annotations

import os
import stat

from cli.errors import CommandFailed
from cli.mounts import FILESYSTEM_TYPE, is_dead, mounted_at


def check_corpus(path: str) -> str:
    """The real path of the corpus at ``path``.

    Raises:
        CommandFailed: it is missing, not a directory, or may not be listed.
    """
    try:
        with os.scandir(path) as entries:
            next(entries, None)
    except FileNotFoundError as error:
        raise CommandFailed(f"{path}: there is no such corpus; check the path") from error
    except NotADirectoryError as error:
        raise CommandFailed(
            f"{path}: the corpus is a file; name the folder that holds the videos"
        ) from error
    except OSError as error:
        raise CommandFailed(
            f"{path}: the corpus cannot be read ({error.strerror}); "
            "check its permissions and the disk"
        ) from error
    return os.path.realpath(path)


def check_mountpoint(path: str) -> str:
    """The real path of the mount point at ``path``.

    Raises:
        CommandFailed: it is missing, no directory, already or still mounted, or may not be written
            to by a user who is not root (whom FUSE lets mount only over what is theirs).
    """
    mounted = mounted_at(path)
    if mounted is not None and mounted.type == FILESYSTEM_TYPE:
        if is_dead(path):
            raise CommandFailed(
                f"{path}: a mount whose process has died is still here; "
                f"clear it with framefs umount {path}"
            )
        raise CommandFailed(
            f"{path}: {mounted.source} is already mounted here; "
            f"unmount it first with framefs umount {path}"
        )
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        raise CommandFailed(
            f"{path}: there is no such mount point; make it with mkdir -p {path}"
        ) from error
    except NotADirectoryError as error:
        raise CommandFailed(f"{path}: a part of this path is not a directory") from error
    except OSError as error:
        raise CommandFailed(
            f"{path}: the mount point cannot be reached ({error.strerror})"
        ) from error
    if not stat.S_ISDIR(status.st_mode):
        raise CommandFailed(f"{path}: the mount point is not a directory")
    if os.geteuid() != 0 and not os.access(path, os.W_OK):
        raise CommandFailed(f"{path}: the mount point must be writable for the user who mounts")
    return os.path.realpath(path)


def check_apart(corpus: str, mountpoint: str) -> None:
    """Make sure that neither real path lies inside the other.

    Raises:
        CommandFailed: a mount there would hide the corpus, or show the mount inside itself.
    """
    if corpus == mountpoint:
        raise CommandFailed(
            f"{mountpoint}: mounting over the corpus itself would hide it; "
            "choose a folder elsewhere"
        )
    if _inside(mountpoint, corpus):
        raise CommandFailed(
            f"{mountpoint}: the mount point lies inside the corpus {corpus}, which would show "
            "itself; choose a folder elsewhere"
        )
    if _inside(corpus, mountpoint):
        raise CommandFailed(
            f"{mountpoint}: the mount would hide the corpus {corpus}, which lies inside it; "
            "choose a folder elsewhere"
        )


def check_empty(path: str) -> None:
    """Make sure that a mount at ``path`` hides nothing.

    Raises:
        CommandFailed: there is something in it, or it cannot be listed.
    """
    try:
        empty = not os.listdir(path)
    except OSError as error:
        raise CommandFailed(
            f"{path}: the mount point cannot be listed ({error.strerror})"
        ) from error
    if not empty:
        raise CommandFailed(
            f"{path}: the mount point is not empty; choose an empty folder, "
            "or hide what is in it with -o nonempty"
        )


def _inside(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
