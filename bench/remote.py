"""A peer in its own process, seen from the benchmark."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)


class PeerFailed(Exception):
    """A peer could not do what it was asked, in its own words."""


class PeerDied(PeerFailed):
    """The process of a peer ended or did not answer; it is of no use any more."""


class Remote:
    """Starts ``python -m bench.worker NAME`` and asks it things; a context manager.

    Args:
        name: of the peer.
        python: interpreter of the environment that has the peer, by default this one.
        patience: seconds until an answer is given up.
    """

    def __init__(self, name: str, python: str | None = None, *, patience: float = 300) -> None:
        self.name = name
        self._patience = patience
        here = str(Path(__file__).parent.parent)
        paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 closed by close()
        try:
            self._process = subprocess.Popen(
                [python or sys.executable, "-m", "bench.worker", name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env={**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)},
            )
        except OSError as error:
            self._log.close()
            raise PeerDied(f"{python} cannot be started: {error.strerror}") from error

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """One request and its answer.

        Raises:
            PeerFailed: the peer says that it could not.
            PeerDied: there is no answer.
        """
        answer, _ = self._ask({"do": do, **request})
        return answer

    def image(self, place: int, shape: Sequence[int]) -> NDArray[np.uint8]:
        """One frame of the batch that was read last. Raises as `ask`."""
        _, content = self._ask({"do": "send", "place": place})
        return np.frombuffer(content, np.uint8).reshape(shape)

    def close(self) -> None:
        """Ends the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def __enter__(self) -> Remote:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        guard = threading.Timer(self._patience, self._process.kill)
        guard.start()
        try:
            requests.write(json.dumps(request).encode() + b"\n")
            requests.flush()
            line = answers.readline()
            answer = json.loads(line) if line else None
            content = answers.read(answer["bytes"]) if answer else b""
        except (BrokenPipeError, ValueError):
            answer, content = None, b""
        finally:
            guard.cancel()
        if answer is None or len(content) != answer["bytes"]:
            raise PeerDied(f"its process ended: {self._last_words()}")
        if "error" in answer:
            raise PeerFailed(answer["error"])
        return answer, content

    def _last_words(self) -> str:
        status = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"status {status}{', ' + lines[-1] if lines else ''}"
