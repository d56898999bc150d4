"""A reel: what a view shows of one clip, in one version of its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from decoder.corpus import Source
from decoder.index import NO_TIMESTAMP, Geometry, SourceIndex
from decoder.planes import joined_shape
from vfs.errors import ClipTooShort, NoTimestamps
from vfs.formats import Shape
from vfs.names import Column, FrameNames
from vfs.naming import Named
from vfs.selection import Timeline
from vfs.view import PixelFormat, View, array_of

_OWN_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the tree the frames of a clip are.

    Attributes:
        folder: the path of the directory in which the clip has its name.
        name: by which it is found there; see `vfs.naming.Named.shown`.
        directories: the clip's own directories, the frames in the last one; empty where it has
            none, and its frames are in the folder.
    """

    folder: str
    name: str
    directories: tuple[str, ...]

    @property
    def files(self) -> str:
        """The path of the directory with the frames."""
        return self.directories[-1] if self.directories else self.folder


class Reel:
    """The frames of a clip as files, from position 0 on.

    Attributes:
        view: how they are shown.
        place: where they are.
        relpath: the video's path in the corpus.
        source, index: the version that all this is true of.
        frames: by position, the number of the frame in the source.
        names: by position, what it is called.

    Raises:
        WrongLayout, NoTimestamps, ClipTooShort, FrameTooSmall, FrameTooLarge, UnsupportedStream:
            it cannot be shown like this.
    """

    def __init__(
        self, view: View, place: Place, named: Named, source: Source, index: SourceIndex
    ) -> None:
        self.view = view
        self.place = place
        self.relpath = named.clip.relpath
        self.source = source
        self.index = index
        whole = named.clip.frames(index)
        if whole.stop > index.frame_count:
            raise ClipTooShort(
                f"{named.clip.name}: frames {whole.start} to {whole.stop - 1} of {source.path} are "
                f"wanted, and it has {index.frame_count}"
            )
        self.frames = view.selection.of(whole, lambda: Timeline.of(index))

        def column(field: str) -> Column:
            if field == "number":
                start = view.layout.start
                return range(start, start + len(self.frames))
            if field == "index":
                if isinstance(self.frames, range):
                    offset = whole.start
                    return range(
                        self.frames.start - offset, self.frames.stop - offset, self.frames.step
                    )
                return np.asarray(self.frames) - whole.start
            timeline = Timeline.of(index)
            times = timeline.pts if field == "pts" else timeline.milliseconds()
            chosen = times[np.asarray(self.frames, np.int64)]
            if (chosen == NO_TIMESTAMP).any():
                raise NoTimestamps(
                    f"{source.path}: not every frame has a timestamp; name frames by {{number}}"
                )
            return chosen

        self.names = FrameNames(view.layout, named.values, view.extensions, column, source.path)
        self._decoded = [_decoded(view, geometry) for geometry in index.geometries]
        # What directories list must all be there, or none of it.
        self._sizes = {(kind, 0): self._file_size(kind, 0) for kind in range(len(index.geometries))}

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def nbytes(self) -> int:
        """Memory taken by what it knows, about."""
        return self.index.nbytes + _OWN_BYTES

    def frame(self, position: int) -> int:
        """The number of a frame in the source."""
        return int(self.frames[position])

    def decoded(self, frame: int) -> tuple[PixelFormat, Shape, np.dtype[Any]]:
        """What is asked for of frame ``frame`` of the source, and what an array of it is like."""
        return self._decoded[self._kind(frame)]

    def _kind(self, frame: int) -> int:
        """The place of a frame's geometry in the index."""
        return int(self.index.frames.geometry[frame]) if len(self.index.geometries) > 1 else 0

    def shape(self, position: int) -> tuple[int, int]:
        """(height, width) of a frame as it is shown; of its first plane where planes are."""
        geometry = self.index.geometry(self.frame(position))
        if self.view.samples.color == "native":
            return geometry.height, geometry.width
        return self.view.transform.shape(geometry.height, geometry.width)

    def size(self, position: int, choice: int) -> int:
        """Bytes of a file. Raises FrameTooLarge."""
        kind = self._kind(self.frame(position))
        size = self._sizes.get((kind, choice))
        if size is None:
            size = self._sizes[kind, choice] = self._file_size(kind, choice)
        return size

    def _file_size(self, kind: int, choice: int) -> int:
        pixel_format, shape, dtype = self._decoded[kind]
        form = self.view.formats[choice]
        if pixel_format != "native":
            height, width = self.view.transform.shape(shape[0], shape[1])
            shape = (height, width, *shape[2:])
        return form.size(shape, dtype)


def _decoded(view: View, geometry: Geometry) -> tuple[PixelFormat, Shape, np.dtype[Any]]:
    pixel_format = view.samples.pixel_format(geometry.bits)
    if pixel_format == "native":
        return pixel_format, *joined_shape(geometry)
    return pixel_format, *array_of(geometry.height, geometry.width, pixel_format)
