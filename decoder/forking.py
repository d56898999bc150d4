"""Locks that a fork of the process does not leave held for ever in the child."""

from __future__ import annotations

import os
import threading
import weakref


def fork_lock() -> threading.Lock:
    """A lock that is free in a forked child, with all that it guards as it should be.

    Whoever forks waits until it is free, and holds it while the process is copied. So who holds it
    may not wait for anything, another of its kind included.
    """
    lock = threading.Lock()
    with _registering:
        _locks.add(lock)
    return lock


_registering = threading.Lock()
_locks: weakref.WeakSet[threading.Lock] = weakref.WeakSet()
_held: list[threading.Lock] = []  # by a fork that is going on; the interpreter has one at a time


def _before() -> None:
    _registering.acquire()
    _held.extend(_locks)
    for lock in _held:
        lock.acquire()


def _after() -> None:
    for lock in _held:
        lock.release()
    _held.clear()
    _registering.release()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
