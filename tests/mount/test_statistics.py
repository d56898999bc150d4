"""What a real mount tells of itself, and ``framefs stats``."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import FRAMEFS, run, the_line
from tests.clips import write_clip
from tests.mounting import mounted
from tests.vfs.conftest import require_fuse
from vfs.report import SIZE

HIDDEN = ".framefs/stats.json"

NONE = {"count": 0}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_clip(folder / "a.mp4", frames=40, gop=20, b_frames=2)
    write_clip(folder / "b.mp4", frames=10)
    return folder


@pytest.fixture
def mount(corpus: Path, fuse: None) -> Iterator[Path]:
    with mounted(corpus) as folder:
        yield folder


@pytest.fixture(params=["libfuse3", "libfuse2"])
def either(
    request: pytest.FixtureRequest, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    monkeypatch.setenv("FUSE_LIBRARY_PATH", require_fuse(request.param))
    with mounted(corpus) as folder:
        yield folder


def told(mount: Path) -> Any:
    return json.loads((mount / HIDDEN).read_text())


def eventually(mount: Path, holds: Callable[[Any], bool]) -> Any:
    """What is told once it holds: a file is released a moment after it was closed."""
    end = time.monotonic() + 5
    while not holds(found := told(mount)):
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


def test_it_is_there_by_name_and_in_no_listing(either: Path) -> None:
    mount = either
    assert sorted(os.listdir(mount)) == ["a", "b"]
    assert os.listdir(mount / ".framefs") == []
    walked = [name for _, folders, files in os.walk(mount) for name in folders + files]
    assert not [name for name in walked if "stats" in name or name.startswith(".")]
    assert (mount / ".framefs").is_dir()
    assert (mount / HIDDEN).is_file()
    assert not (mount / ".framefs" / "other").exists()
    assert not (mount / "a" / HIDDEN).exists()
    listed = subprocess.run(["ls", "-la", mount / ".framefs"], capture_output=True, check=True)
    assert not listed.stderr


def test_every_way_of_reading_gives_all_of_it(either: Path) -> None:
    path = either / HIDDEN
    assert path.stat().st_size == SIZE
    assert len(path.read_bytes()) == SIZE
    assert json.loads(subprocess.run(["cat", path], capture_output=True, check=True).stdout)
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        assert len(file.read(size)) == size
        assert file.read(1) == b""
        file.seek(-2, os.SEEK_END)
        assert file.read() == b" \n"
    copied = subprocess.run(["dd", f"if={path}", "bs=1000"], capture_output=True, check=True)
    assert json.loads(copied.stdout)["schema"] == 2


def test_it_cannot_be_written_to(mount: Path) -> None:
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC):
        with pytest.raises(OSError) as caught:
            os.open(mount / HIDDEN, flags)
        assert caught.value.errno == errno.EROFS


def test_who_has_it_open_reads_one_state_while_others_read_theirs(mount: Path) -> None:
    with open(mount / HIDDEN, "rb", buffering=0) as early:
        first = early.read(100)
        for n in range(10):
            (mount / "a" / f"{n:06d}.png").read_bytes()
        later = told(mount)
        whole = first + early.read()
    before = json.loads(whole)
    assert before["requests"]["decoded"] == 0
    assert later["requests"]["decoded"] >= 10  # the next file of a walk is made ahead


def test_what_was_read_is_counted(mount: Path) -> None:
    frames = [mount / "a" / f"{n:06d}.png" for n in (0, 19, 36)]
    for frame in frames:
        frame.read_bytes()
    # A plan goes on for a moment behind the last frame that was asked for.
    found = eventually(
        mount,
        lambda it: (
            it["fuse"]["operations"].get("release", NONE)["count"] == 3
            and it["queues"]["decoding"] == 0
        ),
    )
    assert found["requests"] == {"decoded": 3, "joined": 0, "failed": 0, "overdue": 0}
    assert found["pictures"]["target"] == 3
    assert found["pictures"]["reference"] >= 2
    assert found["sources"]["bytes_read"] > 0
    assert [Path(one["path"]).name for one in found["sources"]["top"]] == ["a.mp4"]
    assert found["sources"]["top"][0]["requests"] == 3
    assert found["levels"]["frames"]["misses"] == 3
    for stage in ("wait", "plan", "read", "decode", "convert", "format"):
        often = stage in ("read", "decode")  # for what lies on the way, too
        count = found["stages"][stage]["count"]
        assert count >= 3 if often else count == 3, stage
        assert 0 < found["stages"][stage]["p50"] <= found["stages"][stage]["max"] < 60
    assert found["stages"]["index"]["count"] == 1
    assert found["stages"]["open"]["count"] >= 1
    for operation in ("read", "getattr"):
        assert found["fuse"]["operations"][operation]["count"] >= 3, operation
    assert found["fuse"]["operations"]["open"]["count"] == 3
    assert found["fuse"]["in_progress"] == 0
    assert found["memory"]["frames"] == 3 * 96 * 128 * 3
    assert found["memory"]["files"] == 0
    assert found["memory"]["indexes"] > 0
    assert found["stock"]["entries"] >= 1  # the first picture of the clip is read by others
    assert found["memory"]["stock"] == found["stock"]["size"] > 0
    queues = found["queues"]
    assert queues["decoding"] == queues["waiting"] == queues["indexing"] == 0
    assert queues["idle"] + queues["resting"] >= 1
    assert found["process"]["resident"] > 1 << 20


def test_what_is_in_the_page_cache_is_not_read_again(mount: Path) -> None:
    frame = mount / "a" / "000005.png"
    frame.read_bytes()
    before = eventually(mount, lambda it: it["memory"]["files"] == 0)
    frame.read_bytes()
    after = told(mount)
    counts = [told["fuse"]["operations"]["read"]["count"] for told in (before, after)]
    assert counts[0] == counts[1]
    assert after["requests"] == before["requests"]
    assert after["levels"] == before["levels"]


def test_who_asks_is_not_counted(mount: Path) -> None:
    os.listdir(mount)
    before = told(mount)
    for _ in range(5):
        os.listdir(mount / ".framefs")
        (mount / HIDDEN).stat()
        after = told(mount)
    assert after["fuse"] == before["fuse"]


def test_a_crowd_at_one_frame_joins(mount: Path) -> None:
    frame = mount / "a" / "000033.png"
    with ThreadPoolExecutor(16) as pool:
        contents = set(pool.map(lambda _: frame.read_bytes(), range(16)))
    assert len(contents) == 1
    assert told(mount)["requests"]["decoded"] == 1


def test_a_frame_that_cannot_be_read_counts_as_failed(tmp_path: Path) -> None:
    corpus = tmp_path / "videos"
    corpus.mkdir()
    clip = write_clip(corpus / "c.mp4", frames=10)
    with mounted(corpus) as mount:
        frame = mount / "c" / "000003.png"
        with open(frame, "rb") as file:
            status = clip.stat()
            clip.write_bytes(bytes(status.st_size))
            os.utime(clip, ns=(status.st_atime_ns, status.st_mtime_ns))
            with pytest.raises(OSError):
                file.read()
        assert told(mount)["requests"]["failed"] >= 1


def test_the_command(mount: Path) -> None:
    for n in range(3):
        (mount / "b" / f"{n:06d}.npy").read_bytes()
    shown = run(*FRAMEFS, "stats", mount)
    assert (shown.returncode, shown.stderr) == (0, "")
    for words in ("stage decode", "FUSE read", "b.mp4", "plans are decoded", "decoded frames"):
        assert words in shown.stdout, words
    found = json.loads(run(*FRAMEFS, "stats", "--json", mount).stdout)
    assert found["requests"]["decoded"] == 3


def test_the_command_goes_on_when_it_watches(mount: Path) -> None:
    process = subprocess.Popen(
        [*FRAMEFS, "stats", "--watch", "0.2", str(mount)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "a second" in line:
                break
    finally:
        process.terminate()
        process.wait(10)


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    line = the_line(run(*FRAMEFS, "stats", tmp_path), 1)
    assert line == f"{tmp_path}: nothing is mounted here; name the mount point itself"
    assert "is proc, not framefs" in the_line(run(*FRAMEFS, "stats", "/proc"), 1)
    assert "Missing argument" in the_line(run(*FRAMEFS, "stats"), 2)


def test_it_is_beside_several_views(corpus: Path, tmp_path: Path, fuse: None) -> None:
    settings = tmp_path / "views.yaml"
    settings.write_text("views: {whole: {}, small: {resize: 48}}")
    with mounted(corpus, "--config", str(settings)) as mount:
        assert sorted(os.listdir(mount)) == ["small", "whole"]
        for view in ("small", "whole"):
            (mount / view / "b" / "000004.png").read_bytes()
        found = told(mount)
        assert found["requests"]["decoded"] == 1
        assert found["levels"]["frames"]["hits"] == 1
        assert found["stages"]["convert"]["count"] == 1
        assert found["stages"]["format"]["count"] == 2
