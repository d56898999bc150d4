"""The AV1 clips of FRAMEFS_CORPUS."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import av


@cache
def _av1_files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and _is_av1(path))


def corpus_files() -> list[Path]:
    """To parametrize tests with; none where FRAMEFS_CORPUS is not set."""
    folder = os.environ.get("FRAMEFS_CORPUS")
    return _av1_files(Path(folder)) if folder else []


def _is_av1(path: Path) -> bool:
    try:
        with av.open(path, metadata_errors="ignore") as container:
            streams = container.streams.video
            return bool(streams) and streams[0].codec_context.codec.canonical_name == "av1"
    except (av.FFmpegError, ValueError, IndexError, AttributeError):
        return False
