"""Real mounts of fake videos, on libfuse3 and on libfuse2."""

from __future__ import annotations

import errno
import functools
import json
import mmap
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.vfs.conftest import Mount, MountFactory, require_fuse, until
from tests.vfs.fakes import Video, write_video

VIDEO = Video(width=640, height=480, frames=12, seed=3)


@pytest.fixture
def mounted(library: str, mount: MountFactory, videos: Path) -> Mount:
    write_video(videos / "sub" / "a.mp4", VIDEO, mtime_ns=1_600_000_000_123_456_789)
    return mount(library)


def frame_of(mounted: Mount, number: int, extension: str = "png") -> Path:
    return mounted.root / "sub" / "a" / f"{number:06d}.{extension}"


def fails_with(number: int, action: Callable[[], object]) -> bool:
    try:
        action()
    except OSError as error:
        return error.errno == number
    return False


def test_what_stat_tells(mounted: Mount) -> None:
    status = frame_of(mounted, 3).stat()
    assert status.st_mode == 0o100444
    assert (status.st_uid, status.st_gid) == (os.getuid(), os.getgid())
    assert status.st_mtime_ns == 1_600_000_000_123_456_789
    assert status.st_size == len(frame_of(mounted, 3).read_bytes())
    assert status.st_blocks == -(-status.st_size // 512)
    assert status.st_nlink == 1
    assert (mounted.root / "sub").stat().st_nlink == 1
    assert (mounted.root / "sub" / "a").stat().st_nlink == 2
    assert (mounted.root / "sub").stat().st_mode == 0o040555


def test_inodes_are_those_of_another_mount(mounted: Mount, mount: MountFactory) -> None:
    other = mount(mounted.library)
    listed = {entry.name: entry.inode() for entry in os.scandir(mounted.root / "sub" / "a")}
    again = {entry.name: entry.inode() for entry in os.scandir(other.root / "sub" / "a")}
    assert listed == again
    assert listed["000003.png"] == frame_of(other, 3).stat().st_ino


def test_owner_and_permissions_as_configured(
    library: str, mount: MountFactory, videos: Path
) -> None:
    write_video(videos / "a.mp4")
    mounted = mount(library, uid=1234, gid=4321, umask=0o027)
    status = (mounted.root / "a" / "000000.png").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (1234, 4321, 0o440)
    assert (mounted.root / "a").stat().st_mode & 0o777 == 0o550


def test_every_way_of_reading_gives_the_frame(mounted: Mount) -> None:
    expected = VIDEO.array(5, "rgb24")
    with Image.open(frame_of(mounted, 5)) as image:
        np.testing.assert_array_equal(np.asarray(image), expected)
    npy = frame_of(mounted, 5, "npy")
    np.testing.assert_array_equal(np.load(npy), expected)
    np.testing.assert_array_equal(np.load(npy, mmap_mode="r"), expected)
    np.testing.assert_array_equal(np.load(npy, mmap_mode="c"), expected)
    raw = np.fromfile(npy, np.uint8)
    np.testing.assert_array_equal(raw[128:].reshape(expected.shape), expected)


@pytest.mark.parametrize("flags", [mmap.MAP_SHARED, mmap.MAP_PRIVATE])
def test_mmap(mounted: Mount, flags: int) -> None:
    path = frame_of(mounted, 6)
    content = path.read_bytes()
    with open(frame_of(mounted, 7), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        with mmap.mmap(file.fileno(), size, flags=flags, prot=mmap.PROT_READ) as view:
            assert view[:] == frame_of(mounted, 7).read_bytes()
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ) as view,
    ):
        assert view[:] == content


def test_stat_then_read_exactly_that_much(mounted: Mount) -> None:
    path = frame_of(mounted, 1)
    size = path.stat().st_size
    assert mounted.ask("decoded") == 0
    descriptor = os.open(path, os.O_RDONLY)
    try:
        content = os.read(descriptor, size + 1)
        assert len(content) == size
        assert os.lseek(descriptor, 0, os.SEEK_END) == size
        assert os.pread(descriptor, 10, size - 10) == content[-10:]
        assert os.pread(descriptor, 10, size) == b""
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("tool", ["cp", "tar"])
def test_tools_copy_whole_files(mounted: Mount, tmp_path: Path, tool: str) -> None:
    source, target = mounted.root / "sub", tmp_path / "copy"
    if tool == "cp":
        subprocess.run(["cp", "-a", source, target], check=True)
    else:
        archive = tmp_path / "archive.tar"
        subprocess.run(["tar", "cf", archive, "-C", source, "."], check=True)
        shutil.unpack_archive(archive, target, filter="fully_trusted")
    copies = sorted(target.rglob("*.png"))
    assert len(copies) == VIDEO.frames
    for copy in copies:
        assert copy.read_bytes() == (source / "a" / copy.name).read_bytes()
        assert copy.stat().st_mtime_ns // 10**9 == 1_600_000_000


