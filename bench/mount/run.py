"""All measurements: every kind of data in turn, again and again, and what came of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.mount.accept import accepting
from bench.mount.corpora import Corpus
from bench.mount.data import Data, copy_files, opened
from bench.mount.filesystems import FilesystemFailed
from bench.mount.measure import Epoch, Loader, LoaderFailed
from bench.mount.patterns import Window, windows

CACHED, LIMITED = "cached", "limited"
STORAGES = (CACHED, LIMITED)
"""What is stored is in the page cache; or comes from storage of limited speed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured.

    Attributes:
        data, patterns, workers, storages: each with each.
        number: see `bench.mount.patterns.windows`.
        repeats: of everything.
        epochs: over the same windows, from the same mount.
        rate: bytes a second of limited storage.
        options: of framefs, for ``-o``.
    """

    data: Sequence[Data]
    patterns: Sequence[str]
    workers: Sequence[int]
    storages: Sequence[str]
    number: int
    repeats: int
    epochs: int
    rate: int
    seed: str
    options: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of the tables, less what is compared in it."""

    storage: str
    pattern: str
    workers: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement of one kind of data."""

    case: Case
    data: str
    repeat: int
    epochs: tuple[Epoch, ...]


@dataclass(slots=True)
class Results:
    """Everything that was measured, and (case, data, why) of what could not be."""

    samples: list[Sample] = field(default_factory=list)
    failures: list[tuple[Case, str, str]] = field(default_factory=list)


def measure(plan: Plan, corpus: Corpus, scratch: Path, say: Callable[[str], None]) -> Results:
    """Measures everything; ``say`` is told what comes next."""
    results = Results()
    made = {
        pattern: windows(pattern, corpus.frame_counts, number=plan.number, seed=plan.seed)
        for pattern in plan.patterns
    }
    _prepare(plan, corpus, made, scratch, say)
    broken: set[tuple[Case, str]] = set()
    for repeat in range(plan.repeats):
        for case in _cases(plan):
            if not made[case.pattern]:
                continue
            first = repeat % len(plan.data)
            for data in [*plan.data[first:], *plan.data[:first]]:
                if not _applies(data, case) or (case, data.name) in broken:
                    continue
                say(
                    f"{repeat + 1}/{plan.repeats} {case.storage} {case.pattern} "
                    f"{case.workers} workers: {data.name}"
                )
                try:
                    epochs = _one(plan, data, case, corpus, made[case.pattern], scratch)
                except (FilesystemFailed, LoaderFailed) as error:
                    broken.add((case, data.name))
                    results.failures.append((case, data.name, str(error)))
                    continue
                results.samples.append(Sample(case, data.name, repeat, epochs))
    return results


def _cases(plan: Plan) -> Iterator[Case]:
    for storage in plan.storages:
        for pattern in plan.patterns:
            for workers in plan.workers:
                yield Case(storage, pattern, workers)


def _applies(data: Data, case: Case) -> bool:
    """Files from memory, the library and a copy are for comparison where all is cached."""
    others = data.server == "memory" or data.opener == "library" or data.name == "copy"
    return case.storage == CACHED or not others


def _prepare(
    plan: Plan,
    corpus: Corpus,
    made: dict[str, list[Window]],
    scratch: Path,
    say: Callable[[str], None],
) -> None:
    """Copies what is needed from a mount, and has every mount find its indexes."""
    if any(data.name in ("copy", "memory") for data in plan.data):
        say("copying files from a mount")
        needed: dict[str, set[int]] = {}
        for window in (window for several in made.values() for window in several):
            needed.setdefault(window.clip, set()).update(window.frames)
        copy_files(corpus, needed, scratch, plan.options)
    for storage in plan.storages:
        for kind in dict.fromkeys(d.kind for d in plan.data if d.server == "framefs"):
            say(f"indexes of {kind}, {storage}")
            data = next(d for d in plan.data if d.server == "framefs" and d.kind == kind)
            rate = None if storage == CACHED else 1 << 40
            with opened(data, corpus, scratch, rate=rate, options=plan.options) as mount:
                for clip in corpus.frame_counts:
                    Path(mount.file(clip, 0)).stat()


def _one(
    plan: Plan,
    data: Data,
    case: Case,
    corpus: Corpus,
    made: Sequence[Window],
    scratch: Path,
) -> tuple[Epoch, ...]:
    rate = None if case.storage == CACHED else plan.rate
    with opened(data, corpus, scratch, rate=rate, options=plan.options) as mount:
        frames: dict[str, list[int]] = {}
        for window in made:
            frames.setdefault(window.clip, []).extend(window.frames)
        accept = accepting(mount, corpus, frames)
        if data.server == "framefs":
            # A loader has seen every clip when it begins: it knows how many frames there are.
            for clip in frames:
                Path(mount.file(clip, 0)).stat()
        loader = Loader(mount, made, case.workers, corpus.shape, accept)
        with loader.running():
            return tuple(loader.epoch() for _ in range(plan.epochs))
