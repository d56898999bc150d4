"""`Manifest`: what has been made in a folder, one line of JSON for each file; only ever added to.

A file is *begun* before anything is written, and *done* when its encoding is in place. So what lies
in the folder is known to be ours, finished or not, or to be somebody else's.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TypeAlias

import msgspec

from encoder.errors import TargetFailed
from encoder.settings import Settings
from encoder.unit import Outcome

NAME = "framefs-transcode.jsonl"
"""Of the manifest, in the folder that it tells of."""


class Begun(msgspec.Struct, frozen=True, tag="begun", tag_field="line"):
    """A file that is to be made; what is at ``target`` from now on is ours.

    Attributes:
        target: path below the folder, with "/".
        source: path of the source.
        at: seconds since the epoch.
    """

    target: str
    source: str
    at: float


class Done(msgspec.Struct, frozen=True, tag="done", tag_field="line"):
    """A file that is complete and in place."""

    target: str
    at: float
    outcome: Outcome


class Chosen(msgspec.Struct, frozen=True, tag="chosen", tag_field="line"):
    """The crf that all files have which are made with ``settings`` for the sake of ``wish``.

    It stays when the corpus grows; else all that is done would have to be done again.
    """

    settings: Settings
    wish: str
    crf: float
    at: float


Line: TypeAlias = Begun | Done | Chosen


class InUse(TargetFailed):
    """Another run writes to the folder."""


class Records:
    """What the manifest of one folder says, as far as it can be read.

    Attributes:
        unreadable: numbers of the lines passed over, from 1 on.
    """

    def __init__(self, folder: str, content: bytes = b"") -> None:
        self.unreadable: list[int] = []
        self._folder = folder
        self._done: dict[str, Done] = {}
        self._begun: set[str] = set()
        self._chosen: dict[tuple[Settings, str], float] = {}
        for number, text in enumerate(content.split(b"\n")[:-1], 1):
            try:
                self._take(msgspec.convert(json.loads(text), Line))
            except (ValueError, TypeError):  # msgspec's and JSON's errors are ValueErrors
                self.unreadable.append(number)

    @classmethod
    def read(cls, folder: str) -> Records:
        """What it says now, whoever writes; nothing where there is none. Raises TargetFailed."""
        path = os.path.join(folder, NAME)
        try:
            with _told(path), open(path, "rb") as file:
                return cls(folder, file.read())
        except FileNotFoundError:
            return cls(folder)

    def done(self, target: str) -> Outcome | None:
        """What came of ``target`` when it was made last; None if its file is not what it was."""
        line = self._done.get(target)
        if line is None or _size(os.path.join(self._folder, target)) != line.outcome.bytes_out:
            return None
        return line.outcome

    def is_ours(self, target: str) -> bool:
        """Whether what is at ``target`` was made by a run, or would have been."""
        return target in self._begun or target in self._done

    def unfinished(self) -> list[str]:
        """Targets that were begun and not done since."""
        return sorted(self._begun)

    def known(self) -> list[str]:
        """All targets that were ever begun."""
        return sorted(self._begun | self._done.keys())

    def chosen(self, settings: Settings, wish: str) -> float | None:
        """The crf that was chosen for files with ``settings`` and ``wish``; None if none was."""
        return self._chosen.get((settings, wish))

    def _take(self, line: Line) -> None:
        if isinstance(line, Begun):
            self._begun.add(line.target)
        elif isinstance(line, Chosen):
            self._chosen[line.settings, line.wish] = line.crf
        else:
            self._begun.discard(line.target)
            self._done[line.target] = line


class Manifest(Records):
    """The manifest of one folder, held by one run at a time. A context manager.

    Each line is on the disk when the call that writes it returns. What an interrupted run left of a
    line is taken away; lines that cannot be read are passed over.

    Args:
        folder: made if it is not there.

    Raises:
        InUse: another run holds it.
        TargetFailed: it cannot be read or written.
    """

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, NAME)
        with _told(self.path):
            os.makedirs(folder, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        try:
            with _told(self.path):
                _lock(self._file, folder)
                content = _mended(self._file)
                _sync_folder(folder)
        except BaseException:
            os.close(self._file)
            raise
        super().__init__(folder, content)

    def __enter__(self) -> Manifest:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets another run have it."""
        os.close(self._file)

    def choose(self, settings: Settings, wish: str, crf: float) -> None:
        """Writes down the ``crf`` for files with ``settings`` and ``wish``. Raises TargetFailed."""
        line = Chosen(settings, wish, crf, time.time())
        self._append(line)
        self._take(line)

    def begin(self, target: str, source: str) -> None:
        """Writes down that ``target`` is to be made. Raises TargetFailed."""
        if target not in self._begun:
            self._append(Begun(target, source, time.time()))
            self._begun.add(target)

    def finish(self, target: str, outcome: Outcome) -> None:
        """Writes down that ``target`` is in place. Raises TargetFailed."""
        line = Done(target, time.time(), outcome)
        self._append(line)
        self._take(line)

    def _append(self, line: Line) -> None:
        # ASCII only: names need not be UTF-8, and come back as they were.
        content = json.dumps(msgspec.to_builtins(line)).encode("ascii") + b"\n"
        with _told(self.path):
            length = os.fstat(self._file).st_size
            try:
                written = os.write(self._file, content)
                if written != len(content):  # a full disk takes what there is room for
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._file)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, length)
                raise


def _lock(file: int, folder: str) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InUse(
            f"{folder}: another framefs transcode writes there; "
            "wait until it has ended, or choose another folder"
        ) from error


def _mended(file: int) -> bytes:
    """The content of the manifest, whose last line is whole from now on."""
    with open(file, "rb", closefd=False) as reader:
        content = reader.read()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) != len(content):
        os.ftruncate(file, len(whole))
        os.fsync(file)
    return whole


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TargetFailed(
            f"{path}: cannot be read or written ({error.strerror}); "
            "make room or choose another place"
        ) from error


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _sync_folder(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a filesystem that cannot say so of a folder
            raise
    finally:
        os.close(handle)
