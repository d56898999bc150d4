"""`Coding`: what a structure asks of an encoder, and what it promises of the result. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LEFT, INTRA, BETWEEN = 0, 1, 3
"""Kinds of a frame, as numbers of AVPictureType: for the encoder to choose, I, B."""

ENCODERS = {"h264": "libx264", "h265": "libx265", "av1": "libsvtav1"}
"""FFmpeg's names of the encoders."""


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
        starts: frames from which all that is shown from there on can be decoded; the only ones that
            are marked as sync samples in the file.
        runs: frames with which an encoder begins anew.
        references: frames between anchors that others may read; None where that is not told.
        external: it takes a program that reaches further than FFmpeg's libraries do.
        bound: pictures in the closure of any frame at most.
    """

    name: str
    encoder: str
    options: Mapping[str, str]
    kinds: tuple[int, ...]
    order: tuple[int, ...]
    anchors: tuple[int, ...]
    starts: tuple[int, ...]
    runs: tuple[int, ...]
    references: tuple[int, ...] | None
    bound: int
    external: bool = False

    def at(self, crf: float) -> dict[str, str]:
        """The options of the encoder with this crf, of which quarters are told apart."""
        options = {**self.options, "crf": f"{crf:g}"}
        if self.encoder == "libsvtav1":  # FFmpeg's option takes whole ones only
            options["svtav1-params"] += f":crf={crf:g}"
        return options
