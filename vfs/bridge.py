"""From libfuse's C structures to `Operations` and back, on any of the bindings.

Takes the place of the binding's own methods, which lose what is needed (READDIRPLUS, the flags of
an open file) and copy once more than necessary.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from vfs.binding import Binding
from vfs.errnos import report
from vfs.errors import ReadOnly
from vfs.hidden import DIRECTORY
from vfs.nodes import Attributes
from vfs.operations import Operations
from vfs.traffic import Traffic

WRITING = tuple(
    "chmod chown create fallocate ftruncate link mkdir mknod removexattr rename rmdir setxattr "
    "symlink truncate unlink utimens write".split()
)
READING = tuple(
    "destroy fgetattr getattr getxattr init listxattr open opendir read readdir release releasedir "
    "statfs".split()
)

_SUFFIXED = frozenset("chmod chown getattr init readdir rename truncate utimens".split())
"""Methods that mfusepy names after the major version of libfuse."""

_CAP_READDIRPLUS = 1 << 13
_CAP_READDIRPLUS_AUTO = 1 << 14
_READDIR_PLUS = 1 << 0
_FILL_DIR_PLUS = 1 << 1

_IO_SIZE = 128 << 10
"""st_blksize: what buffered readers ask for at once."""

_NAME_LIMIT = 255

_HIDDEN = os.fsencode(DIRECTORY)


@dataclass(frozen=True, slots=True)
class Owner:
    """Who owns everything in the mount, and the permission bits of files and directories."""

    uid: int
    gid: int
    file_mode: int
    directory_mode: int


@dataclass(frozen=True, slots=True)
class Hooks:
    """Called with libfuse's handle when requests are about to come, and when the last one has."""

    started: Callable[[int], None]
    ended: Callable[[], None]


def run(
    binding: Binding,
    operations: Operations,
    owner: Owner,
    hooks: Hooks,
    traffic: Traffic,
    background: int,
    mountpoint: str,
    options: dict[str, str | bool],
) -> None:
    """Mounts, answers requests, and returns when unmounted.

    Args:
        traffic: counts the requests.
        background: read-ahead requests that the kernel may have open at once.
        options: of libfuse, as the binding takes them.

    Raises:
        RuntimeError: what the binding makes of libfuse's exit status.
    """
    methods = Methods(binding, operations, owner, hooks, traffic, background)
    fuse: Any = binding.module.FUSE

    class FrameFuse(fuse):  # type: ignore[misc]
        # In place of the binding's guard: these methods let nothing through.
        _wrapper = staticmethod(lambda method, *arguments: method(*arguments))

        def __init__(self) -> None:
            for name in (*READING, *WRITING):
                suffix = binding.module.__name__ == "mfusepy" and name in _SUFFIXED
                own_name = f"{name}_fuse_{binding.major}" if suffix else name
                setattr(self, own_name, methods.guarded(name))
            # The binding looks up only which operations there are.
            present: dict[str, Any] = dict.fromkeys((*READING, *WRITING), True)
            super().__init__(
                SimpleNamespace(use_ns=True, **present), mountpoint, raw_fi=True, **options
            )

    FrameFuse()