def test_directory_entries_have_types_and_cost_no_look_at_the_files(
    library: str, mount: MountFactory, videos: Path
) -> None:
    write_video(videos / "a.mp4", Video(frames=500))
    mounted = mount(library)
    os.listdir(mounted.root)
    before = mounted.calls().get("getattr", 0)
    with os.scandir(mounted.root / "a") as entries:
        assert all(entry.is_file() and not entry.is_symlink() for entry in entries)
    with os.scandir(mounted.root) as entries:
        assert all(entry.is_dir() for entry in entries)
    assert mounted.calls()["getattr"] - before <= 3


def test_a_long_listing_of_20000_frames_asks_for_no_attributes(
    mount: MountFactory, videos: Path
) -> None:
    write_video(videos / "a.mp4", Video(frames=20_000))
    mounted = mount("libfuse3")
    before = mounted.calls().get("getattr", 0)
    listed = subprocess.run(
        ["ls", "-l", str(mounted.root / "a")], capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 20_001
    assert mounted.calls()["getattr"] - before <= 10


def test_the_second_reading_makes_no_read_call(mounted: Mount) -> None:
    for extension in ("png", "npy"):
        path = frame_of(mounted, 2, extension)
        first = path.read_bytes()
        before = mounted.calls()["read"]
        assert path.read_bytes() == first
        assert np.array_equal(np.fromfile(path, np.uint8), np.frombuffer(first, np.uint8))
        assert mounted.calls()["read"] == before


WRITING: dict[str, Callable[[Path], object]] = {
    "open for writing": lambda frame: os.open(frame, os.O_WRONLY),
    "open for both": lambda frame: os.open(frame, os.O_RDWR),
    "open and truncate": lambda frame: os.open(frame, os.O_RDONLY | os.O_TRUNC),
    "create": lambda frame: os.open(frame.with_name("new"), os.O_WRONLY | os.O_CREAT),
    "truncate": lambda frame: os.truncate(frame, 0),
    "unlink": os.unlink,
    "rename": lambda frame: os.rename(frame, frame.with_name("new")),
    "link": lambda frame: os.link(frame, frame.with_name("new")),
    "symlink": lambda frame: os.symlink("x", frame.with_name("new")),
    "mkdir": lambda frame: os.mkdir(frame.with_name("new")),
    "mkfifo": lambda frame: os.mkfifo(frame.with_name("new")),
    "rmdir": lambda frame: os.rmdir(frame.parent),
    "chmod": lambda frame: os.chmod(frame, 0o600),
    "chown": lambda frame: os.chown(frame, 1, 1),
    "utime": lambda frame: os.utime(frame, (1, 1)),
    "setxattr": lambda frame: os.setxattr(frame, "user.x", b"1"),
    "removexattr": lambda frame: os.removexattr(frame, "user.framefs.index"),
    "access": lambda frame: None if os.access(frame, os.W_OK) else _read_only(),
}


def _read_only() -> None:
    raise OSError(errno.EROFS, "access denied")


def not_refused(frame: Path, actions: dict[str, Callable[[Path], object]]) -> list[str]:
    return [
        name
        for name, action in actions.items()
        if not fails_with(errno.EROFS, functools.partial(action, frame))
    ]


def test_writing_fails_in_the_kernel(mounted: Mount) -> None:
    frame = frame_of(mounted, 0)
    frame.stat()
    assert not_refused(frame, WRITING) == []


def test_writing_fails_in_the_filesystem_where_the_kernel_lets_it_through(
    library: str, mount: MountFactory, videos: Path
) -> None:
    write_video(videos / "a.mp4")
    mounted = mount(library, extra=["rw"])
    frame = mounted.root / "a" / "000000.png"
    reaching = {name: action for name, action in WRITING.items() if name != "access"}
    assert not_refused(frame, reaching) == []
    calls = mounted.calls()
    assert calls["unlink"]
    assert calls["chmod"]
    assert frame.read_bytes()


def test_what_does_not_exist(mounted: Mount) -> None:
    directory = mounted.root / "sub" / "a"
    for name in ("000012.png", "12.png", "000003.jpg", "cover.png", ".hidden"):
        assert fails_with(errno.ENOENT, (directory / name).stat), name
    assert fails_with(errno.ENOENT, (mounted.root / "b").stat)
    assert fails_with(errno.ENOTDIR, (directory / "000003.png" / "x").stat)
    assert fails_with(errno.EISDIR, directory.read_bytes)


def test_extended_attributes(mounted: Mount, videos: Path) -> None:
    frame = frame_of(mounted, 4)
    assert {name: os.getxattr(frame, name) for name in os.listxattr(frame)} == {
        "user.framefs.pts": b"4",
        "user.framefs.time": b"2/15",
        "user.framefs.picture_type": b"I",
        "user.framefs.source": os.fsencode(videos / "sub" / "a.mp4"),
        "user.framefs.index": b"4",
    }
    assert fails_with(errno.ENODATA, lambda: os.getxattr(frame, "user.nothing"))
    assert os.listxattr(mounted.root) == []
    assert os.listxattr(mounted.root / "sub" / "a") == []


def test_an_unreadable_source_tells_why_and_disturbs_nobody(mounted: Mount, videos: Path) -> None:
    (videos / "sub" / "bad.mp4").write_text("not a video")
    bad = mounted.root / "sub" / "bad"
    until(bad.exists)
    assert sorted(os.listdir(mounted.root / "sub")) == ["a", "bad"]
    assert fails_with(errno.EIO, lambda: os.listdir(bad))
    assert fails_with(errno.EIO, lambda: (bad / "000000.png").read_bytes())
    assert os.listxattr(bad) == ["user.framefs.error"]
    assert b"not a video" in os.getxattr(bad, "user.framefs.error")
    assert len(os.listdir(mounted.root / "sub" / "a")) == VIDEO.frames
    assert frame_of(mounted, 0).read_bytes()


def test_a_damaged_frame_is_an_error_of_its_own(
    library: str, mount: MountFactory, videos: Path
) -> None:
    write_video(videos / "a.mp4", Video(broken_frame=1))
    mounted = mount(library)
    assert fails_with(errno.EIO, (mounted.root / "a" / "000001.png").read_bytes)
    assert (mounted.root / "a" / "000002.png").read_bytes()
    reason = os.getxattr(mounted.root / "a" / "000001.png", "user.framefs.error")
    assert b"frame 1 cannot be decoded" in reason


def test_slow_frames_hold_up_nobody(library: str, mount: MountFactory, videos: Path) -> None:
    for number in range(20):
        write_video(videos / f"slow{number}.mp4", Video(slow_frame=0))
    write_video(videos / "quick.mp4")
    mounted = mount(library)
    with ThreadPoolExecutor(20) as pool:
        slow = [
            pool.submit((mounted.root / f"slow{number}" / "000000.png").read_bytes)
            for number in range(20)
        ]
        time.sleep(0.5)
        start = time.monotonic()
        assert (mounted.root / "quick" / "000000.png").read_bytes()
        assert time.monotonic() - start < 1
        assert all(one.result(20) for one in slow)


def test_statfs(mounted: Mount, videos: Path) -> None:
    told, held = os.statvfs(mounted.root), os.statvfs(videos)
    assert told.f_bsize == told.f_frsize == held.f_frsize
    assert (told.f_bfree, told.f_bavail, told.f_ffree) == (0, 0, 0)
    assert 0 < told.f_blocks <= held.f_blocks
    assert told.f_namemax == 255


def test_odd_names(library: str, mount: MountFactory, videos: Path) -> None:
    stems = [os.fsdecode(b"\xff\xe9"), "x" * 251, "komma, \\ und 'quote'", "ü 漢字", "a\nb"]
    for stem in stems:
        write_video(Path(f"{videos}/short"), Video()).rename(f"{videos}/{stem}.mp4")
    mounted = mount(library)
    assert sorted(os.listdir(mounted.root)) == sorted(stems)
    for stem in stems:
        assert (mounted.root / stem / "000000.png").read_bytes()
    # The kernel's own limit on names differs between its versions.
    overlong = (mounted.root / ("x" * 2000)).stat
    assert fails_with(errno.ENAMETOOLONG, overlong) or fails_with(errno.ENOENT, overlong)


def test_a_mount_at_and_of_odd_paths(
    library: str, mount: MountFactory, videos: Path, tmp_path: Path
) -> None:
    write_video(videos / "a.mp4")
    odd = tmp_path / "mount, of \\ things"
    odd.mkdir()
    videos.rename(odd / "v,w")
    videos.symlink_to(odd / "v,w")
    mounted = mount(library)
    assert (mounted.root / "a" / "000000.png").read_bytes()
    table = Path("/proc/self/mounts").read_text()
    assert any(line.startswith(f"{odd}/v,w".split()[0]) for line in table.splitlines())


def test_fusepy_serves_too(mount: MountFactory, videos: Path) -> None:
    write_video(videos / "sub" / "a.mp4", VIDEO)
    mounted = mount("libfuse2", "fuse")
    assert mounted.ask("binding").startswith("fusepy on libfuse 2.")
    np.testing.assert_array_equal(np.load(frame_of(mounted, 5, "npy")), VIDEO.array(5, "rgb24"))
    assert os.getxattr(frame_of(mounted, 5), "user.framefs.index") == b"5"
    assert len(os.listdir(mounted.root / "sub" / "a")) == VIDEO.frames
    assert fails_with(errno.ENOENT, frame_of(mounted, 99).stat)
    before = mounted.calls()["read"]
    frame_of(mounted, 5, "npy").read_bytes()
    assert mounted.calls()["read"] == before


@pytest.mark.parametrize("how", ["interrupt", "umount"])
def test_the_end_leaves_no_mount_and_no_process(
    library: str, mount: MountFactory, videos: Path, how: str
) -> None:
    write_video(videos / "a.mp4")
    mounted = mount(library)
    (mounted.root / "a" / "000000.png").read_bytes()
    if how == "interrupt":
        assert mounted.unmount() == 0
    else:
        subprocess.run(["umount", str(mounted.root)], check=True)
        assert mounted.process.wait(20) == 0
    assert not os.path.ismount(mounted.root)
    assert os.listdir(mounted.root) == []


def test_it_ends_while_files_are_open_and_being_read(
    library: str, mount: MountFactory, videos: Path
) -> None:
    write_video(videos / "a.mp4", Video(slow_frame=1))
    mounted = mount(library)
    descriptor = os.open(mounted.root / "a" / "000000.png", os.O_RDONLY)
    os.read(descriptor, 10)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit((mounted.root / "a" / "000001.png").read_bytes)
        time.sleep(0.3)
        assert mounted.unmount() == 0
        assert slow.exception(20) is None or isinstance(slow.exception(), OSError)
    with suppress(OSError):  # there is nobody left to close it
        os.close(descriptor)
    assert not os.path.ismount(mounted.root)


def test_requests_that_would_take_long_give_up_at_the_end(
    library: str, mount: MountFactory, videos: Path
) -> None:
    write_video(videos / "a.mp4", Video(slow_frame=1, slow_seconds=100))
    mounted = mount(library)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit((mounted.root / "a" / "000001.png").read_bytes)
        time.sleep(0.5)
        assert mounted.unmount() == 0
        assert slow.exception(20) is None or isinstance(slow.exception(), OSError)


def test_the_watcher_runs_beside_the_mount(mounted: Mount) -> None:
    assert "framefs-watch" in mounted.ask("threads")


@pytest.mark.parametrize(
    ("options", "missing", "message"),
    [
        ({"extra": ["nonsense"]}, False, "libfuse could not mount"),
        ({}, True, "no such directory; create it"),
    ],
)
def test_a_mount_that_fails_says_why(
    library: str,
    videos: Path,
    tmp_path: Path,
    options: dict[str, object],
    missing: bool,
    message: str,
) -> None:
    root = tmp_path / "mnt"
    if not missing:
        root.mkdir()
    served = subprocess.run(
        [*(sys.executable, "-m", "tests.vfs.served"), videos, root, "mfusepy", json.dumps(options)],
        capture_output=True,
        text=True,
        env={**os.environ, "FUSE_LIBRARY_PATH": require_fuse(library)},
        cwd=Path(__file__).parents[2],
        check=False,
        timeout=30,
    )
    assert served.returncode == 1
    assert f"vfs.errors.MountFailed: {root}: {message}" in served.stderr
    assert not os.path.ismount(root)


def test_read_ahead_is_raised_where_root_may(
    library: str, mount: MountFactory, videos: Path
) -> None:
    write_video(videos / "a.mp4")
    mounted = mount(library, read_ahead_kib=512)
    device = mounted.root.stat().st_dev
    place = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
    if not os.access(place, os.W_OK):
        pytest.skip("only root may")
    assert int(place.read_text()) == 512
