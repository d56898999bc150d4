"""A reel: what a view shows of one clip, in one version of its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from decoder.corpus import Source
from decoder.index import NO_TIMESTAMP, SourceIndex
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

    def pixel_format(self, frame: int) -> PixelFormat:
        """The samples that frame ``frame`` of the source is asked for."""
        return self.view.samples.pixel_format(self.index.bits(frame))

    def decoded_shape(self, frame: int) -> tuple[Shape, np.dtype[Any]]:
        """What an array with the decoded samples of frame ``frame`` looks like."""
        geometry = self.index.geometry(frame)
        pixel_format = self.view.samples.pixel_format(geometry.bits)
        if pixel_format == "native":
            return joined_shape(geometry)
        return array_of(geometry.height, geometry.width, pixel_format)

    def size(self, position: int, choice: int) -> int:
        """Bytes of a file. Raises FrameTooLarge."""
        kinds = self.index.geometries
        kind = int(self.index.frames.geometry[self.frame(position)]) if len(kinds) > 1 else 0
        size = self._sizes.get((kind, choice))
        if size is None:
            size = self._sizes[kind, choice] = self._file_size(kind, choice)
        return size

    def _file_size(self, kind: int, choice: int) -> int:
        geometry = self.index.geometries[kind]
        pixel_format = self.view.samples.pixel_format(geometry.bits)
        form = self.view.formats[choice]
        if pixel_format == "native":
            return form.size(*joined_shape(geometry))
        height, width = self.view.transform.shape(geometry.height, geometry.width)
        return form.size(*array_of(height, width, pixel_format))
