from __future__ import annotations

import click
import pytest

from cli import helper
from cli.options import Options, parse


def test_settings_and_their_short_names() -> None:
    assert parse(["cache.size=1GiB,uid=7", "gid=8,umask=027,allow_other"]).settings == (
        ("cache.size", "1GiB"),
        ("mount.uid", "7"),
        ("mount.gid", "8"),
        ("mount.umask", "027"),
        ("mount.allow_other", "true"),
    )


def test_what_mount_and_systemd_add_changes_nothing() -> None:
    fstab = (
        "rw,auto,noauto,user,users,nouser,owner,group,user=anna,_netdev,nofail,defaults,relatime,"
        "dev,suid,exec,lazytime,x-systemd.automount,x-systemd.device-timeout=5,X-mount.mkdir,"
        "comment=mine,async"
    )
    assert parse([fstab]) == Options()


def test_restrictions_reach_fuse_in_their_order() -> None:
    assert parse(["ro,nosuid,noexec,rw", "max_read=65536"]).fuse == (
        "ro",
        "nosuid",
        "noexec",
        "max_read=65536",
    )


def test_nonempty_and_config() -> None:
    assert parse(["nonempty,config=/etc/framefs/a.yaml"]) == Options(
        nonempty=True, config="/etc/framefs/a.yaml"
    )


def test_a_comma_in_a_value_is_escaped() -> None:
    assert parse([r"logging.target=/var/log/a\,b,ro"]) == Options(
        settings=(("logging.target", "/var/log/a,b"),), fuse=("ro",)
    )
    assert parse([r"fsname=a\,b"]).fuse == (r"fsname=a\,b",)
    assert parse(["", ","]) == Options()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope", "unknown option -o nope"),
        ("nope=1", "unknown option -o nope=1"),
        ("attr_timeout=9", "unknown option -o attr_timeout=9"),
        ("uid", "-o uid lacks its value: uid=..."),
        ("cache.size", "-o cache.size lacks its value: cache.size=..."),
        ("config", "-o config lacks its value: config=..."),
        ("allow_other=1", "-o allow_other=1: allow_other takes no value"),
        ("ro=1", "-o ro=1: ro takes no value"),
        ("remount", "remount is not possible; unmount and mount again"),
    ],
)
def test_wrong_options(text: str, message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        parse([f"ro,{text}"])
    assert caught.value.message == message


def test_sloppy_passes_over_unknown_options() -> None:
    assert parse(["nope,ro,nope=1"], sloppy=True) == Options(fuse=("ro",))


@pytest.mark.parametrize(
    ("given", "translated"),
    [
        (["S", "M"], ["S", "M"]),
        (["S", "M", "-o", "rw"], ["S", "M", "-o", "rw"]),
        (["S", "M", "-n", "-v", "-o", "ro,uid=1"], ["S", "M", "-v", "-o", "ro,uid=1"]),
        (["S", "M", "-sv"], ["S", "M", "-s", "-v"]),
        (["S", "M", "-s", "-n", "-t", "fuse.framefs"], ["S", "M", "-s"]),
        (["S", "M", "-N", "/proc/1/ns/mnt"], ["S", "M"]),
        (["S", "M", "-f"], None),
        (["S", "M", "-fnv", "-o", "rw"], None),
    ],
)
def test_arguments_of_a_mount_helper(given: list[str], translated: list[str] | None) -> None:
    assert helper.arguments(given) == translated


def test_names_of_a_mount_helper() -> None:
    assert helper.is_helper("mount.framefs")
    assert helper.is_helper("mount.fuse.framefs")
    assert not helper.is_helper("mount.py")
    assert not helper.is_helper("framefs")
