"""From settings to views: what the filesystem is told of layouts, formats and sizes."""

from __future__ import annotations

import dataclasses
from typing import Any

from config import ConfigError, Settings, presets
from config.settings import Format as FormatName
from config.settings import FramesSettings
from vfs.clips import Clips
from vfs.collisions import check
from vfs.errors import WrongLayout
from vfs.formats import Bmp, Format, Jpg, Npy, Png, Ppm, Webp
from vfs.layout import Layout
from vfs.selection import Selection
from vfs.transform import Crop, Resize, Transform
from vfs.view import Samples, View

_DEEP = ("png", "npy", "ppm")
"""Formats that hold 16 bits a sample."""


def views_of(settings: Settings) -> dict[str, View]:
    """The views by name; the only one at the root is named "".

    Raises:
        ConfigError: a layout is unknown or ambiguous, or settings contradict each other.
    """
    views = {}
    for name, frames in presets.views(settings.frames, settings.views).items():
        where = f"views.{name}" if name else "frames"
        try:
            views[name] = _view(where, frames)
        except WrongLayout as error:
            raise ConfigError(f"{where}: {error}") from error
    return views


def check_views(views: dict[str, View], clips: Clips) -> None:
    """Makes sure that in no view two clips come to the same place.

    Raises:
        ConfigError: two do; both are named.
    """
    for name, view in views.items():
        try:
            check(view.layout, clips)
        except WrongLayout as error:
            raise ConfigError(f"{f'views.{name}' if name else 'frames'}: {error}") from error


def _view(where: str, frames: FramesSettings) -> View:
    _check(where, frames)
    assert frames.format is not None
    listed: Any = _format(frames.format, frames)
    if frames.alias:
        listed = Png(listed.extension)
    if frames.extension is not None:
        listed = dataclasses.replace(listed, extension=frames.extension)
    beside = [_format(name, frames) for name in frames.unlisted or () if name != frames.format]
    for form in beside:
        if form.extension == listed.extension:
            raise ConfigError(
                f"{where}.extension: {form.extension} is also the extension of another format; "
                "choose another, or take that format out of unlisted"
            )
    return View(
        layout=_layout(frames),
        formats=(listed, *dict.fromkeys(beside)),
        selection=_selection(frames),
        samples=Samples(frames.color, frames.depth),
        transform=Transform(
            None if frames.resize is None else Resize(frames.resize, frames.filter),
            None if frames.crop is None else Crop(*frames.crop),
        ),
    )


def _check(where: str, frames: FramesSettings) -> None:
    """Refuses settings that cannot all be had."""
    names = {frames.format, *(frames.unlisted or ())}
    if frames.color == "native" and (names != {"npy"} or frames.order == "chw"):
        raise ConfigError(
            f"{where}.color: native planes are shown as npy only; set format to npy, unlisted to "
            "[] and leave order alone"
        )
    if frames.color == "native" and (frames.resize or frames.crop):
        raise ConfigError(
            f"{where}.color: native planes are of different sizes and are neither resized nor "
            "cropped; choose rgb or gray"
        )
    if frames.alias and frames.format == "npy":
        raise ConfigError(f"{where}.alias: only images are served under another extension")
    if frames.depth == 16:
        for name in names - ({frames.format} if frames.alias else set()):
            if name not in _DEEP:
                raise ConfigError(
                    f"{where}.depth: {name} holds 8 bits a sample; choose png, npy or ppm"
                )
    if frames.fps is not None and frames.stride != 1:
        raise ConfigError(f"{where}.fps: frames are chosen by fps or by stride, not by both")


def _layout(frames: FramesSettings) -> Layout:
    assert frames.directory is not None
    assert frames.file is not None
    return Layout.of(
        frames.directory,
        frames.file,
        start=frames.start or 0,
        digits=frames.digits or 6,
        widen=frames.widen or "source",
    )


def _selection(frames: FramesSettings) -> Selection:
    first, end = frames.range or (0, None)
    return Selection(first, end, frames.stride, frames.fps)


def _format(name: FormatName, frames: FramesSettings) -> Format:
    match name:
        case "png":
            return Png()
        case "npy":
            return Npy(frames.order)
        case "jpg":
            return Jpg(frames.quality, frames.subsampling)
        case "bmp":
            return Bmp()
        case "ppm":
            return Ppm("pgm" if frames.color == "gray" else "ppm")
        case "webp":
            return Webp()
