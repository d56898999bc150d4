"""Where log records go: stderr, syslog or a file."""

from __future__ import annotations

import logging
import logging.handlers
import os

from cli.errors import CommandFailed
from config.settings import LoggingSettings

SYSLOG = "/dev/log"


class _OneLine(logging.Formatter):
    """A record is one line, whatever line breaks the name of a file has; tracebacks keep theirs."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (logging's name)
        return super().formatMessage(record).replace("\n", "\\n").replace("\r", "\\r")


def configure(settings: LoggingSettings, *, daemon: bool, stderr: int) -> bool:
    """Send the records of every logger where ``settings`` say.

    Args:
        daemon: ``auto`` means syslog then, and stderr otherwise.
        stderr: a descriptor of the real stderr.

    Returns:
        Whether stderr is used, which must then stay open.

    Raises:
        CommandFailed: the place cannot be written to.
    """
    target = settings.target
    if target == "auto":
        target = "stderr" if not daemon else "syslog" if os.path.exists(SYSLOG) else os.devnull
    handler = _handler(target, stderr)
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(settings.level.upper())
    return target == "stderr"


def _handler(target: str, stderr: int) -> logging.Handler:
    handler: logging.Handler
    if target == "syslog":
        if not os.path.exists(SYSLOG):
            raise CommandFailed(
                f"logging.target: there is no syslog at {SYSLOG}; log to a file instead"
            )
        # connects when there is something to say, and again when syslog was started anew
        handler = logging.handlers.SysLogHandler(SYSLOG, logging.handlers.SysLogHandler.LOG_DAEMON)
        handler.setFormatter(
            _OneLine(f"framefs[{os.getpid()}]: %(levelname)s %(name)s: %(message)s")
        )
        return handler
    if target == "stderr":
        handler = logging.StreamHandler(os.fdopen(stderr, "w", closefd=False, buffering=1))
        handler.setFormatter(_OneLine("%(levelname)s %(name)s: %(message)s"))
        return handler
    try:
        # reopens after logrotate has moved the file away
        handler = logging.handlers.WatchedFileHandler(target, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(
            f"logging.target: {target} cannot be written ({error.strerror})"
        ) from error
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return handler
