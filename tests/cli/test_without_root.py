"""Mounting as a user who is not root. Root takes the part of nobody, with /dev/fuse open to all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.commands import ROOT, run, the_line

pytestmark = [
    pytest.mark.usefixtures("fuse"),
    pytest.mark.skipif(os.geteuid() != 0, reason="becomes somebody else"),
]

NOBODY = 65534
OPEN_DEVICE = (
    "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/fuse c 10 229"
)
CLOSED_DEVICE = OPEN_DEVICE.replace("666 /dev/fuse", "600 /dev/fuse")

# Everything is imported before root is given up: nobody else may read root's own Python.
PROGRAM = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
import mount
os.chdir("/"); os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
sys.exit(mount.main(sys.argv[1:]))
"""


@pytest.fixture
def public(sample: Path) -> Iterator[Path]:
    """A folder that everybody may look into, with ``videos`` and ``mine``, which is nobody's."""
    folder = Path(tempfile.mkdtemp())
    shutil.copytree(sample, folder / "videos")
    (folder / "mine").mkdir()
    os.chown(folder / "mine", NOBODY, NOBODY)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(
    source: Path, mountpoint: Path, *options: str, device: str = OPEN_DEVICE, then: str = "true"
) -> CompletedProcess[str]:
    """Mount as nobody in a mount namespace with a /dev of its own, and do ``then`` there."""
    command = f'{device} && "$@" && {then}'
    mount = ("-c", PROGRAM, str(source), str(mountpoint), "--index", ":memory:", *options)
    return run("unshare", "--mount", "sh", "-c", command, "sh", sys.executable, *mount)


def test_it_mounts_answers_and_unmounts(public: Path) -> None:
    mine = public / "mine"
    as_user = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"
    steps = f"{as_user} ls {mine} && {as_user} fusermount3 -u {mine} && {as_user} ls {mine}"
    result = as_nobody(public / "videos", mine, then=steps)
    assert result.returncode == 0, result
    assert result.stdout.split() == ["native264_Lift_frontview", "native265_Door_frontview"]
    assert result.stderr == ""


def test_a_corpus_that_may_not_be_read(public: Path) -> None:
    private = public / "private"
    private.mkdir(mode=0o700)
    assert the_line(as_nobody(private, public / "mine"), 1) == (
        f"{private}: the corpus cannot be read (Permission denied); "
        "check its permissions and the disk"
    )


def test_a_mount_point_of_somebody_else(public: Path) -> None:
    others = public / "others"
    others.mkdir()
    assert the_line(as_nobody(public / "videos", others), 1) == (
        f"{others}: the mount point must be writable for the user who mounts"
    )


def test_a_device_that_is_not_for_everybody(public: Path) -> None:
    result = as_nobody(public / "videos", public / "mine", device=CLOSED_DEVICE)
    assert the_line(result, 1).startswith(
        "/dev/fuse cannot be opened (Permission denied); try sudo chmod 666 /dev/fuse"
    )


def test_no_helper(public: Path) -> None:
    result = as_nobody(public / "videos", public / "mine", device=f"{OPEN_DEVICE} && PATH=/none")
    assert the_line(result, 1).startswith(
        "fusermount3, which mounts for users other than root, is not installed; install it with"
    )


def test_allow_other_where_it_is_not_permitted(public: Path) -> None:
    configuration = public / "fuse.conf"
    configuration.write_text("#user_allow_other\n")
    device = f"{OPEN_DEVICE} && mount --bind {configuration} /etc/fuse.conf"
    mine = public / "mine"
    line = the_line(as_nobody(public / "videos", mine, "-o", "allow_other", device=device), 1)
    assert line.startswith("allow_other is not permitted by /etc/fuse.conf; permit it with sudo sh")
    configuration.write_text("user_allow_other\n")
    result = as_nobody(
        public / "videos", mine, "-o", "allow_other", device=device, then=f"ls {mine}"
    )
    assert result.stdout.split() == ["native264_Lift_frontview", "native265_Door_frontview"]
