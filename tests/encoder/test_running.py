"""Units through an engine, with accidents that cannot be brought about from outside."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

from decoder.corpus import source_at
from encoder.corpus import Unit
from encoder.errors import TargetFailed
from encoder.manifest import Manifest, Records
from encoder.partial import partial_beside, remove_leftovers
from encoder.running import Failed, Made, TranscodeJob, run
from encoder.settings import Settings
from encoder.unit import Outcome
from engines import Broken, Job, Pulse
from tests.clips import write_clip

SETTINGS = Settings.of_profile("fast")


def pulse() -> Pulse:
    return Pulse(multiprocessing.RawArray(ctypes.c_uint64, 4))


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    clip = write_clip(tmp_path / "clip.mkv", frames=20, size=(64, 48))
    return Unit(source_at(str(clip)), "a/clip.mp4", SETTINGS)


def test_a_source_that_was_changed_since_is_left_alone(tmp_path: Path, unit: Unit) -> None:
    os.utime(unit.path, ns=(1, 1))
    result = TranscodeJob(str(tmp_path / "out"))(unit, pulse())
    assert result == (
        f"{unit.path}: was changed since the run began; run again when it is complete"
    )
    assert not (tmp_path / "out").exists()


def test_a_source_that_is_changed_meanwhile_has_no_result(tmp_path: Path, unit: Unit) -> None:
    class Changing(Pulse):
        def report(self, done: int, total: int) -> None:
            os.utime(unit.path, ns=(1, 1))

    result = TranscodeJob(str(tmp_path / "out"))(
        unit, Changing(multiprocessing.RawArray(ctypes.c_uint64, 4))
    )
    assert isinstance(result, str)
    assert result.startswith(f"{unit.path}: ")
    assert "changed" in result
    assert list((tmp_path / "out" / "a").iterdir()) == []


def test_a_source_that_is_gone(tmp_path: Path, unit: Unit) -> None:
    os.unlink(unit.path)
    assert TranscodeJob(str(tmp_path))(unit, pulse()) == f"{unit.path}: No such file or directory"


class Here:
    """Does items in this process, one after the other."""

    def run(
        self, job: Job[Any, Any], items: Iterable[Any], watch: object = None
    ) -> Generator[tuple[Any, Any], None, None]:
        for item in items:
            yield item, job(item, pulse())


class Losing:
    """Loses every item."""

    def run(
        self, job: Job[Any, Any], items: Iterable[Any], watch: object = None
    ) -> Generator[tuple[Any, Any], None, None]:
        for item in items:
            yield item, Broken("it went up in smoke", lost=True)


def test_each_unit_is_begun_made_and_written_down(tmp_path: Path, unit: Unit) -> None:
    out = str(tmp_path / "out")
    with Manifest(out) as manifest:
        ((made),) = run([unit], out, manifest, Here())
    assert isinstance(made, Made)
    assert Records.read(out).done("a/clip.mp4") == made.outcome
    assert made.outcome.bytes_out == (tmp_path / "out" / "a" / "clip.mp4").stat().st_size
    assert made.outcome.frames == 20


def test_what_is_lost_is_told_with_its_source(tmp_path: Path, unit: Unit) -> None:
    with Manifest(str(tmp_path)) as manifest:
        (failed,) = run([unit], str(tmp_path), manifest, Losing())
    assert failed == Failed(unit, f"{unit.path}: it went up in smoke")
    assert Records.read(str(tmp_path)).unfinished() == ["a/clip.mp4"]


@pytest.mark.parametrize("refused", ["begin", "finish"])
def test_what_cannot_be_written_down_fails_and_the_rest_goes_on(
    tmp_path: Path, unit: Unit, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    real = getattr(Manifest, refused)

    def full(self: Manifest, target: str, what: Outcome | str) -> None:
        if target == "a/clip.mp4":
            raise TargetFailed("the manifest: no space")
        real(self, target, what)

    monkeypatch.setattr(Manifest, refused, full)
    other = Unit(unit.source, "b.mp4", SETTINGS)
    out = str(tmp_path / "out")
    with Manifest(out) as manifest:
        results = {
            result.unit.target: result for result in run([unit, other], out, manifest, Here())
        }
    assert isinstance(results["b.mp4"], Made)
    failed = results["a/clip.mp4"]
    assert isinstance(failed, Failed)
    assert "the manifest: no space" in failed.reason
    assert Records.read(out).done("a/clip.mp4") is None


def test_leftovers_go_whether_or_not_their_target_is_done(tmp_path: Path, unit: Unit) -> None:
    out = tmp_path / "out"
    with Manifest(str(out)) as manifest:
        list(run([unit], str(out), manifest, Here()))
    Path(partial_beside(str(out / "a" / "clip.mp4"))).write_text("half")
    foreign = Path(partial_beside(str(out / "a" / "other.mp4")))
    foreign.write_text("of another run with another manifest")
    with Manifest(str(out)) as manifest:
        assert list(run([], str(out), manifest, Here())) == []
    assert sorted((out / "a").iterdir()) == [foreign, out / "a" / "clip.mp4"]


def test_names_of_attempts_differ_and_fit(tmp_path: Path) -> None:
    target = str(tmp_path / ("ä" * 125 + ".mp4"))
    names = {partial_beside(target) for _ in range(100)}
    assert len(names) == 100
    for name in names:
        assert os.path.basename(name).startswith(".")
        Path(name).touch()
    assert remove_leftovers([target, target]) == 100
    assert remove_leftovers([str(tmp_path / "none" / "a.mp4")]) == 0
