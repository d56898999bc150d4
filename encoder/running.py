"""A corpus encoded by an engine, unit by unit, each written down when it is in place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

from decoder.corpus import source_at
from decoder.errors import DecoderError
from encoder.corpus import Unit
from encoder.errors import EncoderError, TargetFailed
from encoder.manifest import Manifest
from encoder.partial import remove_leftovers
from encoder.unit import Outcome, transcode
from engines import Broken, Engine, Pulse, Watch


@dataclass(frozen=True, slots=True)
class Failed:
    """A unit without a result, and why."""

    unit: Unit
    reason: str


@dataclass(frozen=True, slots=True)
class Made:
    """A unit that is in place and in the manifest."""

    unit: Unit
    outcome: Outcome


class TranscodeJob:
    """Encodes one unit; an `engines.Job`, and a function of the unit.

    Args:
        out: folder of the results.
    """

    def __init__(self, out: str) -> None:
        self._out = out

    def __call__(self, item: Unit, pulse: Pulse) -> Outcome | str:
        """What came of it, or why nothing did."""
        path = item.source.path
        target = os.path.join(self._out, item.target)
        try:
            if source_at(path) != item.source:
                return f"{path}: was changed since the run began; run again when it is complete"
            os.makedirs(os.path.dirname(target), exist_ok=True)
            return transcode(path, target, item.settings, stop=pulse, progress=pulse.report)
        except (EncoderError, DecoderError) as error:
            return str(error)
        except OSError as error:
            return f"{path}: {target} cannot be written ({error.strerror}); make room for it"


def run(
    units: Iterable[Unit],
    out: str,
    manifest: Manifest,
    engine: Engine,
    watch: Watch[Unit] | None = None,
) -> Generator[Made | Failed, None, None]:
    """Encodes ``units``; what comes of each, as soon as it is known.

    However it ends, nothing half done is visible in ``out``: what is being written has a hidden
    name, and is removed when the iterator is closed, or else by the next run. Only this process
    writes to the manifest.

    Args:
        out: folder of the results, that of ``manifest``.
    """
    unwritten: list[Failed] = []

    def begun() -> Iterator[Unit]:
        for unit in units:
            try:
                manifest.begin(unit.target, unit.source.path)
            except TargetFailed as error:
                unwritten.append(Failed(unit, str(error)))
            else:
                yield unit

    tidy(out, manifest)
    try:
        with contextlib.closing(engine.run(TranscodeJob(out), begun(), watch)) as results:
            for unit, result in results:
                yield _settled(unit, result, manifest)
                while unwritten:
                    yield unwritten.pop()
        yield from unwritten
    finally:
        tidy(out, manifest)


def tidy(out: str, manifest: Manifest) -> None:
    """Removes what an interrupted run has left below ``out``, of what ``manifest`` knows."""
    # Of those that are done as well: an attempt before the one that did it may have been killed.
    remove_leftovers(os.path.join(out, target) for target in manifest.known())


def _settled(unit: Unit, result: Outcome | str | Broken, manifest: Manifest) -> Made | Failed:
    if isinstance(result, Outcome):
        try:
            manifest.finish(unit.target, result)
        except TargetFailed as error:
            return Failed(unit, f"{unit.source.path}: encoded, but {error}")
        return Made(unit, result)
    if isinstance(result, Broken):
        return Failed(unit, f"{unit.source.path}: {result.reason}")
    return Failed(unit, result)
