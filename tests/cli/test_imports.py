"""mount.py, which import-linter does not look into, keeps to the same rules."""

from __future__ import annotations

import ast
import sys

from tests.cli.commands import ROOT, run


def test_the_composition_root_leaves_fuse_and_ffmpeg_to_those_below() -> None:
    tree = ast.parse((ROOT / "mount.py").read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    assert not imported & {"av", "fuse", "mfusepy", "yaml"}


def test_umount_and_doctor_load_neither_ffmpeg_nor_fuse() -> None:
    program = """
import cli.main, cli.umount, cli.doctor, sys
print({'av', 'numpy', 'fuse', 'mfusepy'} & set(sys.modules))
"""
    assert run(sys.executable, "-c", program).stdout == "set()\n"
