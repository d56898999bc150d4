from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from encoder.errors import TargetFailed
from encoder.manifest import NAME, InUse, Manifest, Records
from encoder.settings import Settings
from encoder.unit import Outcome

SETTINGS = Settings.of_profile("fast")


def outcome(size: int, source: str = "/videos/a.mkv", psnr: float = 41.5) -> Outcome:
    return Outcome(
        source=source, fingerprint="9-7", settings=SETTINGS, bytes_in=9, bytes_out=size, frames=3,
        psnr=psnr, ssim=0.98, bound=3, mean_closure=2.5, interval=[16, 3], crf=18.0, seconds=0.5,
        notes=["a note"],
    )  # fmt: skip


def made(folder: Path, target: str = "a.mp4", content: bytes = b"12345") -> Outcome:
    """Puts a file in place and writes it down."""
    result = outcome(len(content))
    with Manifest(str(folder)) as manifest:
        manifest.begin(target, "/videos/a.mkv")
        (folder / target).write_bytes(content)
        manifest.finish(target, result)
    return result


def test_what_is_done_is_known_to_the_next_run(tmp_path: Path) -> None:
    result = made(tmp_path / "new" / "folder")
    with Manifest(str(tmp_path / "new" / "folder")) as manifest:
        assert manifest.done("a.mp4") == result
        assert manifest.is_ours("a.mp4")
        assert manifest.unfinished() == []
        assert manifest.done("b.mp4") is None
        assert not manifest.is_ours("b.mp4")


def test_each_line_is_json_that_tells_all(tmp_path: Path) -> None:
    made(tmp_path)
    begun, done = map(json.loads, (tmp_path / NAME).read_text().splitlines())
    assert (begun["line"], begun["target"], begun["source"]) == ("begun", "a.mp4", "/videos/a.mkv")
    assert (done["line"], done["target"]) == ("done", "a.mp4")
    told = done["outcome"]
    assert (told["fingerprint"], told["bytes_out"], told["psnr"]) == ("9-7", 5, 41.5)
    assert told["settings"]["profile"] == "fast"
    assert (told["bound"], told["seconds"]) == (3, 0.5)


def test_what_was_begun_only_is_ours_and_not_done(tmp_path: Path) -> None:
    with Manifest(str(tmp_path)) as manifest:
        manifest.begin("a.mp4", "/videos/a.mkv")
        manifest.begin("a.mp4", "/videos/a.mkv")
    assert len((tmp_path / NAME).read_text().splitlines()) == 1
    (tmp_path / "a.mp4").write_bytes(b"12345")
    with Manifest(str(tmp_path)) as manifest:
        assert manifest.is_ours("a.mp4")
        assert manifest.unfinished() == ["a.mp4"]
        assert manifest.done("a.mp4") is None


@pytest.mark.parametrize("length", range(1, 60, 7))
def test_a_torn_last_line_is_as_if_it_was_never_written(tmp_path: Path, length: int) -> None:
    made(tmp_path)
    path = tmp_path / NAME
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:length])
    with Manifest(str(tmp_path)) as manifest:
        assert manifest.done("a.mp4") is not None
        assert manifest.unreadable == []
    assert path.read_bytes() == whole
    # whoever only reads leaves it alone
    path.write_bytes(whole + whole[:length])
    assert Records.read(str(tmp_path)).done("a.mp4") is not None
    assert path.read_bytes() == whole + whole[:length]


def test_a_torn_line_is_no_line_though_all_but_its_end_is_there(tmp_path: Path) -> None:
    made(tmp_path)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-1])
    with Manifest(str(tmp_path)) as manifest:
        assert manifest.done("a.mp4") is None
        assert manifest.unfinished() == ["a.mp4"]


def test_lines_that_make_no_sense_are_passed_over_and_counted(tmp_path: Path) -> None:
    made(tmp_path)
    path = tmp_path / NAME
    path.write_bytes(b'\0\0\0\n{"line": "later"}\n[]\n' + path.read_bytes() + b"\xff\n")
    with Manifest(str(tmp_path)) as manifest:
        assert manifest.done("a.mp4") is not None
        assert manifest.unreadable == [1, 2, 3, 6]


def test_a_line_whose_file_is_gone_or_another_is_void(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "a.mp4").write_bytes(b"123456")
    with Manifest(str(tmp_path)) as manifest:
        assert manifest.done("a.mp4") is None
        assert manifest.is_ours("a.mp4")
    (tmp_path / "a.mp4").unlink()
    assert Records.read(str(tmp_path)).done("a.mp4") is None


def test_the_last_line_of_a_file_counts(tmp_path: Path) -> None:
    made(tmp_path)
    later = made(tmp_path, content=b"123")
    assert Records.read(str(tmp_path)).done("a.mp4") == later


def test_names_need_not_be_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \n\xf0\x9f\x8e\xac.mp4")
    made(tmp_path, target=name)
    assert Records.read(str(tmp_path)).done(name) is not None


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with Manifest(str(tmp_path)):
        with pytest.raises(InUse, match="another framefs transcode writes there; wait"):
            Manifest(str(tmp_path))
        Records.read(str(tmp_path))
    with Manifest(str(tmp_path)):
        pass


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    before = (tmp_path / NAME).read_bytes()

    def full(file: int, content: bytes) -> int:
        return real(file, content[:10])

    def gone(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    real = os.write
    with Manifest(str(tmp_path)) as manifest:
        for name, failing, words in (("write", full, "No space left"), ("fsync", gone, "Input")):
            with monkeypatch.context() as patch:
                patch.setattr(os, name, failing)
                with pytest.raises(TargetFailed, match=words):
                    manifest.begin("b.mp4", "/videos/b.mkv")
            assert (tmp_path / NAME).read_bytes() == before
            assert not manifest.is_ours("b.mp4")
        manifest.begin("b.mp4", "/videos/b.mkv")
    assert Records.read(str(tmp_path)).unfinished() == ["b.mp4"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetFailed, match="Not a directory"):
        Manifest(str(tmp_path / "file" / "folder"))
    assert Records.read(str(tmp_path / "nothing")).unfinished() == []
