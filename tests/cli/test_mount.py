"""Real mounts by the real command: coming up, answering, ending."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import av
import pytest
from av.bitstream import BitStreamFilterContext

from cli.mounts import is_dead, mounted_at
from tests.cli.commands import (
    FRAMEFS,
    MOUNT,
    ROOT,
    eventually,
    is_running,
    mounted,
    run,
    the_line,
)

pytestmark = pytest.mark.usefixtures("fuse")

VIDEOS = ["native264_Lift_frontview", "native265_Door_frontview"]


@pytest.fixture
def mountpoint(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "mnt"
    folder.mkdir()
    yield folder
    if mounted_at(str(folder)) is not None:
        run(*FRAMEFS, "umount", "--lazy", folder)


def foreground(
    sample: Path, mountpoint: Path, *arguments: str, **options: str
) -> subprocess.Popen[str]:
    """A mount in the foreground that has said that it answers."""
    process = subprocess.Popen(
        [*MOUNT, "-f", str(sample), str(mountpoint), "--index", ":memory:", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **options},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"{sample} is mounted at {mountpoint}\n"
    assert sorted(os.listdir(mountpoint)) == VIDEOS
    return process


def test_it_returns_when_the_mount_answers(sample: Path, mountpoint: Path) -> None:
    outside = os.stat(mountpoint).st_dev
    result = run(*MOUNT, sample, mountpoint, "--index", ":memory:")
    # at once, without waiting
    assert os.stat(mountpoint).st_dev != outside
    assert sorted(os.listdir(mountpoint)) == VIDEOS
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    found = mounted_at(str(mountpoint))
    assert found is not None
    assert (found.type, found.source) == ("fuse.framefs", str(sample))


def test_verbose_says_so(sample: Path, mountpoint: Path) -> None:
    result = run(*FRAMEFS, "mount", "-v", sample, mountpoint, "--index", ":memory:")
    assert result.stdout == f"{sample} is mounted at {mountpoint}\n"


def test_relative_paths(sample: Path, mountpoint: Path) -> None:
    shutil.copytree(sample, mountpoint.parent / "videos")
    result = run(*MOUNT, "videos", "mnt", "--index", "indexes.sqlite", cwd=mountpoint.parent)
    assert result.returncode == 0, result
    assert sorted(os.listdir(mountpoint)) == VIDEOS
    assert "000000.png" in os.listdir(mountpoint / VIDEOS[0])
    assert (mountpoint.parent / "indexes.sqlite").is_file()


def test_umount_ends_the_process(sample: Path, mountpoint: Path) -> None:
    with mounted(sample, mountpoint) as process:
        result = run(*FRAMEFS, "umount", mountpoint)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        assert os.listdir(mountpoint) == []
        eventually(lambda: not is_running(process))
    assert the_line(run(*FRAMEFS, "umount", mountpoint), 1) == (
        f"{mountpoint}: nothing is mounted here"
    )
    assert run(*FRAMEFS, "umount", "--if-mounted", mountpoint).returncode == 0


def test_umount_by_the_system_ends_the_process(sample: Path, mountpoint: Path) -> None:
    tool = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
    with mounted(sample, mountpoint) as process:
        assert run(*tool, mountpoint).returncode == 0
        eventually(lambda: not is_running(process))


def test_a_mount_is_gone_although_its_pages_are_not_yet(
    sample: Path, mountpoint: Path, tmp_path: Path
) -> None:
    # the kernel frees them before it lets the tool end, which takes long on a busy machine
    tool = "umount" if os.geteuid() == 0 else "fusermount3"
    slow = tmp_path / "bin" / tool
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\n{shutil.which(tool)} "$@" && exec sleep 60\n')
    slow.chmod(0o755)
    path = f"{slow.parent}{os.pathsep}{os.environ['PATH']}"
    with mounted(sample, mountpoint):
        result = run(*FRAMEFS, "umount", mountpoint, env={**os.environ, "PATH": path})
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        assert mounted_at(str(mountpoint)) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_unmounts_the_daemon(
    sample: Path, mountpoint: Path, number: signal.Signals
) -> None:
    with mounted(sample, mountpoint) as process:
        os.kill(process, number)
        eventually(lambda: not is_running(process))
        assert mounted_at(str(mountpoint)) is None
        assert os.listdir(mountpoint) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_unmounts_in_the_foreground(
    sample: Path, mountpoint: Path, number: signal.Signals
) -> None:
    process = foreground(sample, mountpoint)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert out == ""
    assert "Traceback" not in err
    assert "ERROR" not in err
    assert mounted_at(str(mountpoint)) is None


def test_a_signal_unmounts_although_files_are_open(sample: Path, mountpoint: Path) -> None:
    with mounted(sample, mountpoint) as process:
        descriptor = os.open(mountpoint / VIDEOS[0] / "000003.png", os.O_RDONLY)
        assert os.read(descriptor, 4) == b"\x89PNG"
        os.kill(process, signal.SIGTERM)
        eventually(lambda: mounted_at(str(mountpoint)) is None)
        with contextlib.suppress(OSError):  # nobody is left to be told of it
            os.close(descriptor)
        eventually(lambda: not is_running(process))


def test_a_signal_unmounts_while_a_long_video_is_indexed(
    sample: Path, mountpoint: Path, tmp_path: Path
) -> None:
    # half a minute of work or more: 80 times the same, as a bare stream
    videos = tmp_path / "videos"
    videos.mkdir()
    with av.open(str(sample / f"{VIDEOS[0]}.mp4")) as container:
        stream = container.streams.video[0]
        bare = BitStreamFilterContext("h264_mp4toannexb", stream)
        once = b"".join(
            bytes(part) for packet in container.demux(stream) for part in bare.filter(packet)
        )
    (videos / "long.264").write_bytes(80 * once)
    with (
        mounted(videos, mountpoint) as process,
        subprocess.Popen(
            ["ls", str(mountpoint / "long")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as reader,
    ):
        time.sleep(1)
        assert reader.poll() is None
        os.kill(process, signal.SIGTERM)
        eventually(lambda: not is_running(process), seconds=8)
        assert reader.wait(5) != 0


def test_a_mount_whose_process_was_killed(sample: Path, mountpoint: Path) -> None:
    with mounted(sample, mountpoint) as process:
        os.kill(process, signal.SIGKILL)
        eventually(lambda: is_dead(str(mountpoint)))
        with pytest.raises(OSError, match="Transport endpoint is not connected"):
            os.listdir(mountpoint)
        assert the_line(run(*MOUNT, sample, mountpoint), 1) == (
            f"{mountpoint}: a mount whose process has died is still here; "
            f"clear it with framefs umount {mountpoint}"
        )
        assert run(*FRAMEFS, "umount", mountpoint).returncode == 0
        assert os.listdir(mountpoint) == []
    with mounted(sample, mountpoint):
        assert sorted(os.listdir(mountpoint)) == VIDEOS


def test_a_dead_mount_that_is_still_in_use_is_cleared(sample: Path, mountpoint: Path) -> None:
    with mounted(sample, mountpoint) as process:
        descriptor = os.open(mountpoint, os.O_RDONLY)
        try:
            os.kill(process, signal.SIGKILL)
            eventually(lambda: is_dead(str(mountpoint)))
            assert run(*FRAMEFS, "umount", mountpoint).returncode == 0
            assert mounted_at(str(mountpoint)) is None
        finally:
            os.close(descriptor)


def test_a_mount_in_use_is_kept_unless_lazy(sample: Path, mountpoint: Path) -> None:
    with mounted(sample, mountpoint) as process:
        descriptor = os.open(mountpoint / VIDEOS[0] / "000000.npy", os.O_RDONLY)
        try:
            assert the_line(run(*FRAMEFS, "umount", mountpoint), 1) == (
                f"{mountpoint}: the mount is in use; close what uses it "
                f"(fuser -vm {mountpoint} shows it), or take it away with --lazy"
            )
            assert sorted(os.listdir(mountpoint)) == VIDEOS
            assert run(*FRAMEFS, "umount", "--lazy", mountpoint).returncode == 0
            assert os.listdir(mountpoint) == []
            assert os.read(descriptor, 6) == b"\x93NUMPY"
        finally:
            os.close(descriptor)
        eventually(lambda: not is_running(process))


def test_a_mount_whose_process_hangs(sample: Path, mountpoint: Path) -> None:
    with mounted(sample, mountpoint) as process:
        os.kill(process, signal.SIGSTOP)
        try:
            assert the_line(run(*FRAMEFS, "umount", mountpoint), 1) == (
                f"{mountpoint}: the mount hangs; take it away with --lazy"
            )
            assert run(*FRAMEFS, "umount", "--lazy", mountpoint).returncode == 0
            assert os.listdir(mountpoint) == []
        finally:
            os.kill(process, signal.SIGCONT)
        eventually(lambda: not is_running(process))


def test_mounting_twice(sample: Path, mountpoint: Path) -> None:
    with mounted(sample, mountpoint):
        assert the_line(run(*MOUNT, sample, mountpoint), 1) == (
            f"{mountpoint}: {sample} is already mounted here; "
            f"unmount it first with framefs umount {mountpoint}"
        )


def test_umount_leaves_other_filesystems_alone() -> None:
    assert the_line(run(*FRAMEFS, "umount", "/proc"), 1) == (
        "/proc: what is mounted here is proc, not framefs"
    )


def test_what_libfuse_says_is_in_the_one_line(sample: Path, mountpoint: Path) -> None:
    for foreground_or_not in ([], ["-f"]):
        result = run(*MOUNT, *foreground_or_not, sample, mountpoint, "-o", "max_read=many")
        line = the_line(result, 1)
        assert line.startswith(f"{mountpoint}: ")
        assert "max_read=many" in line


def test_options_reach_the_mount(sample: Path, mountpoint: Path) -> None:
    options = "rw,nosuid,nodev,noatime,_netdev,uid=1234,gid=2345,umask=027,allow_other"
    if os.geteuid() != 0:
        options = options.removesuffix(",allow_other")
    with mounted(sample, mountpoint, "-o", options):
        status = os.stat(mountpoint / VIDEOS[0] / "000000.png")
        assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (1234, 2345, 0o440)
        assert os.stat(mountpoint / VIDEOS[0]).st_mode & 0o777 == 0o550
        flags = os.statvfs(mountpoint).f_flag
        assert flags & os.ST_RDONLY
        assert flags & os.ST_NODEV
        assert flags & os.ST_NOATIME


def test_settings_reach_the_mount(sample: Path, mountpoint: Path, tmp_path: Path) -> None:
    file = tmp_path / "mount.yaml"
    file.write_text(
        f"source: {sample}\nmountpoint: mnt\ncorpus: {{extensions: [avi]}}\n"
        "frames: {color: gray}\nindex: {path: ':memory:'}\n"
    )
    assert run(*MOUNT, "--config", file).returncode == 0
    assert os.listdir(mountpoint) == []
    assert run(*FRAMEFS, "umount", "--config", file).returncode == 0
    # the command line goes before the file
    assert run(*MOUNT, "--config", file, "-o", "corpus.extensions=avi:mp4").returncode == 0
    assert sorted(os.listdir(mountpoint)) == VIDEOS
    header = (mountpoint / VIDEOS[0] / "000000.png").read_bytes()[:26]
    assert header[24:26] == bytes([8, 0])  # bits per sample, gray


def test_over_a_folder_with_something_in_it(sample: Path, mountpoint: Path) -> None:
    (mountpoint / "letter.txt").write_text("hello")
    with mounted(sample, mountpoint, "-o", "nonempty"):
        assert sorted(os.listdir(mountpoint)) == VIDEOS
    assert os.listdir(mountpoint) == ["letter.txt"]


def test_as_a_helper_of_mount(sample: Path, mountpoint: Path, tmp_path: Path) -> None:
    # as mount(8) calls it; the name is that of a link
    program = f"import sys; sys.argv[0] = '/sbin/mount.framefs'; {START}"
    helper = (sys.executable, "-c", program, sample, mountpoint)
    options = "rw,index.path=:memory:,x-systemd.automount"
    assert run(*helper, "-f", "-n", "-o", options).returncode == 0
    assert mounted_at(str(mountpoint)) is None
    assert run(*helper, "-n", "-v", "-o", options).returncode == 0
    assert sorted(os.listdir(mountpoint)) == VIDEOS
    assert run(*FRAMEFS, "umount", mountpoint).returncode == 0
    assert the_line(run(*helper, "-o", f"{options},nope"), 2).startswith("unknown option -o nope")
    assert run(*helper, "-sn", "-o", f"{options},nope").returncode == 0
    assert run(*FRAMEFS, "umount", mountpoint).returncode == 0


START = "import cli.main; cli.main.main()"


@pytest.mark.skipif(os.geteuid() != 0, reason="puts a helper in place as root does")
def test_by_mount_itself(sample: Path, mountpoint: Path, tmp_path: Path) -> None:
    script = tmp_path / "mount.framefs"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n{START}\n"
    )
    script.chmod(0o755)
    # a private /sbin with the helper in it, in a mount namespace of its own
    lower = "mount -t tmpfs none /run && mkdir /run/u /run/w && mount -t overlay none /usr/sbin "
    steps = (
        f"{lower} -o lowerdir=/usr/sbin,upperdir=/run/u,workdir=/run/w && "
        f"cp {script} /usr/sbin/mount.framefs && "
        f"mount -t framefs -o noauto,nosuid,index.path=:memory: {sample} {mountpoint} && "
        f"ls {mountpoint} && umount {mountpoint}"
    )
    result = run("unshare", "--mount", "sh", "-c", steps)
    assert result.returncode == 0, result
    assert result.stdout.split() == VIDEOS


def test_the_service_manager_is_told(sample: Path, mountpoint: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)
        process = foreground(sample, mountpoint, NOTIFY_SOCKET=str(tmp_path / "notify"))
        assert manager.recv(4096).decode() == (
            f"READY=1\nSTATUS={sample} is mounted at {mountpoint}"
        )
        process.terminate()
        assert manager.recv(4096) == b"STOPPING=1"
        process.communicate(timeout=20)
        assert process.returncode == 0


def test_the_service_manager_hears_nothing_before_the_mount_answers(
    sample: Path, mountpoint: Path, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(0.1)
        environment = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}
        result = run(*MOUNT, "-f", sample, mountpoint, "-o", "max_read=many", env=environment)
        assert result.returncode == 1
        assert b"READY" not in manager.recv(4096)


def test_log_to_a_file(sample: Path, mountpoint: Path, tmp_path: Path) -> None:
    log = tmp_path / "framefs.log"
    with mounted(sample, mountpoint, "-o", f"logging.target={log}") as process:
        os.kill(process, signal.SIGTERM)
        eventually(lambda: not is_running(process))
    lines = log.read_text().splitlines()
    assert any(line.endswith(f"{sample} is mounted at {mountpoint}") for line in lines)
    assert lines[-1].endswith(f"{sample} is unmounted from {mountpoint}")


def test_an_index_that_was_named_and_cannot_be_used(
    sample: Path, mountpoint: Path, tmp_path: Path
) -> None:
    result = run(*MOUNT, sample, mountpoint, "--index", tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith(f"framefs: index.path: {tmp_path} cannot be used")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--layout", "nope"], "frames.layout: there is no layout nope; framefs layouts lists"),
        (["-o", "frames.layout=mmaction"], "frames.layout: there is no layout mmaction; did you"),
        (["--layout", "lerobot-v3"], "frames: episode-{episode_index:06d}: there is no field {ep"),
        (["-o", "frames.file={stem}{number},frames.directory={parent}"], "frames: {stem}{number}"),
        (["-o", "frames.directory={stem}"], "frames: a/x.mp4 and b/x.mp4 would both be x; add"),
        (["--layout", "epic-kitchens"], "frames: the layout puts the clips of a/ into a director"),
        (["--layout", "davis", "-o", "frames.depth=16"], "frames.depth: jpg holds 8 bits a sampl"),
    ],
)
def test_frames_that_cannot_be_shown_so_are_refused_before_mounting(
    tmp_path: Path, mountpoint: Path, arguments: list[str], message: str
) -> None:
    for name in ("a/x.mp4", "b/x.mp4", "a/rgb_frames/y.mp4"):
        (tmp_path / "v" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "v" / name).touch()
    line = the_line(run(*MOUNT, tmp_path / "v", mountpoint, *arguments), 2)
    assert line.startswith(message)
    assert mounted_at(str(mountpoint)) is None


def test_a_layout_by_name_and_views_from_a_file(
    sample: Path, mountpoint: Path, tmp_path: Path
) -> None:
    with mounted(sample, mountpoint, "--layout", "mmaction2"):
        listed = sorted(os.listdir(mountpoint / VIDEOS[0]))
        assert (listed[0], listed[-1], len(listed)) == ("img_00001.jpg", "img_00300.jpg", 300)
    file = tmp_path / "views.yaml"
    file.write_text("views: {all: {}, few: {layout: davis, stride: 100, resize: 64}}\n")
    with mounted(sample, mountpoint, "--config", file):
        assert sorted(os.listdir(mountpoint)) == ["all", "few"]
        few = mountpoint / "few" / "JPEGImages" / "480p" / VIDEOS[0]
        assert sorted(os.listdir(few)) == ["00000.jpg", "00001.jpg", "00002.jpg"]
        assert len(os.listdir(mountpoint / "all" / VIDEOS[1])) == 300
