"""Clips of a tree as folders of frames that lists tell of."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterator

from annotations.folders import FrameFile, FrameFolder
from vfs import moments
from vfs.inventory import Listed
from vfs.reel import Reel


def label_of(listed: Listed) -> str | None:
    """The class of a clip: the folder in which its video lies; None where it lies in none."""
    return listed.named.clip.folder.rpartition("/")[2] or None


def folder_of(listed: Listed, reel: Reel, prefix: str = "") -> FrameFolder:
    """The frames of a clip; ``prefix`` is put before the paths that they have in the tree."""

    def below(path: str) -> str:
        return posixpath.join(prefix, path.lstrip("/"))

    def files() -> Iterator[FrameFile]:
        directory = below(reel.place.files)
        seconds = moments.times(reel.index)
        for position in range(len(reel)):
            height, width = reel.shape(position)
            second = float(seconds[reel.frame(position)])
            time = None if math.isnan(second) else second
            name = posixpath.join(directory, reel.names.name(position))
            yield FrameFile(name, height, width, time)

    return FrameFolder(below(listed.path), label_of(listed), len(reel), files)
