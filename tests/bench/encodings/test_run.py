"""Whole runs on a small clip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from bench.encodings import shelf
from bench.encodings.__main__ import main
from bench.encodings.reading import Readers, WrongFrame
from bench.encodings.ways import WAYS
from encoder.errors import EncoderError
from tests.clips import write_clip

_WAYS = ("jpeg", "fast", "h264-4", "small")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clips") / "one.mp4", frames=130, gop=30)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


def run(clip: Path, kept: Path, output: Path, *arguments: str) -> tuple[int, Any]:
    made = ["--clips", str(clip), "--ways", ",".join(_WAYS), "--folder", str(kept)]
    status = main([*made, "--json", str(output), "--batches", "1", "--repeats", "2", *arguments])
    return status, json.loads(output.read_text()) if output.exists() else None


def test_all_are_of_one_psnr_and_are_read_as_they_are(
    clip: Path, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = run(clip, kept, tmp_path / "out.json")
    shown = capsys.readouterr()
    assert status == 0, shown
    assert "DDRA H264, T = 4" in shown.out
    encoded = found["encoded"]["one"]
    assert set(encoded) == {"lerobot", *_WAYS}
    for way in ("fast", "h264-4", "small"):
        assert abs(encoded[way]["psnr"] - encoded["lerobot"]["psnr"]) <= 0.18
        read = found["by_clip"]["one"][way]["readings"]
        assert set(read) == {"random", "contiguous", "stride30"}
        assert all(reading["ms"] > 0 for reading in read.values())
    assert found["by_clip"]["one"]["h264-4"]["readings"]["random"]["pictures"] <= 3
    assert set(found["surplus"]["fast"]) == {"one"}


def test_encodings_are_made_once(
    clip: Path, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run(clip, kept, tmp_path / "before.json", "--no-read")[1]

    def no_more(*_: object, **__: object) -> None:
        raise AssertionError("it is there already")

    monkeypatch.setattr(shelf, "transcode", no_more)
    monkeypatch.setattr(shelf, "encode", no_more)
    status, after = run(clip, kept, tmp_path / "after.json", "--no-read")
    assert status == 0
    assert after["encoded"] == before["encoded"]
    assert after["samples"] == []


def test_a_wrong_frame_is_an_error(clip: Path, kept: Path) -> None:
    ways = [WAYS["fast"]]
    encoded = {"fast": shelf.Shelf(kept).encoded(clip, ways)["fast"]}
    with Readers(ways) as readers:
        assert readers.read("one", encoded, 1, 1, "seed")
        encoded["fast"].digests.reverse()
        with pytest.raises(WrongFrame, match="frame"):
            readers.read("one", encoded, 1, 1, "seed")


def test_what_cannot_be_encoded_is_told_in_one_line(
    clip: Path,
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise EncoderError("the encoder is ill")

    monkeypatch.setattr(shelf, "transcode", fails)
    status, found = run(clip, tmp_path / "empty", tmp_path / "out.json", "--no-read")
    assert (status, found) == (1, None)
    assert capsys.readouterr().err == "bench: the encoder is ill\n"
    assert main(["--clips", str(tmp_path / "none.mp4")]) == 2


def test_every_other_frame_of_lerobot_is_a_key_frame(clip: Path, kept: Path) -> None:
    found = shelf.Shelf(kept).encoded(clip, [])["lerobot"]
    with av.open(found.path) as container:
        keys = [packet.is_keyframe for packet in container.demux(video=0) if packet.size]
    np.testing.assert_array_equal(keys, [n % 2 == 0 for n in range(130)])
