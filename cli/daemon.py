"""Work that goes on in the background once it has got going, and fails in the foreground."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable

from cli.errors import CommandFailed
from cli.streams import silence

_READY = b"\0"


def start(work: Callable[[Callable[[], None]], None]) -> None:
    """Run ``work(ready)`` in a process of its own and return when it calls ``ready()``.

    The process has its own session, ``/`` as its directory and no standard input or output. To be
    called before any thread is started. An interrupt ends the process as well.

    Raises:
        CommandFailed: ``work`` raised it, or ended before it was ready; with its message.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        _become(work, writing)
    os.close(writing)
    try:
        report = _read_all(reading)
    except KeyboardInterrupt:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
        raise
    finally:
        os.close(reading)
    if report != _READY:
        _, status = os.waitpid(process, 0)
        raise CommandFailed(report.decode(errors="replace") or _ending(status))


def _become(work: Callable[[Callable[[], None]], None], report: int) -> None:
    """The child's whole life: never returns into the caller's frames."""
    status = 1
    try:
        os.setsid()
        os.chdir("/")
        silence(0)
        open_report = [report]

        def tell(message: bytes) -> None:
            if open_report:
                silence(1)
                descriptor = open_report.pop()
                with contextlib.suppress(BrokenPipeError):
                    os.write(descriptor, message)
                os.close(descriptor)

        try:
            work(lambda: tell(_READY))
            status = 0
        except CommandFailed as error:
            tell(str(error).encode())
        except BaseException as error:
            traceback.print_exc()
            tell(f"{type(error).__name__}: {error}".encode())
    finally:
        sys.stderr.flush()
        os._exit(status)


def _read_all(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 65536):
        parts.append(part)
    return b"".join(parts)


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"the mounting process was ended by {signal.Signals(-code).name} before it was ready"
    if code == 0:
        return "it was unmounted again before it was ready"
    return f"the mounting process ended with status {code} before it was ready; see the log"
