from __future__ import annotations

from pathlib import Path

from cli.mounts import Mounted, mount_table, mounted_at

TABLE = r"""23 28 0:21 / /proc rw,relatime - proc proc rw
40 28 0:50 / /mnt/with\040space\134 ro,nosuid shared:7 master:1 - fuse.framefs /data/a\011b ro
"""


def test_the_table_is_unescaped_and_optional_fields_are_passed_over(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    assert mount_table(str(table)) == [
        Mounted("/proc", "proc", "proc"),
        Mounted("/mnt/with space\\", "fuse.framefs", "/data/a\tb"),
    ]


def test_this_system(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc")
    found = mounted_at(str(tmp_path / "link"))
    assert found is not None
    assert (found.mountpoint, found.type) == ("/proc", "proc")
    assert mounted_at(str(tmp_path)) is None
    assert mounted_at(str(tmp_path / "none" / "there")) is None
