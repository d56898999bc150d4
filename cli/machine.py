"""What a machine must have before anything can be mounted on it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from cli.errors import CommandFailed
from vfs.binding import load
from vfs.errors import BindingMissing

HELPERS = ("fusermount3", "fusermount")

_CAP_SYS_ADMIN = 21
_INSTALLERS = {
    "apt-get": "apt-get install -y fuse3",
    "dnf": "dnf install -y fuse3",
    "zypper": "zypper install -y fuse3",
    "pacman": "pacman -S --noconfirm fuse3",
    "apk": "apk add fuse3",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing a mount needs. ``remedy`` is the command that brings it, or what else to do."""

    name: str
    passed: bool
    found: str
    remedy: str = ""


def checks(*, allow_other: bool = False) -> list[Check]:
    """Everything that this user's mounts need of this machine, ``allow_other`` where wished."""
    root = os.geteuid() == 0
    found = [check_device(), check_library(), check_capability() if root else check_helper()]
    if allow_other and not root:
        found.append(check_allow_other())
    return found


def require(found: Iterable[Check]) -> None:
    """Raise CommandFailed for the first check that has not passed."""
    for check in found:
        if not check.passed:
            raise CommandFailed(f"{check.found}; {check.remedy}")


def check_device(path: str = "/dev/fuse") -> Check:
    """Whether the kernel's FUSE device is there and may be opened."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        return Check(
            "device",
            False,
            f"there is no {path}",
            f"load the module with {_as_root('modprobe fuse')}, or start the container with "
            "--device /dev/fuse --cap-add SYS_ADMIN",
        )
    except OSError as error:
        return Check(
            "device",
            False,
            f"{path} cannot be opened ({error.strerror})",
            f"try {_as_root(f'chmod 666 {path}')}, or start the container with "
            "--device /dev/fuse --cap-add SYS_ADMIN",
        )
    return Check("device", True, path)


def check_library() -> Check:
    """Whether a FUSE library can be loaded, and which one a mount takes."""
    try:
        binding = load()
    except BindingMissing:
        return Check(
            "library",
            False,
            "libfuse is not installed, or cannot be loaded",
            f"install it with {installation()}",
        )
    return Check("library", True, str(binding))


def check_helper(names: Iterable[str] = HELPERS) -> Check:
    """Whether the helper is there that mounts for users other than root."""
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return Check("helper", True, path)
    return Check(
        "helper",
        False,
        "fusermount3, which mounts for users other than root, is not installed",
        f"install it with {installation()}",
    )


def check_capability(status: str = "/proc/self/status") -> Check:
    """Whether root is allowed to mount here, which root in a container often is not."""
    with open(status, encoding="utf-8") as file:
        match = re.search(r"^CapEff:\s*([0-9a-f]+)$", file.read(), re.MULTILINE)
    if match is not None and not int(match[1], 16) >> _CAP_SYS_ADMIN & 1:
        return Check(
            "permission",
            False,
            "root may not mount here (no CAP_SYS_ADMIN)",
            "start the container with --device /dev/fuse --cap-add SYS_ADMIN",
        )
    return Check("permission", True, "root may mount")


def check_allow_other(configuration: str = "/etc/fuse.conf") -> Check:
    """Whether users other than root may let others into their mounts."""
    try:
        with open(configuration, encoding="utf-8") as file:
            allowed = any(line.strip() == "user_allow_other" for line in file)
    except OSError:
        allowed = False
    if allowed:
        return Check("allow_other", True, f"allowed by {configuration}")
    command = f"sh -c 'echo user_allow_other >> {configuration}'"
    return Check(
        "allow_other",
        False,
        f"allow_other is not permitted by {configuration}",
        f"permit it with {_as_root(command)}",
    )


def installation() -> str:
    """The command that installs the FUSE library and helper on this distribution."""
    for tool, command in _INSTALLERS.items():
        if shutil.which(tool) is not None:
            return _as_root(command)
    return "the package manager (the package is called fuse3)"


def _as_root(command: str) -> str:
    return command if os.geteuid() == 0 else f"sudo {command}"
