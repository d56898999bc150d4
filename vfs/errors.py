"""What can go wrong between a path and its bytes.

Classes by what the caller can do about it. Which error number each becomes is told in one place,
`vfs.errnos`.
"""

from __future__ import annotations


class VfsError(Exception):
    """Root of everything the filesystem raises on purpose."""


class NoSuchPath(VfsError):
    """Nothing has that name in the mounted tree."""


class NotADirectory(VfsError):
    """A frame was used as if it were a directory."""


class IsADirectory(VfsError):
    """A directory was used as if it were a frame."""


class ReadOnly(VfsError):
    """Something would have been written; nothing in the tree can be."""


class NoSuchAttribute(VfsError):
    """The file has no extended attribute of that name."""


class NotSupported(VfsError):
    """Extended attributes of this kind (access lists, security labels) do not exist here."""


class OutdatedView(VfsError):
    """The kernel (or a handle) still has an older version of the source; look the path up again."""


class BadHandle(VfsError):
    """A file handle that was never given out, or was released already."""


class FrameTooLarge(VfsError):
    """The frame has more samples than the file format can hold."""


class WrongPixels(VfsError):
    """The decoder returned another shape or type of frame than the index promises."""


class DataSetUnreadable(VfsError):
    """A data set's own description of its videos is damaged, incomplete or unlike the videos."""


class MountFailed(VfsError):
    """The filesystem could not be mounted; the message says what to do."""


class BindingMissing(MountFailed):
    """No FUSE library, or no Python binding to one, can be loaded."""


class WrongLayout(VfsError):
    """Names would be wrong, ambiguous or the same for two files; the message has an example."""


class FrameTooSmall(VfsError):
    """A frame is smaller than what is to be cut out of it."""


class NoTimestamps(VfsError):
    """Frames are chosen or named by time, and the source has no usable timestamps."""


class ClipTooShort(VfsError):
    """A clip is said to have frames that its source does not have."""
