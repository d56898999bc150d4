from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bench.check import UnsuitableClip
from bench.mount import corpora
from bench.mount.corpora import Corpus
from bench.worker import digest
from decoder import FrameReader
from tests.clips import write_clip


def test_the_same_frames_in_all_ways(corpus: Corpus) -> None:
    assert corpus.frame_counts == {"one": 60, "two": 45}
    assert corpus.shape == (96, 128, 3)
    for kind in ("native", "ddra"):
        with FrameReader(corpus.folder / kind / "one.mp4") as reader:
            found = [digest(image) for image in reader.read(range(60))]
        assert found == corpus.truth[kind]["one"]
    for kind, extension in (("png", "png"), ("jpg", "jpg")):
        with Image.open(corpus.folder / kind / "two" / f"000044.{extension}") as image:
            assert digest(np.asarray(image)) == corpus.truth[kind]["two"][44]
    assert corpus.truth["png"] == corpus.truth["native"]
    for digests in corpus.truth.values():
        assert len(set(digests["one"])) == 60, "no two frames are alike"


def test_the_re_encoding_is_what_it_is_said_to_be(corpus: Corpus) -> None:
    with FrameReader(corpus.folder / "ddra" / "one.mp4") as reader:
        types = [reader.index.frame(n).picture_type for n in range(60)]
        assert types[:17] == ["I", *["B"] * 15, "I"]
        for n in range(1, 48):
            assert reader.plan([n]).real <= 3


def test_it_is_made_once(corpus: Corpus, videos: list[Path], kept: Path) -> None:
    said: list[str] = []
    assert corpora.prepare(kept, videos, None, said.append) == corpus
    assert said == []
    assert corpora.prepare(kept, videos[:1], None, said.append).folder != corpus.folder
    assert said


def test_another_size(videos: list[Path], kept: Path) -> None:
    small = corpora.prepare(kept, videos[1:], (64, 48), lambda words: None)
    assert small.shape == (48, 64, 3)
    with FrameReader(small.folder / "native" / "two.mp4") as reader:
        assert reader.shape == (48, 64, 3)
    assert small.bytes_per_frame("native") > 0


def test_clips_of_different_sizes_are_refused(videos: list[Path], tmp_path: Path) -> None:
    other = write_clip(tmp_path / "three.mp4", frames=20, size=(64, 48))
    with pytest.raises(UnsuitableClip, match="different sizes"):
        corpora.prepare(tmp_path / "kept", [videos[0], other], None, lambda words: None)


def test_what_is_no_video_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.mp4"
    file.write_text("no video")
    with pytest.raises(UnsuitableClip):
        corpora.prepare(tmp_path / "kept", [file], None, lambda words: None)
