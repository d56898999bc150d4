"""Indexes that outlive the process: one SQLite file, used by several processes at once."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Iterator

from decoder.corpus import Source
from decoder.forking import fork_lock
from decoder.index import SourceIndex

SCHEMA_VERSION = 2

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS sources (
    path TEXT NOT NULL,
    options TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (path, options)
) WITHOUT ROWID;
PRAGMA user_version = {SCHEMA_VERSION};
"""

_PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

_abandoned: list[sqlite3.Connection] = []
"""Connections of a parent process, kept from being closed: closing one in the child would tidy up
files that the parent has in use."""

_log = logging.getLogger(__name__)


def default_index_path() -> str:
    """Where indexes are kept unless told otherwise: below the user's cache directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "framefs", "index.sqlite")


class IndexStore:
    """Keeps one index per file and set of options, in the file's latest version. Thread safe.

    It is a cache: whatever goes wrong with the database costs time, never a frame. A damaged or
    newer-versioned database is renamed and a new one begun, an older one is emptied; one that
    cannot be used at all (no permission, full disk) is done without. Each but the emptying is said
    once in the log.

    Args:
        path: of the database file, or ":memory:".
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = fork_lock()
        self._connection: sqlite3.Connection | None = None
        self._process = -1
        self._usable = True
        self._complaint: str | None = None

    def problem(self) -> str | None:
        """Why the database cannot be used, in words; None if it can (a damaged one is replaced)."""
        with self._using() as connection:
            if connection is not None:
                return None
        return self._complaint

    def get(self, source: Source, options: str) -> SourceIndex | None:
        """The index of ``source`` in this version, made with ``options``; None if there is none."""
        with self._using() as connection:
            if connection is None:
                return None
            row = connection.execute(
                "SELECT content FROM sources "
                "WHERE path = ? AND options = ? AND size = ? AND mtime_ns = ?",
                (_text(source.path), options, *_version(source)),
            ).fetchone()
            if row is None:
                return None
            try:
                return SourceIndex.from_bytes(row[0])
            except ValueError as error:
                _log.warning(
                    "%s: the stored index is unreadable (%s); made anew", source.path, error
                )
        return None

    def has(self, source: Source, options: str) -> bool:
        """Whether there is something that `get` would read."""
        found = None
        with self._using() as connection:
            if connection is not None:
                found = connection.execute(
                    "SELECT 1 FROM sources "
                    "WHERE path = ? AND options = ? AND size = ? AND mtime_ns = ?",
                    (_text(source.path), options, *_version(source)),
                ).fetchone()
        return found is not None

    def put(self, source: Source, options: str, index: SourceIndex) -> None:
        """Keeps ``index``, in place of one of an earlier version of the file."""
        content = index.to_bytes()
        with self._using() as connection:
            if connection is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?)",
                    (_text(source.path), options, *_version(source), content),
                )

    def close(self) -> None:
        """Closes the database."""
        with self._lock:
            self._drop()

    @contextlib.contextmanager
    def _using(self) -> Iterator[sqlite3.Connection | None]:
        """The connection, alone; errors of the database end here."""
        with self._lock:
            connection = None
            try:
                connection = self._connect() if self._usable else None
            except (sqlite3.Error, OSError) as error:
                self._recover(error)
            try:
                yield connection
            except (sqlite3.Error, OSError) as error:
                self._recover(error)

    def _recover(self, error: Exception) -> None:
        self._drop()
        self._complaint = str(error)
        if _is_damage(error):
            try:
                self._set_aside("damaged", str(error))
            except OSError as refusal:
                self._give_up(refusal)
        elif "locked" in str(error):
            _log.warning("index database %s: %s; going on without it", self.path, error)
        else:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._usable = False
        _log.error(
            "index database %s cannot be used (%s): files are indexed anew in each run; "
            "choose another place with the setting index.path",
            self.path,
            error,
        )

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        self._drop()
        try:
            self._connection = self._open()
        except _NewerVersion as error:
            self._set_aside("newer", str(error))
        except sqlite3.Error as error:
            if not _is_damage(error):
                raise
            self._set_aside("damaged", str(error))
        if self._connection is None:
            self._connection = self._open()
        self._process = os.getpid()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        """A connection to a database of this version.

        Raises:
            sqlite3.Error, OSError: there is none to be had.
            _NewerVersion: a later version of this program wrote it.
        """
        if self.path != ":memory:":
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        with self._files(fcntl.LOCK_SH):
            connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                version = _version_of(connection)
                if version == 0:
                    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                    ours = connection.execute("PRAGMA table_info(sources)").fetchall()
                    if tables and not ours:
                        raise sqlite3.OperationalError("it belongs to another program")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.executescript(_SCHEMA)
                if 0 < version < SCHEMA_VERSION:
                    connection.execute("DELETE FROM sources")  # they are made anew
            except sqlite3.Error:
                connection.close()
                raise
        return connection

    @contextlib.contextmanager
    def _files(self, how: int) -> Iterator[None]:
        """While the database's files are opened (LOCK_SH) or renamed (LOCK_EX).

        SQLite does not know of renaming: whoever opened one file of the three before it and
        another after it would spoil the new database.
        """
        if self.path == ":memory:":
            yield
            return
        with open(f"{self.path}.lock", "a") as lock:
            fcntl.flock(lock, how)
            yield

    def _set_aside(self, what: str, why: str) -> None:
        """Renames the database, unless another process has done so meanwhile.

        Raises:
            OSError: it cannot be renamed.
        """
        with self._files(fcntl.LOCK_EX):
            if self._is_sound():
                return
            aside = f"{self.path}.{what}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(self.path + suffix, aside + suffix)
        _log.warning("index database %s set aside as %s and begun anew: %s", self.path, aside, why)

    def _is_sound(self) -> bool:
        try:
            with contextlib.closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as connection:
                _version_of(connection)
                return bool(connection.execute("PRAGMA quick_check").fetchone()[0] == "ok")
        except sqlite3.Error:
            return False

    def _drop(self) -> None:
        if self._connection is None:
            return
        if self._process == os.getpid():
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        else:
            _abandoned.append(self._connection)
        self._connection = None


class _NewerVersion(sqlite3.DatabaseError):
    """A later version of this program wrote the database."""


def _version_of(connection: sqlite3.Connection) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA_VERSION:
        raise _NewerVersion(f"it has version {version}, this program writes {SCHEMA_VERSION}")
    return version


def _is_damage(error: Exception) -> bool:
    # The low byte is the primary code. Of another kind: locked, full disk, no permission.
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGED


def _text(path: str) -> str:
    # Paths need not be UTF-8, SQLite's text is.
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _version(source: Source) -> tuple[int, int]:
    return source.fingerprint.size, source.fingerprint.mtime_ns
