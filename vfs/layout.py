"""What sources and frames are called in the mounted tree. Pure; `shown` and `parse` are inverses.

A source is a directory named by its stem, ``a`` for ``a.mp4``. Where that name is wanted twice in
one folder (``a.mp4`` and ``a.mkv``, or ``a.mp4`` and a folder ``a``) the extension stays:
``a_mp4``, ``a_mkv``. A frame is ``000017.png``, counted from 0; all frames of a source that has
more than fit into six digits get as many digits as its last one needs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

LISTED = "png"
"""Extension of the files that a source's directory lists."""

UNLISTED = "npy"
"""Extension of the files that are there when asked for."""

EXTENSIONS = (LISTED, UNLISTED)

MINIMUM_DIGITS = 6

# No frame number has more digits than this: an int64 of nanoseconds would overflow first.
_FRAME_NAME = re.compile(rf"([0-9]{{{MINIMUM_DIGITS},18}})\.({'|'.join(EXTENSIONS)})", re.ASCII)


class Naming:
    """The names of one folder: those it shows, and what each stands for.

    Folders keep their names. Every shown name is unique, depends on nothing but the names in the
    folder, and changes only when a name appears or vanishes that it clashes with.
    """

    __slots__ = ("_video_of", "folders")

    def __init__(self, folders: Iterable[str], videos: Iterable[str]) -> None:
        self.folders = frozenset(folders)
        self._video_of = _assign(self.folders, tuple(videos))

    def video(self, shown: str) -> str | None:
        """The file name of the source that is shown as ``shown``, or None."""
        return self._video_of.get(shown)

    def sources(self) -> Iterator[tuple[str, str]]:
        """(shown name, file name) of every source."""
        return iter(self._video_of.items())


def _assign(folders: frozenset[str], videos: tuple[str, ...]) -> dict[str, str]:
    taken: dict[str, str] = {}
    waiting = videos
    step = 0
    while waiting:
        wanted = [(_candidate(video, step), video) for video in waiting]
        times = Counter(name for name, _ in wanted)
        # A name that only one of them wants is settled before the others move on, so that a clash
        # never renames a bystander.
        settled = {
            name: video
            for name, video in wanted
            if times[name] == 1 and name not in folders and name not in taken
        }
        waiting = tuple(video for name, video in wanted if settled.get(name) != video)
        taken.update(settled)
        step += 1
    return taken


def _candidate(video: str, step: int) -> str:
    """The name that ``video`` would like, the second best, and so on without end."""
    stem, _, extension = video.rpartition(".")
    if not stem:
        stem, extension = video, ""
    if step == 0:
        return stem
    if step == 1:
        return f"{stem}_{extension}" if extension else video
    return video if step == 2 else f"{video}~{step - 1}"


def digits(frame_count: int) -> int:
    """How many digits the frames of a source with ``frame_count`` frames have."""
    return max(MINIMUM_DIGITS, len(str(frame_count - 1)))


def frame_name(frame: int, width: int, extension: str = LISTED) -> str:
    """The name of frame ``frame`` in ``width`` digits (see `digits`)."""
    return f"{frame:0{width}d}.{extension}"


def split_frame_name(name: str) -> tuple[int, int, str] | None:
    """(frame, digits, extension) of a name that some source could have, else None.

    Tells most names that are no frame's without knowing how many frames there are.
    """
    match = _FRAME_NAME.fullmatch(name)
    if match is None:
        return None
    return int(match[1]), len(match[1]), match[2]


def parse_frame_name(name: str, frame_count: int) -> tuple[int, str] | None:
    """(frame, extension) of the frame that has this name in a source of that many, else None."""
    parts = split_frame_name(name)
    if parts is None:
        return None
    frame, width, extension = parts
    if frame >= frame_count or width != digits(frame_count):
        return None
    return frame, extension
