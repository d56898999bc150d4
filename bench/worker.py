"""The process of one peer: ``python -m bench.worker NAME``, driven by `bench.remote`.

Libraries that bring an FFmpeg each are not loaded into one process, and may come from different
environments: besides the peer only numpy is needed here. A request is a line of JSON on stdin; the
answer a line of JSON on stdout, followed by as many bytes as it says under "bytes".
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bench import stages
from bench.peers import Peer, load
from bench.peers.peer import words

Answer = dict[str, Any]


def digest(image: NDArray[np.uint8]) -> str:
    """Stands for one image with its size."""
    head = f"{image.shape}".encode()
    return hashlib.blake2b(head + np.ascontiguousarray(image).tobytes(), digest_size=12).hexdigest()


class Worker:
    """Does what it is asked, with one peer."""

    def __init__(self, kind: type[Peer]) -> None:
        self._kind = kind
        self._peer: Peer | None = None
        self._frames: NDArray[np.uint8] = np.empty((0, 0, 0, 3), np.uint8)

    def answer(self, request: Mapping[str, Any]) -> tuple[Answer, bytes]:
        """The answer and the bytes that follow it; "error" in place of what was not possible."""
        try:
            match request["do"]:
                case "about":
                    found = self._kind.available()
                    return {"versions": found.versions, "why_not": found.why_not}, b""
                case "open":
                    return self._open(request["path"]), b""
                case "read":
                    return self._read(request["frames"]), b""
                case "send":
                    return {}, np.ascontiguousarray(self._frames[request["place"]]).tobytes()
                case "profile":
                    return self._profile(request["batches"]), b""
                case "floor":
                    return stages.floor(request["path"]), b""
                case other:
                    raise ValueError(f"unknown request {other}")
        except Exception as error:
            return {"error": words(error)}, b""

    def _open(self, path: str) -> Answer:
        if self._peer is not None:
            self._peer.close()
            self._peer = None
        peer = self._kind()
        began = time.perf_counter()
        peer.open(path)
        self._peer = peer
        return {"ms": (time.perf_counter() - began) * 1e3}

    def _read(self, frames: Sequence[int]) -> Answer:
        peer = self._opened()
        self._frames = np.empty((0, 0, 0, 3), np.uint8)  # memory given back before the clock runs
        before = peer.counts()
        cpu, began = time.process_time(), time.perf_counter()
        result = peer.read(frames)
        ms, cpu_ms = (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3
        after = peer.counts()
        if result.dtype != np.uint8 or result.ndim != 4 or len(result) != len(frames):
            raise ValueError(f"{result.dtype} {list(result.shape)} for {len(frames)} frames")
        self._frames = result
        return {
            "ms": ms,
            "cpu_ms": cpu_ms,
            "counts": {name: after[name] - before[name] for name in after},
            "shape": list(result.shape[1:]),
            "digests": [digest(image) for image in result],
        }

    def _profile(self, batches: Sequence[Sequence[int]]) -> Answer:
        peer = self._opened()

        def call() -> None:
            for frames in batches:
                peer.read(frames)

        call()  # so that each call begins where the one before has left the reader
        before = peer.counts()
        found = stages.profile(call)
        after = peer.counts()
        found["counts"] = {name: (after[name] - before[name]) / 2 for name in after}
        return found

    def _opened(self) -> Peer:
        if self._peer is None:
            raise ValueError("no file is open")
        return self._peer


def serve(worker: Worker, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers until there are no more requests."""
    for line in requests:
        answer, content = worker.answer(json.loads(line))
        answer["bytes"] = len(content)
        answers.write(json.dumps(answer).encode() + b"\n" + content)
        answers.flush()


def main() -> None:
    """The command."""
    # Libraries write to stdout as they like: they get stderr there.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(Worker(load(sys.argv[1])), sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
