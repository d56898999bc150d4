"""Wrong use and wrong configuration: exit status 2 and one line, whatever the machine has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import FRAMEFS, MOUNT, run, the_line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "name the folder of videos and the folder to mount at: SRC MNT (see {} --help)"),
        (["/"], "name the folder of videos and the folder to mount at: SRC MNT (see {} --help)"),
        (["/", "/mnt", "/opt"], "Got unexpected extra argument (/opt) (see {} --help)"),
        (["/", "/mnt", "-o", "nope"], "unknown option -o nope (see {} --help)"),
        (["/", "/mnt", "-o", "cache.size=9X"], "cache.size: expected auto, a size such as 2GiB or"),
        (["/", "/mnt", "-o", "cache.sise=9"], "cache.sise: unknown setting; did you mean cache.s"),
        (["/", "/mnt", "-o", "uid=anna"], "mount.uid: expected a user id, or null for the mount"),
        (["/", "/mnt", "--config", "/none.yaml"], "/none.yaml: cannot be read (No such file or d"),
    ],
)
@pytest.mark.parametrize(
    ("command", "name"), [(MOUNT, "mount.py"), ((*FRAMEFS, "mount"), "framefs mount")]
)
def test_mount(command: tuple[str, ...], name: str, arguments: list[str], line: str) -> None:
    assert the_line(run(*command, *arguments), 2).startswith(line.format(name))


def test_a_faulty_configuration_file(tmp_path: Path) -> None:
    file = tmp_path / "robots.yaml"
    file.write_text("decoder:\n  readers: 999\n")
    assert the_line(run(*MOUNT, "/", "/mnt", "--config", file), 2) == (
        f"{file}: decoder.readers: expected a whole number from 2 to 256, got 999"
    )
    assert the_line(run(*MOUNT, "/", "/mnt", "-o", f"config={file}"), 2).startswith(f"{file}: dec")


def test_umount_needs_a_mount_point() -> None:
    assert the_line(run(*FRAMEFS, "umount"), 2) == (
        "name the mount point: MNT (see framefs umount --help)"
    )


def test_unknown_verbs_and_options() -> None:
    assert the_line(run(*FRAMEFS, "mend"), 2) == "No such command 'mend' (see framefs --help)"
    assert the_line(run(*FRAMEFS, "doctor", "--mend"), 2).startswith("No such option")


def test_framefs_alone_tells_its_verbs() -> None:
    result = run(*FRAMEFS)
    assert result.returncode == 2
    assert all(verb in result.stderr for verb in ("mount", "umount", "index", "verify", "doctor"))


@pytest.mark.parametrize(
    "verb", ["mount", "umount", "index", "inspect", "verify", "transcode", "doctor"]
)
def test_help(verb: str) -> None:
    result = run(*FRAMEFS, verb, "--help")
    assert result.returncode == 0
    assert result.stdout.startswith(f"Usage: framefs {verb}")
    assert result.stderr == ""
