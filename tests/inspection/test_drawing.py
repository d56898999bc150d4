from __future__ import annotations

import sys
from pathlib import Path

import pytest

from decoder.corpus import Source, source_at
from decoder.index import SourceIndex
from decoder.indexing import index_source
from decoder.scan import scan
from inspection.drawing import PlotsMissing, draw_model, draw_source
from inspection.report import request
from tests.clips import write_clip


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> SourceIndex:
    path = tmp_path_factory.mktemp("long") / "long.mp4"
    write_clip(path, frames=300, size=(64, 48), options={"preset": "ultrafast", "bf": "2"})
    return index_source(source_at(str(path)))


@pytest.mark.parametrize(("suffix", "frames"), [("svg", None), ("png", [17, 40])])
def test_short_source(
    index: SourceIndex, tmp_path: Path, suffix: str, frames: list[int] | None
) -> None:
    path = tmp_path / f"out.{suffix}"
    draw_source(str(path), "clip", index, request(index, frames) if frames else None)
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if suffix == "png" else b"<?xml" in start


@pytest.mark.parametrize("frames", [None, [0, 250]])
def test_long_source_is_drawn_as_a_whole(
    long: SourceIndex, tmp_path: Path, frames: list[int] | None
) -> None:
    path = tmp_path / "out.svg"
    draw_source(str(path), "clip", long, request(long, frames) if frames else None)
    # its pictures are not drawn one by one
    assert path.stat().st_size < 2_000_000


def test_source_without_references(source: Source, tmp_path: Path) -> None:
    index = scan(source, fallback="a reason")
    draw_source(str(tmp_path / "out.png"), "clip", index, request(index, [40]))


def test_model(tmp_path: Path) -> None:
    draw_model(str(tmp_path / "model.svg"))
    assert (tmp_path / "model.svg").stat().st_size > 1000


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        draw_model(str(tmp_path / "none" / "model.svg"))


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(PlotsMissing, match=r"pip install 'framefs\[plots\]'"):
        draw_model(str(tmp_path / "model.svg"))
