"""``framefs layouts``."""

from __future__ import annotations

import click

from cli.views import views_of
from config import Settings, override, presets
from vfs.clips import Clip
from vfs.layout import Layout
from vfs.names import FrameNames
from vfs.naming import Naming
from vfs.view import View

_VIDEO = Clip("train/clip.mp4", "train", "clip.mp4")

_EPISODE = Clip(
    "videos/observation.images.top/chunk-000/file-000.mp4",
    "observation.images.top",
    "episode_000003",
    {"camera": "observation.images.top", "episode_index": 3},
)
"""As a LeRobot data set has it."""

_FRAMES = 300


@click.command(name="layouts", short_help="List the layouts by which frames can be named.")
def command() -> int:
    """List the layouts that --layout knows, each with the path of the first frame of a video.

    The video is train/clip.mp4, or the fourth episode of a LeRobot data set.
    """
    for one in presets.presets():
        view = views_of(override(Settings(), "frames.layout", one.names[0]))[""]
        click.echo(f"{', '.join(one.names)}\n    {sample_path(view)}\n    {one.about}")
    return 0


def sample_path(view: View) -> str:
    """The path of the first frame of a sample clip."""
    layout = view.layout
    clip = _VIDEO if _is_for_videos(layout) else _EPISODE
    (named,) = Naming((), [clip], layout.own).clips()
    numbers = range(layout.start, layout.start + _FRAMES)
    names = FrameNames(layout, named.values, view.extensions, lambda _: numbers, clip.name)
    folder = () if layout.flat else (clip.folder,)
    own = () if layout.clip is None else (named.shown,)
    return "/".join([*layout.above, *folder, *layout.between, *own, *layout.below, names.name(0)])


def _is_for_videos(layout: Layout) -> bool:
    return not any(field in _EPISODE.fields for _, field in layout.clip_fields)