class Methods:
    """What libfuse calls: C pointers in; 0, a length or a negative error number out."""

    def __init__(
        self,
        binding: Binding,
        operations: Operations,
        owner: Owner,
        hooks: Hooks,
        traffic: Traffic,
        background: int,
    ) -> None:
        self._binding = binding
        self._operations = operations
        self._owner = owner
        self._hooks = hooks
        self._traffic = traffic
        self._background = background
        self._stat_type = binding.module.c_stat

    def guarded(self, name: str) -> Callable[..., int]:
        """The function for an operation, which turns exceptions into numbers.

        It counts requests, but for the hidden files that tell the counts: who looks at them often
        would see himself.
        """
        method: Callable[..., int | None]
        method = self._refuse if name in WRITING else getattr(self, f"_{name}")

        def answer(*arguments: Any) -> int:
            try:
                return method(*arguments) or 0
            except BaseException as error:
                # ctypes would report success for whatever gets past here, SystemExit included.
                return -report(error, name, _path_in(arguments))

        requests = self._traffic.of(name)
        answered = requests.answered.add

        def counted(path: bytes, *rest: Any) -> int:
            if path.startswith(_HIDDEN):
                return answer(path, *rest)
            requests.arrived += 1
            began = time.perf_counter()
            status = answer(path, *rest)
            answered(time.perf_counter() - began)
            return status

        call = answer if name in ("init", "destroy") else counted
        call.__name__ = name
        return call

    def _init(self, conn: Any, config: Any = None) -> None:
        if self._binding.major == 3:
            info = conn.contents
            # "auto" sends most of a directory without attributes and has them asked for one by one.
            info.want = (info.want | info.capable & _CAP_READDIRPLUS) & ~_CAP_READDIRPLUS_AUTO
            info.max_background = self._background
            info.congestion_threshold = self._background * 3 // 4
            config.contents.use_ino = 1
        context = self._binding.libfuse.fuse_get_context()
        self._hooks.started(context.contents.fuse)

    def _destroy(self, _private: Any) -> None:
        self._hooks.ended()

    def _getattr(self, path: bytes, buffer: Any, file: Any = None) -> None:
        handle = file.contents.fh if file else None
        attributes = self._operations.getattr(os.fsdecode(path), handle)
        ctypes.memset(buffer, 0, ctypes.sizeof(self._stat_type))
        self._fill(buffer.contents, attributes)

    _fgetattr = _getattr

    def _fill(self, status: Any, attributes: Attributes) -> None:
        owner = self._owner
        if attributes.directory:
            status.st_mode = stat.S_IFDIR | owner.directory_mode
        else:
            status.st_mode = stat.S_IFREG | owner.file_mode
        status.st_nlink = attributes.links
        status.st_ino = attributes.inode
        status.st_uid = owner.uid
        status.st_gid = owner.gid
        status.st_size = attributes.size
        status.st_blocks = -(-attributes.size // 512)
        status.st_blksize = _IO_SIZE
        seconds, nanoseconds = divmod(attributes.mtime_ns, 10**9)
        for field in (status.st_atimespec, status.st_mtimespec, status.st_ctimespec):
            field.tv_sec = seconds
            field.tv_nsec = nanoseconds

    def _opendir(self, path: bytes, file: Any) -> None:
        file.contents.fh = self._operations.opendir(os.fsdecode(path))

    def _readdir(
        self, _path: bytes, buffer: Any, fill: Any, offset: int, file: Any, flags: int = 0
    ) -> None:
        plus = bool(flags & _READDIR_PLUS)
        status = self._stat_type()
        filled: tuple[int, int] | None = None
        entries = self._operations.readdir(file.contents.fh, offset, plus=plus)
        # Non-zero offsets: the kernel gets one reply full at a time and asks on from there.
        for place, entry in enumerate(entries, offset + 1):
            if plus and entry.attributes is not None:
                attributes = entry.attributes
                if filled == (attributes.size, attributes.mtime_ns):
                    # Frames of one source mostly differ in nothing else.
                    status.st_ino = attributes.inode
                else:
                    self._fill(status, attributes)
                    filled = attributes.size, attributes.mtime_ns
                extra: tuple[int, ...] = (_FILL_DIR_PLUS,)
            else:
                status.st_mode = stat.S_IFDIR if entry.directory else stat.S_IFREG
                status.st_ino = entry.inode
                filled = None
                extra = (0,) if self._binding.major == 3 else ()
            if fill(buffer, os.fsencode(entry.name), status, place, *extra):
                break

    def _releasedir(self, _path: bytes, file: Any) -> None:
        self._operations.releasedir(file.contents.fh)

    def _open(self, path: bytes, file: Any) -> None:
        info = file.contents
        process = self._binding.libfuse.fuse_get_context().contents.pid
        handle, opening = self._operations.open(os.fsdecode(path), info.flags, process)
        info.fh = handle
        info.keep_cache = opening.keep
        info.direct_io = opening.direct

    def _read(self, _path: bytes, buffer: Any, size: int, offset: int, file: Any) -> int:
        content = self._operations.read(file.contents.fh, offset, size)
        length = len(content)
        if length:
            source = np.frombuffer(content, np.uint8).__array_interface__["data"][0]
            ctypes.memmove(buffer, source, length)
        return length

    def _release(self, _path: bytes, file: Any) -> None:
        self._operations.release(file.contents.fh)

    def _getxattr(self, path: bytes, name: bytes, buffer: Any, size: int, *_position: int) -> int:
        value = self._operations.getxattr(os.fsdecode(path), os.fsdecode(name))
        return _hand_over(value, buffer, size)

    def _listxattr(self, path: bytes, buffer: Any, size: int) -> int:
        names = self._operations.listxattr(os.fsdecode(path))
        return _hand_over(b"".join(os.fsencode(name) + b"\0" for name in names), buffer, size)

    def _statfs(self, _path: bytes, buffer: Any) -> None:
        usage = self._operations.statfs()
        status = buffer.contents
        ctypes.memset(buffer, 0, ctypes.sizeof(status))
        status.f_bsize = status.f_frsize = usage.block_size
        status.f_blocks = usage.blocks
        status.f_files = usage.files
        status.f_namemax = _NAME_LIMIT

    def _refuse(self, *arguments: Any) -> None:
        raise ReadOnly(_path_in(arguments))


def _hand_over(value: bytes, buffer: Any, size: int) -> int:
    """Answers a request for an extended attribute: its length, or its value where it fits."""
    if not size:
        return len(value)
    if len(value) > size:
        return -errno.ERANGE
    ctypes.memmove(buffer, value, len(value))
    return len(value)


def _path_in(arguments: tuple[Any, ...]) -> str:
    return next((os.fsdecode(one) for one in arguments if isinstance(one, bytes)), "")
