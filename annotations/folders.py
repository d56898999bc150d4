"""Directories of frames, as lists tell of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

UNLABELLED = -1
"""The number of a folder without a class."""


@dataclass(frozen=True, slots=True)
class FrameFile:
    """One frame of a clip.

    Attributes:
        path: below the folder that the loader is told of.
        height, width: in pixels, as shown.
        time: in seconds, None where the video does not say.
    """

    path: str
    height: int
    width: int
    time: float | None


@dataclass(frozen=True, slots=True)
class FrameFolder:
    """All frames of one clip.

    Attributes:
        path: of their directory, below the folder that the loader is told of.
        label: name of the class; None where it has none.
        count: how many frames.
        files: the frames in order, made when they are asked for.
    """

    path: str
    label: str | None
    count: int
    files: Callable[[], Iterable[FrameFile]]


def numbered(labels: Iterable[str | None]) -> dict[str, int]:
    """A number for each class: its place among the sorted names, as torchvision has it."""
    names = sorted({label for label in labels if label is not None})
    return {name: number for number, name in enumerate(names)}


def number_of(folder: FrameFolder, classes: Mapping[str, int]) -> int:
    """The number of the folder's class, `UNLABELLED` where it has none."""
    return UNLABELLED if folder.label is None else classes[folder.label]
