"""Mounts a tree: the options of libfuse, the signals, and the threads beside it."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vfs.binding import Binding, load
from vfs.bridge import Hooks, Owner, run
from vfs.errors import MountFailed
from vfs.hidden import Hidden, HiddenFile
from vfs.kernel import KernelView
from vfs.operations import Operations
from vfs.traffic import Traffic
from vfs.tree import Tree
from vfs.watch import Watcher

_BELIEVED = 60.0
"""Seconds for which the kernel may believe names and attributes where it can be told to forget."""

_BELIEVED_BLINDLY = 0.4
"""The same where it cannot (libfuse2): changes have to be seen within a second."""

_MARGIN = 5.0
"""How much longer than the kernel the record remembers what it was told."""

_FUSE_WITH_THREAD_LIMIT = (3, 12)
"""Runs 10 threads unless told otherwise; older versions have no limit."""

_LAST_RESORT = 10.0
"""Seconds that the end of a session may take. What waits for a disk, or for FFmpeg to find a first
packet in a huge file, cannot be told to stop."""

_MNT_DETACH = 2

_PATH_MAX = 4096

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MountOptions:
    """How to mount.

    Attributes:
        uid, gid: owner of everything, by default the user who mounts.
        umask: permission bits to take away from 0444 and 0555.
        allow_other: let other users in.
        max_threads: requests that are served at the same time.
        read_ahead_kib: how far the kernel reads ahead in a file; needs root.
        debug: have libfuse print every request to stderr.
        extra: further options of libfuse, each as in ``-o``.
        on_ready: called once the mount answers, from a thread of its own.
        on_exit: called from a thread of its own when the end of the session has been asked for
            while requests may still be waiting; the place to make those give up.
    """

    uid: int | None = None
    gid: int | None = None
    umask: int | None = None
    allow_other: bool = False
    max_threads: int = 512
    read_ahead_kib: int = 4096
    debug: bool = False
    extra: tuple[str, ...] = ()
    on_ready: Callable[[], None] | None = None
    on_exit: Callable[[], None] | None = None


def serve(
    tree: Tree,
    mountpoint: str,
    options: MountOptions,
    *,
    traffic: Traffic | None = None,
    hidden: Sequence[HiddenFile] = (),
) -> None:
    """Mounts ``tree`` and serves it in the foreground until it is unmounted.

    SIGINT, SIGTERM and SIGHUP unmount. No thread is started before libfuse has set itself up.

    Args:
        traffic: counts the requests.
        hidden: files that are there besides the tree, in no listing.

    Raises:
        MountFailed: it could not be mounted.
    """
    binding = load()
    mountpoint = os.path.abspath(mountpoint)
    _check(mountpoint)
    _log.debug("mounting %s at %s with %s", tree.corpus.root, mountpoint, binding)
    session = _Session(binding, tree, mountpoint, options, Hidden(hidden))
    mask = ~(options.umask or 0)
    owner = Owner(
        uid=os.getuid() if options.uid is None else options.uid,
        gid=os.getgid() if options.gid is None else options.gid,
        file_mode=0o444 & mask,
        directory_mode=0o555 & mask,
    )
    try:
        with _default_signals():
            run(
                binding,
                session.operations,
                owner,
                Hooks(session.started, session.ended),
                traffic or Traffic(),
                background=max(64, options.max_threads),
                mountpoint=mountpoint,
                options=_fuse_options(binding, tree, options),
            )
    except RuntimeError as error:
        # Also raised when a signal ended the session, which is no fault once it had begun.
        if session.failure is None and not session.began:
            raise MountFailed(
                f"{mountpoint}: libfuse could not mount (status {error}); its own message says why"
            ) from error
    finally:
        session.ended()
    if session.failure is not None:
        raise MountFailed(f"{mountpoint}: {session.failure}") from session.failure


def _check(mountpoint: str) -> None:
    if not os.path.isdir(mountpoint):
        raise MountFailed(f"{mountpoint}: no such directory; create it to mount there")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        raise MountFailed(
            f"/dev/fuse cannot be opened ({error.strerror}); load the kernel module (modprobe "
            "fuse), or start the container with --device /dev/fuse --cap-add SYS_ADMIN"
        ) from error


def _fuse_options(binding: Binding, tree: Tree, options: MountOptions) -> dict[str, str | bool]:
    believed = str(_BELIEVED if _can_invalidate(binding) else _BELIEVED_BLINDLY)
    chosen: dict[str, str | bool] = {
        "foreground": True,
        "debug": options.debug,
        "fsname": _escaped(tree.corpus.root),
        "subtype": "framefs",
        "ro": True,
        "default_permissions": True,
        "allow_other": options.allow_other,
        "use_ino": True,
        "entry_timeout": believed,
        "attr_timeout": believed,
        "negative_timeout": "0",
    }
    if binding.major == 3:
        # Idle threads stay: a new one for every burst costs more than its memory.
        chosen["max_idle_threads"] = str(options.max_threads)
    if binding.version >= _FUSE_WITH_THREAD_LIMIT:
        chosen["max_threads"] = str(options.max_threads)
    if binding.major == 2:
        chosen["max_background"] = str(max(64, options.max_threads))
    for one in options.extra:
        name, separator, value = one.partition("=")
        chosen[name] = value if separator else True
    return chosen


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,")


def _can_invalidate(binding: Binding) -> bool:
    return binding.major == 3 and hasattr(binding.libfuse, "fuse_invalidate_path")


@contextlib.contextmanager
def _default_signals() -> Iterator[None]:
    """libfuse handles the signals that end it only where nobody else does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {name: signal.signal(name, signal.SIG_DFL) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


class _Session:
    """What runs beside libfuse from its beginning to its end."""

    def __init__(
        self,
        binding: Binding,
        tree: Tree,
        mountpoint: str,
        options: MountOptions,
        hidden: Hidden,
    ) -> None:
        self.began = False
        self.failure: Exception | None = None
        self._libfuse = binding.libfuse
        self._major = binding.major
        self._mountpoint = mountpoint
        self._options = options
        self._fuse = ctypes.c_void_p()
        self._device: int | None = None
        self._exit_told = False
        self._over = threading.Event()
        can_invalidate = _can_invalidate(binding)
        lifetime = (_BELIEVED if can_invalidate else _BELIEVED_BLINDLY) + _MARGIN
        view = KernelView(lifetime)
        self.operations = Operations(tree, view, hidden=hidden)
        self._watcher = Watcher(
            tree,
            view,
            self._invalidate if can_invalidate else None,
            each_time=self._notice_exit,
        )
        self._declare()

    def started(self, fuse: int) -> None:
        """libfuse is set up; threads may begin."""
        try:
            self._fuse = ctypes.c_void_p(fuse)
            self.began = True
            self._watcher.start()
            threading.Thread(target=self._ready, name="framefs-ready", daemon=True).start()
        except Exception as error:
            # libfuse ignores what init returns, so the session has to be ended from here.
            self.failure = error
            self._libfuse.fuse_exit(self._fuse)

    def ended(self) -> None:
        """No request comes any more."""
        self._over.set()
        if not self.began or self._watcher.stop():
            return
        # It waits for a page that a lost request holds: only the end of the connection frees it.
        _log.warning("%s: aborting the connection to the kernel", self._mountpoint)
        self._abort()
        self._watcher.stop()

    def _declare(self) -> None:
        """Tells ctypes the signatures that the bindings leave out."""
        library: Any = self._libfuse
        library.fuse_exit.argtypes = [ctypes.c_void_p]
        if hasattr(library, "fuse_invalidate_path"):
            library.fuse_invalidate_path.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
            library.fuse_invalidate_path.restype = ctypes.c_int
        library.fuse_get_session.argtypes = [ctypes.c_void_p]
        library.fuse_get_session.restype = ctypes.c_void_p
        library.fuse_session_exited.argtypes = [ctypes.c_void_p]
        library.fuse_session_exited.restype = ctypes.c_int

    def _invalidate(self, path: str) -> None:
        name = os.fsencode(path)
        if len(name) < _PATH_MAX:
            # -ENOENT is the usual answer: the kernel had forgotten it by itself.
            self._libfuse.fuse_invalidate_path(self._fuse, name)

    def _notice_exit(self) -> None:
        if self._exit_told or self._options.on_exit is None:
            return
        if self._libfuse.fuse_session_exited(self._libfuse.fuse_get_session(self._fuse)):
            self._exit_told = True
            threading.Thread(target=self._insist, name="framefs-exit", daemon=True).start()
            self._options.on_exit()

    def _insist(self) -> None:
        """Ends the process where a request that gets no answer would keep it, and the mount."""
        if self._over.wait(_LAST_RESORT):
            return
        _log.error("%s: a request does not end; unmounting without it", self._mountpoint)
        name = os.fsencode(self._mountpoint)
        # By the table: the mount itself does not answer, and may have been taken away already.
        if self._is_mounted() and ctypes.CDLL(None).umount2(name, _MNT_DETACH) != 0:
            for helper in ("fusermount3", "fusermount"):
                with contextlib.suppress(OSError, subprocess.SubprocessError):
                    subprocess.run([helper, "-u", "-z", name], check=True, timeout=5)
                    break
        logging.shutdown()
        os._exit(1)

    def _is_mounted(self) -> bool:
        if self._device is None:
            return False
        number = f"{os.major(self._device)}:{os.minor(self._device)}"
        with open("/proc/self/mountinfo", "rb") as table:
            return any(line.split()[2] == number.encode() for line in table)

    def _ready(self) -> None:
        """Waits until the mount answers, which it does only from outside a request."""
        try:
            self._device = os.stat(self._mountpoint).st_dev
        except OSError as error:
            _log.warning("%s does not answer: %s", self._mountpoint, error)
            return
        self._read_ahead(self._device)
        if self._options.on_ready is not None:
            self._options.on_ready()

    def _read_ahead(self, device: int) -> None:
        number = f"{os.major(device)}:{os.minor(device)}"
        try:
            with open(f"/sys/class/bdi/{number}/read_ahead_kb", "w", encoding="ascii") as file:
                file.write(str(self._options.read_ahead_kib))
        except OSError as error:
            _log.debug("the kernel's read-ahead stays as it is: %s", error)

    def _abort(self) -> None:
        if self._device is None:
            return
        try:
            place = f"/sys/fs/fuse/connections/{os.minor(self._device)}/abort"
            with open(place, "w", encoding="ascii") as file:
                file.write("1")
        except OSError as error:
            _log.error("%s: the connection cannot be aborted: %s", self._mountpoint, error)
