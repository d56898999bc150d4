"""The unit: accepted by systemd, and its commands do what they say."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import config
from cli.mounts import mounted_at
from tests.cli.commands import ROOT, run

UNIT = ROOT / "systemd" / "framefs@.service"

# each of them gives the service a mount namespace, in which its mount would stay
NAMESPACED = re.compile(
    r"^(Private(Tmp|Devices|Mounts|Network)|Protect\w+|(ReadOnly|ReadWrite|Inaccessible|Exec)Paths|"
    r"TemporaryFileSystem|Bind\w+|Root\w+|MountFlags|DynamicUser)=",
    re.MULTILINE,
)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_has_nothing_to_complain_of() -> None:
    result = run("systemd-analyze", "verify", UNIT)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_the_mount_stays_visible_to_everybody() -> None:
    assert not NAMESPACED.search(UNIT.read_text())


def test_the_example_is_a_configuration() -> None:
    settings = config.load(str(ROOT / "systemd" / "robots.yaml"))
    assert settings.source == "/data/robots/videos"
    assert settings.mountpoint == "/mnt/robots"


@pytest.mark.usefixtures("fuse")
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="gives capabilities up"
)
def test_the_life_of_an_instance(sample: Path, tmp_path: Path) -> None:
    """Start, ready, stop and kill -9, with the privileges that the unit leaves."""
    mountpoint = tmp_path / "mnt"
    mountpoint.mkdir()
    instance = tmp_path / "robots.yaml"
    instance.write_text(f"source: {sample}\nmountpoint: {mountpoint}\n")
    start = command_of("ExecStart", instance)
    clear = command_of("ExecStopPost", instance)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)
        environment = {
            **os.environ,
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "XDG_CACHE_HOME": str(tmp_path),
        }
        for end in ("terminate", "kill"):
            with subprocess.Popen(start, env=environment, cwd=ROOT) as process:
                assert manager.recv(4096).startswith(b"READY=1\n")
                assert len(os.listdir(mountpoint)) == 2
                assert "000000.png" in os.listdir(mountpoint / "native264_Lift_frontview")
                getattr(process, end)()
                assert process.wait(20) == (0 if end == "terminate" else -9)
            assert (mounted_at(str(mountpoint)) is None) == (end == "terminate")
            result = subprocess.run(clear, env=environment, cwd=ROOT, check=False)
            assert result.returncode == 0
            assert mounted_at(str(mountpoint)) is None
            if end == "terminate":
                assert manager.recv(4096) == b"STOPPING=1"
    assert (tmp_path / "framefs" / "index.sqlite").is_file()


def command_of(key: str, instance: Path) -> list[str]:
    """What the unit runs for ``key``, with this Python's framefs, under the unit's privileges."""
    text = UNIT.read_text()
    command = re.search(rf"^{key}=/usr/bin/env framefs (.+)$", text, re.MULTILINE)
    bounds = re.search(r"^CapabilityBoundingSet=(.+)$", text, re.MULTILINE)
    assert command is not None
    assert bounds is not None
    kept = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in bounds[1].split())
    return [
        *("setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set=-all,{kept}"),
        *(sys.executable, "-m", "cli.main"),
        *command[1].replace("/etc/framefs/%i.yaml", str(instance)).split(),
    ]
