"""The loader: ``python -m bench.mount.loader``, as a training program reads its frames.

Worker processes read windows of frames, each frame as a file by its name, with Pillow or numpy,
into an array for each window, and hand it on by copying it, as to the shared memory from which a
training process takes its batches. Knows nothing of framefs; only where it is to show what the
library does without a mount it asks `decoder.FrameReader` for a window at once.

A request is a line of JSON on stdin, the answer a line on stdout. The first says what to read, each
further one starts an epoch over all of it. Frames are hashed when the clock has stopped.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bench.worker import digest

Reading = Callable[[Sequence[str], Sequence[int], NDArray[np.uint8]], None]
"""Reads the frames of a window (files, numbers) into an array [n, H, W, 3]."""

_TRIES = 20


def _images(files: Sequence[str], _: Sequence[int], out: NDArray[np.uint8]) -> None:
    for place, file in enumerate(files):
        with Image.open(file) as image:
            out[place] = np.asarray(image)


def _patiently(files: Sequence[str], _: Sequence[int], out: NDArray[np.uint8]) -> None:
    """As `_images`, where a filesystem gives up (ffmpegfs after 10 s) while it works on."""
    for place, file in enumerate(files):
        for left in reversed(range(_TRIES)):
            try:
                _images([file], [], out[place : place + 1])
                break
            except TimeoutError:
                if not left:
                    raise


def _arrays(files: Sequence[str], _: Sequence[int], out: NDArray[np.uint8]) -> None:
    for place, file in enumerate(files):
        out[place] = np.load(file)


_OPENERS: dict[str, Reading] = {"image": _images, "patient": _patiently, "array": _arrays}


class _Library:
    """Windows read through the library, one request each."""

    def __init__(self, videos: Sequence[str]) -> None:
        from decoder import FrameReader
        from decoder.corpus import source_at

        self._readers = {}
        for video in videos:
            source = source_at(video)
            self._readers[video] = FrameReader(source)

    def __call__(self, files: Sequence[str], frames: Sequence[int], out: NDArray[np.uint8]) -> None:
        reader = self._readers[files[0]]
        place = {n: k for k, n in enumerate(frames)}
        for n, pixels in reader.frames(frames):
            out[place[n]] = pixels.array("rgb24")

    @property
    def counts(self) -> dict[str, int]:
        """What decoding has cost so far."""
        stats = [reader.stats for reader in self._readers.values()]
        names = ("reconstructed", "state_only", "bytes_read")
        return {name: sum(getattr(one, name) for one in stats) for name in names}


def _work(
    opener: str,
    work: list[list[list[Any]]],
    shape: tuple[int, ...],
    pipe: Any,
    gate: Any,
) -> None:
    """One worker: its windows, epoch by epoch, until it is told to end."""
    frames = sum(len(files) for files, _ in work)
    batch = np.empty((frames, *shape), np.uint8)
    batch.fill(0)  # memory that comes fresh from the system costs more than many a frame
    library = None
    if opener == "library":
        library = _Library(sorted({files[0] for files, _ in work}))
    read: Reading = library or _OPENERS[opener]
    # As after the first windows of an epoch: the C library keeps what it has seen to be freed.
    for files, _ in work[:2]:
        np.ones((len(files), *shape), np.uint8)
    pipe.send("ready")
    while pipe.recv():
        answer: dict[str, Any] = {}
        before = library.counts if library else {}
        gate.wait()
        cpu, began = time.process_time(), time.monotonic()
        try:
            place = 0
            for files, numbers in work:
                sample = np.empty((len(files), *shape), np.uint8)
                read(files, numbers, sample)
                batch[place : place + len(files)] = sample
                place += len(files)
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {error}"
        answer |= {"began": began, "ended": time.monotonic(), "cpu": time.process_time() - cpu}
        after = library.counts if library else {}
        answer["counts"] = {name: after[name] - before[name] for name in after}
        gate.wait()
        answer["digests"] = [digest(image) for image in batch]
        pipe.send(answer)
        batch.fill(0)


def run(request: dict[str, Any], lines: Any, answers: Any) -> None:
    """Starts the workers, and runs epochs until there are no more requests."""
    context = multiprocessing.get_context("fork")
    work = request["work"]
    gate = context.Barrier(len(work), timeout=request["patience"])
    pipes, processes = [], []
    for one in work:
        mine, theirs = context.Pipe()
        arguments = (request["opener"], one, tuple(request["shape"]), theirs, gate)
        process = context.Process(target=_work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        pipes.append(mine)
        processes.append(process)
    _answer(answers, {"workers": [pipe.recv() for pipe in pipes]})
    for _ in lines:
        for pipe in pipes:
            pipe.send(True)
        _answer(answers, {"workers": [pipe.recv() for pipe in pipes]})
    for pipe, process in zip(pipes, processes, strict=True):
        pipe.send(False)
        process.join()


def _answer(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def main() -> None:
    """The command."""
    # What libraries print is not for the one who asks.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    run(json.loads(sys.stdin.readline()), sys.stdin, answers)


if __name__ == "__main__":
    main()
