"""All encodings of a clip, read in turn: by a process for each, every batch by all of them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.check import Reference
from bench.encodings.shelf import Encoded
from bench.encodings.ways import Way
from bench.patterns import Batch, batches
from bench.remote import Remote

SIZES = {"random": 8, "contiguous": 10, "stride30": 5}
"""Frames of a batch, by pattern."""

_LEAST = 40.0
"""dB from which an image that another library converted to RGB may be the right one."""


class WrongFrame(Exception):
    """A frame is not what a full decode of the same encoding gives."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading of one batch.

    Attributes:
        ms: by the clock, of the batch.
        pictures: reconstructed for it; None where the reader does not tell.
    """

    clip: str
    way: str
    pattern: str
    batch: int
    frames: int
    ms: float
    pictures: int | None


class Readers(contextlib.ExitStack):
    """A process for each of ``ways``; a context manager.

    Attributes:
        missing: why a way cannot be read here, by its name: its library is not there.
    """

    def __init__(self, ways: Sequence[Way]) -> None:
        super().__init__()
        self.missing: dict[str, str] = {}
        self._remotes: dict[str, Remote] = {}
        for way in ways:
            remote = self.enter_context(Remote(way.peer))
            if why_not := remote.ask("about")["why_not"]:
                self.missing[way.name] = why_not
            else:
                self._remotes[way.name] = remote

    def read(
        self, clip: str, encoded: Mapping[str, Encoded], number: int, repeats: int, seed: str
    ) -> list[Sample]:
        """Reads ``number`` batches of each pattern ``repeats`` times.

        The batches of a pass are in a random order. Each is read by A B C, the next one by B C A.

        Raises:
            WrongFrame: see there.
            PeerFailed: a reader cannot.
        """
        total = len(next(iter(encoded.values())).digests)
        asked = [
            batch
            for pattern, size in SIZES.items()
            for batch in batches(
                total, patterns=[pattern], number=number, size=size, seed=f"{seed} {clip}"
            )
        ]
        for name, remote in self._remotes.items():
            remote.ask("open", path=encoded[name].path)
            for batch in asked[:2]:  # what it does once is done then
                remote.ask("read", frames=list(batch.frames))
        samples = []
        names = list(self._remotes)
        for repeat in range(repeats):
            order = random.Random(f"{seed} {repeat}").sample(asked, len(asked))
            for turn, batch in enumerate(order):
                first = (turn + repeat) % len(names)
                samples += [
                    self._sample(clip, name, batch, encoded[name])
                    for name in names[first:] + names[:first]
                ]
        return samples

    def _sample(self, clip: str, name: str, batch: Batch, encoded: Encoded) -> Sample:
        remote = self._remotes[name]
        answer = remote.ask("read", frames=list(batch.frames))
        differ = [
            (place, n)
            for place, (n, digest) in enumerate(zip(batch.frames, answer["digests"], strict=True))
            if digest != encoded.digests[n]
        ]
        if differ:
            self._judge(remote, encoded, differ, answer["shape"])
        return Sample(
            clip,
            name,
            batch.pattern,
            batch.number,
            len(batch.frames),
            answer["ms"],
            answer["counts"].get("reconstructed"),
        )

    def _judge(
        self,
        remote: Remote,
        encoded: Encoded,
        differ: Sequence[tuple[int, int]],
        shape: Sequence[int],
    ) -> None:
        if remote.name != "torchcodec":
            raise WrongFrame(f"{encoded.path}: frame {differ[0][1]} differs from a full decode")
        reference = Reference(encoded.path, [n for _, n in differ], least=_LEAST)
        for place, n in differ:
            verdict = reference.judge(n, remote.image(place, shape))
            if not verdict.right:
                raise WrongFrame(f"{encoded.path}: frame {n}, {verdict.psnr:.1f} dB")
