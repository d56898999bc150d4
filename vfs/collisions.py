"""Whether a layout and a corpus go together: nothing may come to the same place as another."""

from __future__ import annotations

from vfs.catalog import FlatClips, walk
from vfs.clips import Clips
from vfs.errors import WrongLayout
from vfs.layout import Layout
from vfs.template import CLIP_FIELDS, FOLDER_FIELDS, FRAME_FIELDS


def check(layout: Layout, clips: Clips) -> None:
    """Makes sure that no two clips, and no clip and a folder, come to the same place.

    Looks at folders, never into a video.

    Raises:
        WrongLayout: two do; both are named.
    """
    _check_fields(layout, clips)
    if layout.flat:
        _check_flat(layout, clips)
    if layout.between:
        fixed = layout.between[0]
        for path, folder in walk(clips):
            if fixed in folder.folders and folder.clips:
                raise WrongLayout(
                    f"the layout puts the clips of {path or 'the corpus'}/ into a directory "
                    f"{fixed}/, and there is a folder of that name: {f'{path}/{fixed}'.lstrip('/')}"
                    "; rename it, or choose another layout"
                )


def _check_fields(layout: Layout, clips: Clips) -> None:
    for template, field in layout.clip_fields:
        if field not in CLIP_FIELDS and field not in clips.fields:
            known = (*FRAME_FIELDS, *CLIP_FIELDS, *FOLDER_FIELDS, *sorted(clips.fields))
            raise WrongLayout(
                f"{template}: there is no field {{{field}}} in this corpus; there are "
                f"{', '.join(f'{{{name}}}' for name in known)}"
            )


def _check_flat(layout: Layout, clips: Clips) -> None:
    folder = FlatClips(clips).folder("")
    places: dict[str, str] = {}
    for clip in folder.clips:
        shown = layout.own.rendered({**clip.fields, "stem": clip.stem, "name": clip.name})
        where = f"{clip.folder}/{clip.name}".lstrip("/")
        other = places.setdefault(shown, where)
        if other != where:
            raise WrongLayout(
                f"{other} and {where} would both be {shown}; add {{parent}} to the directory, or "
                "rename one of them"
            )
