"""Encoders wait for their turn like anybody else."""

from __future__ import annotations

import os
from contextlib import suppress


def yield_to_others() -> None:
    """Takes real-time priority back from all threads of this process.

    SVT-AV1 gives it to its own, and to the one that opens it, where it may, as root may: nothing
    else on the machine runs then until it has nothing to do.
    """
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError):  # it has ended meanwhile
            if os.sched_getscheduler(int(thread)) in (os.SCHED_FIFO, os.SCHED_RR):
                os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))
