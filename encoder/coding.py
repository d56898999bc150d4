"""`Coding`: what a structure asks of an encoder, and what it promises of the result. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LEFT, INTRA, BETWEEN = 0, 1, 3
"""Kinds of a frame, as numbers of AVPictureType: for the encoder to choose, I, B."""


@dataclass(frozen=True, slots=True)
class Coding:
    """One way to encode so many frames.

    Attributes:
        name: for people.
        encoder: FFmpeg's name of the encoder.
        options: of the encoder, without crf.
        kinds: by frame, see above.
        order: frames in the order in which their packets arrive.
        anchors: frames that are coded alone, ascending.
        references: frames between anchors that others may read; None where that is not told.
        bound: pictures in the closure of any frame at most.
    """

    name: str
    encoder: str
    options: Mapping[str, str]
    kinds: tuple[int, ...]
    order: tuple[int, ...]
    anchors: tuple[int, ...]
    references: tuple[int, ...] | None
    bound: int
