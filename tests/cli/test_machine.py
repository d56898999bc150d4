"""What a machine lacks, on this machine with things really taken away (in a mount namespace)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cli import machine
from tests.cli.commands import FRAMEFS, MOUNT, run, the_line

NO_DEVICE = "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3"
NO_LIBRARY = (
    "for library in $(ldconfig -p | sed -n 's/.*libfuse3\\?\\.so.* => //p');"
    " do mount --bind /dev/null $(readlink -f $library); done"
)
CONTAINER = "--device /dev/fuse --cap-add SYS_ADMIN"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes things away as root does")


def without(what: str, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run ``command`` where the shell commands ``what`` have taken something away."""
    return run("unshare", "--mount", "sh", "-c", f'{what} && exec "$@"', "sh", *command)


@needs_root
def test_no_device(sample: Path, tmp_path: Path) -> None:
    line = the_line(without(NO_DEVICE, *MOUNT, sample, tmp_path), 1)
    assert line.startswith("there is no /dev/fuse; load the module with modprobe fuse")
    assert line.endswith(CONTAINER)


@needs_root
def test_a_device_that_may_not_be_opened(sample: Path, tmp_path: Path) -> None:
    refused = f"{NO_DEVICE} && mknod /dev/fuse c 240 240"
    line = the_line(without(refused, *MOUNT, sample, tmp_path), 1)
    assert line.startswith("/dev/fuse cannot be opened (")
    assert line.endswith(CONTAINER)


@needs_root
def test_no_library(sample: Path, tmp_path: Path) -> None:
    line = the_line(without(NO_LIBRARY, *MOUNT, sample, tmp_path), 1)
    assert line == (
        f"libfuse is not installed, or cannot be loaded; install it with {machine.installation()}"
    )


@needs_root
def test_root_without_the_capability(sample: Path, tmp_path: Path) -> None:
    line = the_line(run("setpriv", "--bounding-set=-sys_admin", *MOUNT, sample, tmp_path), 1)
    assert line == (
        "root may not mount here (no CAP_SYS_ADMIN); start the container with " + CONTAINER
    )


@needs_root
def test_doctor_names_what_is_missing_and_what_brings_it() -> None:
    result = without(f"{NO_LIBRARY}; {NO_DEVICE}", *FRAMEFS, "doctor")
    assert result.returncode == 1
    assert "missing  device       there is no /dev/fuse\n" in result.stdout
    assert "modprobe fuse" in result.stdout
    assert "missing  library      libfuse is not installed, or cannot be loaded\n" in result.stdout
    assert machine.installation() in result.stdout
    assert "ok       permission   root may mount\n" in result.stdout
    assert result.stderr == ""


@pytest.mark.usefixtures("fuse")
def test_doctor_is_content_where_mounting_works() -> None:
    result = run(*FRAMEFS, "doctor")
    assert result.returncode == 0
    assert "missing" not in result.stdout


def test_no_helper() -> None:
    check = machine.check_helper(("fusermount-that-is-not",))
    assert not check.passed
    assert check.found.startswith("fusermount3, which mounts for users other than root, is not")
    assert check.remedy == f"install it with {machine.installation()}"


def test_allow_other_needs_a_line_of_its_own_in_fuse_conf(tmp_path: Path) -> None:
    configuration = tmp_path / "fuse.conf"
    assert not machine.check_allow_other(str(configuration)).passed
    configuration.write_text("# user_allow_other - explained\n#user_allow_other\nmount_max = 9\n")
    check = machine.check_allow_other(str(configuration))
    assert check.found == f"allow_other is not permitted by {configuration}"
    assert f"echo user_allow_other >> {configuration}" in check.remedy
    configuration.write_text("mount_max = 9\nuser_allow_other\n")
    assert machine.check_allow_other(str(configuration)).passed
