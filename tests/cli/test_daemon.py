"""The daemon, with real forks; each in a process of its own, which has no other threads."""

from __future__ import annotations

import sys
import textwrap
from subprocess import CompletedProcess

from tests.cli.commands import is_running, run


def started(work: str) -> CompletedProcess[str]:
    """Start ``work``, a function body with ``ready`` in it; print what the caller comes to know."""
    program = f"""
import os, signal, sys, time
from cli import daemon
from cli.errors import CommandFailed
def work(ready):
{textwrap.indent(textwrap.dedent(work), "    ")}
try:
    daemon.start(work)
    print("started")
except CommandFailed as error:
    print("failed:", error)
"""
    return run(sys.executable, "-c", program)


def test_the_caller_goes_on_when_the_work_is_ready_and_the_work_goes_on_alone() -> None:
    # the file descriptors of the daemon are silenced, or this would wait for the daemon's end
    result = started(
        """
        from cli.streams import silence
        print(os.getpid(), os.getsid(0), os.getcwd(), os.readlink("/proc/self/fd/0"), flush=True)
        silence(2)
        ready()
        time.sleep(30)
        """
    )
    assert result.stderr == ""
    facts, word = result.stdout.splitlines()
    assert word == "started"
    process, session, directory, stdin = facts.split()
    assert process == session
    assert (directory, stdin) == ("/", "/dev/null")
    assert is_running(int(process))
    run("kill", process)


def test_a_failure_before_it_is_ready_reaches_the_caller() -> None:
    result = started("raise CommandFailed('there is no moon')")
    assert result.stdout == "failed: there is no moon\n"
    assert result.stderr == ""


def test_a_defect_reaches_the_caller_with_its_traceback() -> None:
    result = started("raise ZeroDivisionError('moon')")
    assert result.stdout == "failed: ZeroDivisionError: moon\n"
    assert "Traceback" in result.stderr


def test_an_end_before_it_is_ready_is_told() -> None:
    assert started("os.kill(os.getpid(), signal.SIGKILL)").stdout == (
        "failed: the mounting process was ended by SIGKILL before it was ready\n"
    )
    assert started("return").stdout == "failed: it was unmounted again before it was ready\n"
    assert started("os._exit(9)").stdout == (
        "failed: the mounting process ended with status 9 before it was ready; see the log\n"
    )
