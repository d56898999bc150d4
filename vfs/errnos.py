"""Which error number each exception becomes, and what of it goes to the log.

The one place where the kernel's numbers meet the classes; looked up along the MRO.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Mapping

from cachetools import LRUCache

from decoder import errors as decoder
from vfs import errors as vfs

ERRNOS: Mapping[type[BaseException], int] = {
    decoder.DecoderError: errno.EIO,
    decoder.SourceNotFound: errno.ENOENT,
    decoder.SourceUnreadable: errno.EIO,
    decoder.SourceChanged: errno.ESTALE,
    decoder.UnsupportedStream: errno.ENOTSUP,
    decoder.InvalidSyntax: errno.EIO,
    decoder.Truncated: errno.EIO,
    decoder.MissingReference: errno.EIO,
    decoder.FrameOutOfRange: errno.ENOENT,
    decoder.DecodeFailed: errno.EIO,
    decoder.Stopped: errno.EIO,
    decoder.TimedOut: errno.ETIMEDOUT,
    vfs.VfsError: errno.EIO,
    vfs.NoSuchPath: errno.ENOENT,
    vfs.NotADirectory: errno.ENOTDIR,
    vfs.IsADirectory: errno.EISDIR,
    vfs.ReadOnly: errno.EROFS,
    vfs.NoSuchAttribute: errno.ENODATA,
    vfs.NotSupported: errno.ENOTSUP,
    vfs.OutdatedView: errno.ESTALE,
    vfs.BadHandle: errno.EBADF,
    vfs.FrameTooLarge: errno.EFBIG,
    vfs.WrongPixels: errno.EIO,
    vfs.DataSetUnreadable: errno.EIO,
    vfs.WrongLayout: errno.EIO,
    vfs.FrameTooSmall: errno.EIO,
    vfs.NoTimestamps: errno.EIO,
    vfs.ClipTooShort: errno.EIO,
    vfs.MountFailed: errno.EIO,
    vfs.BindingMissing: errno.EIO,
    MemoryError: errno.ENOMEM,
}

_EXPECTED: frozenset[type[BaseException] | None] = frozenset(
    {
        decoder.SourceNotFound,
        decoder.SourceChanged,
        decoder.FrameOutOfRange,
        decoder.Stopped,
        vfs.NoSuchPath,
        vfs.NotADirectory,
        vfs.IsADirectory,
        vfs.ReadOnly,
        vfs.NoSuchAttribute,
        vfs.NotSupported,
        vfs.OutdatedView,
    }
)
"""What readers bring about by themselves: told to them, not to the log."""

_REPEATS_KEPT = 1024

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_logged: LRUCache[tuple[str, str], bool] = LRUCache(_REPEATS_KEPT)


def errno_of(error: BaseException) -> int:
    """The error number of an exception: EIO for what nobody foresaw."""
    kind = _foreseen_as(error)
    if kind is not None:
        return ERRNOS[kind]
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return error.errno
    return errno.EIO


def report(error: BaseException, operation: str, path: str) -> int:
    """The error number of what an operation on ``path`` raised; logs what the reader cannot see.

    A reason is logged once, not at every repeated reading.
    """
    number = errno_of(error)
    kind = _foreseen_as(error)
    if kind in _EXPECTED:
        _log.debug("%s %s: %s", operation, path, error)
    elif kind is None:
        _log.error("%s %s failed unexpectedly", operation, path, exc_info=error)
    else:
        level = logging.DEBUG if _is_repeat(path, str(error)) else logging.WARNING
        _log.log(level, "%s %s: %s", operation, path, error)
    return number


def _foreseen_as(error: BaseException) -> type[BaseException] | None:
    return next((kind for kind in type(error).__mro__ if kind in ERRNOS), None)


def _is_repeat(path: str, message: str) -> bool:
    with _lock:
        known = (path, message) in _logged
        _logged[path, message] = True
        return known
