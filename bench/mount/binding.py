"""The binding for the benchmark's small filesystems: the one that framefs would rather have."""

from __future__ import annotations

import importlib
import os
from ctypes.util import find_library
from typing import Any


def load() -> Any:
    """The module mfusepy on libfuse3, else on libfuse2."""
    library = find_library("fuse3") or find_library("fuse")
    if library is not None:
        # It would take libfuse2 first.
        os.environ.setdefault("FUSE_LIBRARY_PATH", library)
    return importlib.import_module("mfusepy")


OPTIONS: dict[str, Any] = {
    "foreground": True,
    "ro": True,
    "entry_timeout": "60",
    "attr_timeout": "60",
    "kernel_cache": True,
}
"""Of libfuse, as framefs mounts: the kernel keeps names and pages."""
