"""The real command over real folders: finished, failing, stopped, killed, gone on with."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from decoder.reader import FrameReader
from encoder.manifest import NAME
from encoder.settings import Settings
from encoder.unit import Outcome, transcode
from tests.cli.commands import FRAMEFS, ROOT, eventually, run, the_line
from tests.cli.test_index import worker_of
from tests.clips import read_barcode, write_clip

pytestmark = pytest.mark.timeout(300)

TINY = (64, 48)

QUICK = ("--anchors", "fixed")
"""Without the encodings that tell where anchors are best."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three different clips in a tree."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "a" / "b").mkdir(parents=True)
    write_clip(folder / "one.mp4", frames=40, size=TINY)
    write_clip(folder / "a" / "two.mkv", frames=40, size=TINY, version=2)
    write_clip(folder / "a" / "b" / "three.avi", frames=40, size=TINY, codec="mpeg4", version=3)
    return folder


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clips that take seconds each."""
    folder = tmp_path_factory.mktemp("slow")
    first = write_clip(folder / "0.mp4", frames=300, size=(256, 192))
    for n in (1, 2):
        shutil.copyfile(first, folder / f"{n}.mp4")
    return folder


def encode(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run(*FRAMEFS, "transcode", *arguments)


def lines_of(out: Path, kind: str) -> list[dict[str, object]]:
    """The whole lines of a kind in the manifest, in their order."""
    try:
        content = (out / NAME).read_text()
    except FileNotFoundError:
        return []
    lines = [json.loads(line) for line in content.split("\n")[:-1]]
    return [line for line in lines if line["line"] == kind]


def results_in(out: Path) -> dict[str, Path]:
    """Visible files below a folder by their path in it, without the manifest."""
    return {
        str(path.relative_to(out)): path
        for path in out.rglob("[!.]*")
        if path.is_file() and path.name != NAME
    }


def versions(folder: Path) -> dict[Path, tuple[int, int, int]]:
    found = {path: path.stat() for path in folder.rglob("*")}
    return {path: (s.st_ino, s.st_size, s.st_mtime_ns) for path, s in found.items()}


def hidden_in(out: Path) -> list[Path]:
    return list(out.rglob(".*"))


def test_a_tree_is_mirrored_and_known_again(tiny: Path, tmp_path: Path) -> None:
    before = versions(tiny)
    out = tmp_path / "new" / "out"
    result = encode(tiny, out)
    assert result.returncode == 0, result
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "3 videos encoded"
    assert lines[1].startswith("  120 frames, ")
    assert "RGB PSNR" in lines[2]
    assert lines[3].endswith("3 at worst")
    assert lines[-1] == str(out / NAME)
    assert set(results_in(out)) == {"one.mp4", "a/two.mp4", "a/b/three.mp4"}
    assert hidden_in(out) == []
    assert versions(tiny) == before
    with FrameReader(out / "a" / "two.mp4") as reader:
        assert read_barcode(reader.read([17])[0]) == (2, 17)

    made = {name: path.stat().st_ino for name, path in results_in(out).items()}
    again = encode(tiny, out)
    assert again.returncode == 0
    assert "3 videos encoded, 3 of them before" in again.stdout
    assert {name: path.stat().st_ino for name, path in results_in(out).items()} == made
    assert len(lines_of(out, "done")) == 3

    other = encode(tiny / "one.mp4", out, "--crf", "30")
    assert other.returncode == 0, other
    assert "1 video encoded\n" in other.stdout
    assert len(lines_of(out, "done")) == 4


def test_what_is_asked_for_is_what_is_written_down(tiny: Path, tmp_path: Path) -> None:
    result = encode(
        tiny / "one.mp4", tmp_path, "--profile", "compact", "--interval", "8", "--crf", "25"
    )
    assert result.returncode == 0, result
    (line,) = lines_of(tmp_path, "done")
    told = line["outcome"]
    assert isinstance(told, dict)
    assert told["settings"] == json.loads(
        Settings.of_profile("compact", interval=8, crf=25.0).to_json()
    )
    assert told["bytes_out"] == (tmp_path / "one.mp4").stat().st_size


def test_what_fails_is_named_and_the_rest_goes_on(tiny: Path, tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    shutil.copytree(tiny, videos)
    (videos / "empty.mp4").touch()
    (videos / "noise.mkv").write_bytes(b"no video" * 100)
    shutil.copyfile(videos / "one.mp4", videos / "one.mov")
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").mkdir()
    (out / "a" / "two.mp4").write_text("of somebody")
    result = encode(videos, out)
    assert result.returncode == 1
    assert result.stdout.startswith("1 video encoded\n")
    assert "  4 failed\n" in result.stdout
    assert f"    {videos}/empty.mp4: " in result.stdout
    assert f"    {videos}/noise.mkv: " in result.stdout
    assert f"    {videos}/one.mov and {videos}/one.mp4: would both be one.mp4" in result.stdout
    assert f"    {videos}/a/two.mkv: {out}/a/two.mp4 is there and not from here" in result.stdout
    assert (out / "a" / "two.mp4").read_text() == "of somebody"
    assert set(results_in(out)) == {"a/two.mp4", "a/b/three.mp4"}
    assert hidden_in(out) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk as root does")
def test_a_full_disk_fails_what_does_not_fit(tiny: Path, tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    shutil.copytree(tiny, videos)
    write_clip(videos / "large.mp4", frames=60, size=(640, 480))
    out = tmp_path / "out"
    out.mkdir()
    small = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", out], check=False)
    if small.returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        result = encode(videos, out, "--jobs", "1", "--crf", "1", *QUICK)
        assert result.returncode == 1
        assert "No space left" in result.stdout, result
        assert f"    {videos}/large.mp4: " in result.stdout
        assert "3 videos encoded\n" in result.stdout
        assert set(results_in(out)) == {"one.mp4", "a/two.mp4", "a/b/three.mp4"}
        assert hidden_in(out) == []
        subprocess.run(["mount", "-o", "remount,size=16m", out], check=True)
        result = encode(videos, out, "--jobs", "1", "--crf", "1", *QUICK)
        assert result.returncode == 0, result
        assert "4 videos encoded, 3 of them before" in result.stdout
    finally:
        subprocess.run(["umount", "--lazy", out], check=False)


def test_a_dry_run_says_how_large_and_writes_nothing(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = encode(tiny, out, "--dry-run")
    assert result.returncode == 0, result
    first, second = result.stdout.splitlines()
    assert first.startswith("3 videos to encode, ")
    assert first.endswith("; 0 done before")
    # the clips are shorter than a sample: what is predicted is what will be
    assert second.endswith("from 40 frames of each video")
    assert not out.exists()
    assert encode(tiny, out).returncode == 0
    large = sum(path.stat().st_size for path in results_in(out).values())
    predicted, unit = second.removeprefix("about ").split()[:2]
    assert unit == "kB"
    assert float(predicted) * 1000 == pytest.approx(large, rel=0.03)
    assert encode(tiny, out, "--dry-run").stdout == "0 videos to encode, 0 B; 3 done before\n"


def outcomes(out: Path) -> list[Outcome]:
    return [msgspec.convert(line["outcome"], Outcome) for line in lines_of(out, "done")]


def test_one_crf_for_all_which_stays(tiny: Path, tmp_path: Path) -> None:
    videos, out = tmp_path / "videos", tmp_path / "out"
    shutil.copytree(tiny, videos)
    wish = ("--match-psnr", "36", "--per-corpus")
    result = encode(videos, out, *wish)
    assert result.returncode == 0, result
    assert re.match(r"crf [\d.]+ for all, by samples of 128 frames\n", result.stdout)
    made = outcomes(out)
    assert len(made) == 3
    assert len({one.crf for one in made}) == 1
    pooled = sum(10 ** (-one.psnr / 10) for one in made) / 3
    assert -10 * math.log10(pooled) == pytest.approx(36, abs=0.19)
    write_clip(videos / "new.mp4", frames=40, size=TINY, version=9)
    result = encode(videos, out, *wish)
    assert result.stdout.startswith("4 videos encoded, 3 of them before"), result
    assert {one.crf for one in outcomes(out)} == {made[0].crf}


def test_a_size_of_each_and_of_all_together(tiny: Path, tmp_path: Path) -> None:
    assert encode(tiny, tmp_path / "each", "--target-size", "70%").returncode == 0
    assert all(one.bytes_out <= 0.7 * one.bytes_in for one in outcomes(tmp_path / "each"))
    total = sum(one.bytes_in for one in outcomes(tmp_path / "each"))
    size = f"{int(total * 0.7)}B"
    result = encode(tiny, tmp_path / "all", "--target-size", size, "--per-corpus")
    assert result.returncode == 0, result
    made = outcomes(tmp_path / "all")
    assert len({one.crf for one in made}) == 1
    assert 0.6 * total < sum(one.bytes_out for one in made) <= 0.71 * total


def test_as_good_as_others(tiny: Path, tmp_path: Path) -> None:
    like = tmp_path / "like"
    assert encode(tiny, like, "--crf", "24").returncode == 0
    by_name = {os.path.basename(one.source): one for one in outcomes(like)}
    result = encode(tiny, tmp_path / "each", "--like", like, "--profile", "compact")
    assert result.returncode == 0, result
    for one in outcomes(tmp_path / "each"):
        assert one.psnr == pytest.approx(by_name[os.path.basename(one.source)].psnr, abs=0.18)
    result = encode(tiny, tmp_path / "all", "--like", like, "--profile", "compact", "--per-corpus")
    assert result.returncode == 0, result
    assert len({one.crf for one in outcomes(tmp_path / "all")}) == 1


def test_structures_are_tried_on_some_of_the_videos(tiny: Path, tmp_path: Path) -> None:
    plot = tmp_path / "front.svg"
    result = encode(tiny, "--explore", "--bandwidth", "100MB", "--plot", plot)
    assert result.returncode == 0, result
    assert "3 videos, 120 frames, at equal PSNR" in result.stdout
    assert "Cheapest to read at 100 MB/s, all patterns alike: " in result.stdout
    assert plot.read_text().startswith("<?xml")
    assert "go with --explore" in the_line(encode(tiny, tmp_path, "--plot", plot), 2)
    assert "--bandwidth" in the_line(encode(tiny, "--explore", "--bandwidth", "20%"), 2)


def test_wrong_use(tiny: Path, tmp_path: Path) -> None:
    one = tiny / "one.mp4"
    assert "SRC... OUT" in the_line(encode(), 2)
    assert "SRC... OUT" in the_line(encode(tiny), 2)
    assert "only one of them" in the_line(
        encode(one, tmp_path, "--match-psnr", "40", "--target-size", "50%"), 2
    )
    assert "of what?" in the_line(encode(one, tmp_path / "out", "--per-corpus"), 2)
    assert "neither a size" in the_line(encode(one, tmp_path, "--target-size", "0%"), 2)
    assert "DDRA is H.264 or H.265" in the_line(encode(one, tmp_path, "--codec", "av1"), 2)
    assert "say --engine ray" in the_line(encode(one, tmp_path, "--address", "auto"), 2)
    assert "name a folder" in the_line(encode(tiny, tmp_path / "out", "--like", one), 2)
    assert "lies in the tree of the sources" in the_line(encode(tiny, tiny / "new"), 1)
    assert "not a folder" in the_line(encode(tiny, one), 1)
    assert "there is no video in it" in the_line(encode(tmp_path, tmp_path.parent / "out"), 1)
    assert "No such file" in the_line(encode(tmp_path / "missing", tmp_path), 1)
    assert list(tmp_path.iterdir()) == []


@contextlib.contextmanager
def started(
    *arguments: str | Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """The command while it runs; ended by Ctrl-C as in a shell."""

    def heeding() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(
        [*FRAMEFS, "transcode", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeding,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_interrupted_goes_on(slow: Path, tmp_path: Path, number: int) -> None:
    with started(slow, tmp_path, "--jobs", "1", *QUICK) as process:
        eventually(lambda: len(lines_of(tmp_path, "done")) == 1, 60)
        eventually(lambda: len(lines_of(tmp_path, "begun")) == 2, 60)
        process.send_signal(number)
        output, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "stopped with 2 videos to go; the same command goes on from here" in errors
    assert output.startswith("1 video encoded\n")
    assert len(results_in(tmp_path)) == 1
    assert hidden_in(tmp_path) == []
    again = encode(slow, tmp_path, *QUICK)
    assert again.returncode == 0, again
    assert "3 videos encoded, 1 of them before" in again.stdout


def test_an_interrupted_dry_run_leaves_nothing(slow: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with started(
        slow, tmp_path / "out", "--dry-run", "--jobs", "1", env={"TMPDIR": str(scratch)}
    ) as process:
        eventually(lambda: list(scratch.rglob("*.mkv")) != [], 60)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert list(scratch.glob("framefs-*")) == []
    assert not (tmp_path / "out").exists()


def test_a_killed_worker_costs_nothing_but_time(slow: Path, tmp_path: Path) -> None:
    with started(slow, tmp_path, "--jobs", "1", *QUICK) as process:
        eventually(lambda: hidden_in(tmp_path) != [], 60)
        os.kill(worker_of(process.pid), signal.SIGKILL)
        output, _ = process.communicate(timeout=100)
    assert process.returncode == 0, output
    assert output.startswith("3 videos encoded\n")
    assert hidden_in(tmp_path) == []
    counts = Counter(str(line["target"]) for line in lines_of(tmp_path, "done"))
    assert counts == {"0.mp4": 1, "1.mp4": 1, "2.mp4": 1}


def test_two_runs_at_once(slow: Path, tmp_path: Path) -> None:
    with started(slow, tmp_path, "--jobs", "1", *QUICK) as process:
        eventually(lambda: lines_of(tmp_path, "begun") != [], 60)
        process.send_signal(signal.SIGSTOP)  # or it may have ended before the others are there
        assert the_line(encode(slow, tmp_path), 1) == (
            f"{tmp_path}: another framefs transcode writes there; "
            "wait until it has ended, or choose another folder"
        )
        assert encode(slow / "0.mp4", tmp_path, "--dry-run").returncode == 0
        assert process.poll() is None


def test_killed_at_any_moment_it_goes_on(tiny: Path, tmp_path: Path) -> None:
    """Twenty times the run is killed, at random; the folder is looked at each time."""
    clips = sorted(path for path in tiny.rglob("*.*") if path.is_file())
    contents = []
    for clip in clips:
        transcode(
            str(clip), str(tmp_path / "expected.mp4"), Settings.of_profile("fast", anchors="fixed")
        )
        contents.append((tmp_path / "expected.mp4").read_bytes())
    videos, out = tmp_path / "videos", tmp_path / "out"
    expected = {}
    for n in range(80):
        clip, content = clips[n % 3], contents[n % 3]
        path = videos / f"{n % 5}" / f"{n}{clip.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(clip, path)
        expected[f"{n % 5}/{n}.mp4"] = content
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    settled: dict[str, int] = {}
    for n in range(20):
        left = set(hidden_in(out))
        with started(videos, out, "--jobs", "2", *QUICK) as process:
            while n % 5 and process.poll() is None and set(hidden_in(out)) <= left:
                time.sleep(0.02)  # until it encodes; else it is killed while it comes up
            time.sleep(rng.uniform(0, 0.8))
            process.kill()
            process.communicate(timeout=20)
        look(out, expected, settled)
    result = encode(videos, out, *QUICK)
    assert result.returncode == 0, result
    assert f"80 videos encoded, {len(settled)} of them before" in result.stdout
    look(out, expected, settled)
    assert set(settled) == set(expected)
    assert hidden_in(out) == []


def look(out: Path, expected: dict[str, bytes], settled: dict[str, int]) -> None:
    """All that is visible is complete, and what had its line is still the same file.

    Args:
        settled: inodes of what had its line, brought up to date.
    """
    for name, path in results_in(out).items() if out.exists() else ():
        assert path.read_bytes() == expected[name]
    counts = Counter(str(line["target"]) for line in lines_of(out, "done"))
    assert set(counts.values()) <= {1}
    for name, inode in settled.items():
        assert (out / name).stat().st_ino == inode
    for name in counts:
        settled[name] = (out / name).stat().st_ino
