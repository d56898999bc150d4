from __future__ import annotations

import os
from pathlib import Path

import av
import pytest

from bench.__main__ import main
from bench.sets import NAMES, NoClips, clips_of
from tests.clips import write_clip


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    robot = tmp_path / "robot"
    robot.mkdir()
    write_clip(robot / "native264_Door.mp4", frames=30, gop=10, b_frames=2)
    monkeypatch.setenv("FRAMEFS_CORPUS", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_recorded_sets_are_those_of_the_corpus_else_the_sample(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert clips_of("native264") == [str(corpus / "robot" / "native264_Door.mp4")]
    with pytest.raises(NoClips, match="native265"):
        clips_of("native265")
    monkeypatch.delenv("FRAMEFS_CORPUS")
    assert [Path(path).name for path in clips_of("native265")] == ["native265_Door_frontview.mp4"]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("svtav1")])
def test_encoded_sets_are_made_once(name: str, corpus: Path) -> None:
    told: list[str] = []
    (path,) = clips_of(name, told.append)
    assert len(told) == 1
    with av.open(path) as container:
        frames = list(container.decode(video=0))
        assert container.streams.video[0].codec_context.codec.canonical_name == "av1"
    assert len(frames) == 30
    assert sum(frame.key_frame for frame in frames) == (15 if name.endswith("g2") else 1)
    made = os.stat(path)
    assert clips_of(name, told.append) == [path]
    assert (len(told), os.stat(path)) == (1, made)
    assert os.listdir(Path(path).parent) == [Path(path).name]


def test_a_set_is_measured(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--batches", "1", "--repeats", "1", "--peers", "framefs,pyav", "--no-profile"]
    assert main(["--set", "svtav1", "--patterns", "contiguous", *short]) == 0
    shown = capsys.readouterr()
    assert "Door.mp4" in shown.err
    assert "x framefs" in shown.out


def test_a_set_without_clips_is_wrong_use(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--set", "native265"]) == 2
    assert "no native265_*" in capsys.readouterr().err
