from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.check import Reference, Verdict

SHORT = ["--batches", "2", "--repeats", "2", "--peers", "framefs,pyav"]


def test_a_whole_run(clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.json"
    status = main(["--clips", str(clip.parent / "*.mp4"), "--json", str(output), *SHORT])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    assert "x framefs" in shown.out
    assert "too few for stride30" in shown.err
    found = json.loads(output.read_text())
    assert set(found["summary"]) == {"contiguous", "stride5", "random", "mean"}
    assert set(found["summary"]["mean"]) == {"framefs", "pyav"}
    assert len(found["samples"]) == 3 * 2 * 2 * 2
    assert all(sample["ms"] > 0 for sample in found["samples"])
    assert found["checks"]["framefs"]["exact"] == found["checks"]["pyav"]["exact"] > 20
    assert set(found["profiles"]) == {"contiguous", "stride5", "random"}
    assert found["profiles"]["random"][0]["counts"]["reconstructed"] > 10
    assert found["summary"]["mean"]["framefs"]["reconstructed"] > 10
    assert found["faults"] == []


def test_wrong_frames_end_with_1(
    clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Reference, "is_exact", lambda self, n, digest: n % 2 == 0)
    monkeypatch.setattr(Reference, "judge", lambda self, n, image: Verdict("wrong", 20.0, n + 1))
    status = main(["--clips", str(clip), "--patterns", "contiguous", "--no-profile", *SHORT])
    assert status == 1
    assert "20.0 dB, shows frame" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clips", "/nowhere/*.mp4"], "there is no file"),
        (["--clips", __file__, "--peers", "nobody"], "there is no 'nobody'"),
        (["--clips", __file__, "--peers", "pyav"], "cannot be decoded"),
        (["--clips", __file__, "--python", "pyav"], "PEER=FILE"),
        (
            ["--clips", __file__, "--peers", "pyav", "--python", "pyav=/nowhere"],
            "cannot be started",
        ),
        ([], "--clips"),
        (["--set", "nothing"], "nothing"),
    ],
)
def test_wrong_use_ends_with_2_and_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_a_clip_too_short_for_all_patterns_says_so(
    clip: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--clips", str(clip), "--patterns", "stride30", "--peers", "pyav"]
    assert main(arguments) == 2
    assert "nothing was measured" in capsys.readouterr().err
