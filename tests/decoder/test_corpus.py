from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from decoder.corpus import Corpus, Fingerprint, source_at
from decoder.errors import SourceNotFound, SourceUnreadable
from decoder.scan import scan


def corpus(root: Path, *, follow_symlinks: bool = False) -> Corpus:
    return Corpus(str(root), follow_symlinks=follow_symlinks, freshness=0)


def put(path: Path, content: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def age(path: Path, seconds: float = 10) -> None:
    """Makes a directory look untouched for a while (its ctime cannot be set: waits for that)."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_shows_videos_and_folders_sorted(tmp_path: Path) -> None:
    for name in ("b.mp4", "a.MKV", "sub/c.webm", "notes.txt", "noextension", "d.mp4.part"):
        put(tmp_path / name)
    folder = corpus(tmp_path).folder("")
    assert folder.videos == ("a.MKV", "b.mp4")
    assert folder.folders == ("sub",)
    assert folder.mtime_ns == tmp_path.stat().st_mtime_ns
    assert corpus(tmp_path).folder("sub").videos == ("c.webm",)


def test_extensions_are_configurable(tmp_path: Path) -> None:
    put(tmp_path / "a.mp4")
    put(tmp_path / "b.XYZ")
    assert Corpus(str(tmp_path), extensions=["xyz", ".m"]).folder("").videos == ("b.XYZ",)


@pytest.mark.parametrize("relpath", [".hidden.mp4", "sub/.hidden.mp4", ".dir/a.mp4"])
def test_hidden_names_are_not_there(tmp_path: Path, relpath: str) -> None:
    put(tmp_path / relpath)
    shown = corpus(tmp_path)
    assert shown.folder("").videos == ()
    assert ".dir" not in shown.folder("").folders
    with pytest.raises(SourceNotFound):
        shown.source(relpath)
    with pytest.raises(SourceNotFound):
        shown.folder(".dir")


@pytest.mark.parametrize(
    "relpath", ["../outside.mp4", "sub/../../outside.mp4", "/etc/hosts", "a\0.mp4", "a.mp4/b.mp4"]
)
@pytest.mark.parametrize("follow", [False, True])
def test_nothing_outside_is_reached(tmp_path: Path, relpath: str, follow: bool) -> None:
    root = tmp_path / "root"
    put(root / "sub" / "a.mp4")
    put(root / "a.mp4")
    put(tmp_path / "outside.mp4")
    with pytest.raises(SourceNotFound):
        Corpus(str(root), follow_symlinks=follow).source(relpath)
    with pytest.raises(SourceNotFound):
        Corpus(str(root), follow_symlinks=follow).folder(relpath)


def test_source_is_a_version(tmp_path: Path) -> None:
    path = put(tmp_path / "a.mp4", b"12345")
    source = corpus(tmp_path).source("a.mp4")
    assert source.path == str(path)
    assert source.fingerprint == Fingerprint(5, path.stat().st_mtime_ns)
    assert source_at(str(path)) == source


@pytest.mark.parametrize("what", ["missing", "directory", "fifo", "not a video"])
def test_what_is_no_source(tmp_path: Path, what: str) -> None:
    name = "a.mp4"
    if what == "directory":
        (tmp_path / name).mkdir()
    elif what == "fifo":
        os.mkfifo(tmp_path / name)
    elif what == "not a video":
        name = "a.txt"
        put(tmp_path / name)
    shown = corpus(tmp_path)
    assert shown.folder("").videos == ()
    with pytest.raises(SourceNotFound, match=name):
        shown.source(name)


def test_folder_of_a_file_and_of_nothing(tmp_path: Path) -> None:
    put(tmp_path / "a.mp4")
    for relpath in ("a.mp4", "gone"):
        with pytest.raises(SourceNotFound):
            corpus(tmp_path).folder(relpath)


def test_changes_are_seen(tmp_path: Path) -> None:
    shown = corpus(tmp_path)
    assert shown.folder("").videos == ()
    path = put(tmp_path / "a.mp4")
    assert shown.folder("").videos == ("a.mp4",)
    before = shown.source("a.mp4")
    put(path, b"longer")
    assert shown.source("a.mp4").fingerprint.size == 6 != before.fingerprint.size
    path.unlink()
    assert shown.folder("").videos == ()
    with pytest.raises(SourceNotFound):
        shown.source("a.mp4")


def test_answers_are_kept_for_as_long_as_promised(tmp_path: Path) -> None:
    shown = Corpus(str(tmp_path), freshness=0.15)
    put(tmp_path / "a.mp4", b"1")
    assert shown.source("a.mp4").fingerprint.size == 1
    assert shown.folder("").videos == ("a.mp4",)
    put(tmp_path / "a.mp4", b"22")
    put(tmp_path / "b.mp4")
    time.sleep(0.16)
    assert shown.source("a.mp4").fingerprint.size == 2
    assert shown.folder("").videos == ("a.mp4", "b.mp4")


def test_change_within_one_tick_of_the_directory_is_seen(tmp_path: Path) -> None:
    """A second change may leave the mtime as the first one set it."""
    shown = corpus(tmp_path)
    put(tmp_path / "a.mp4")
    moment = time.time_ns()
    os.utime(tmp_path, ns=(moment, moment))
    assert shown.folder("").videos == ("a.mp4",)
    put(tmp_path / "b.mp4")
    os.utime(tmp_path, ns=(moment, moment))
    assert shown.folder("").videos == ("a.mp4", "b.mp4")


def test_change_is_seen_when_the_mtime_is_set_back(tmp_path: Path) -> None:
    """As rsync and cp -a do when they have filled a directory."""
    shown = corpus(tmp_path)
    put(tmp_path / "a.mp4")
    age(tmp_path)
    time.sleep(1.1)  # now the listing may be believed for as long as the directory is untouched
    mtime_ns = shown.folder("").mtime_ns
    put(tmp_path / "b.mp4")
    os.utime(tmp_path, ns=(mtime_ns, mtime_ns))
    assert tmp_path.stat().st_mtime_ns == mtime_ns
    assert shown.folder("").videos == ("a.mp4", "b.mp4")


def test_directory_replaced_by_another_and_by_a_file(tmp_path: Path) -> None:
    shown = corpus(tmp_path)
    put(tmp_path / "d.mp4" / "a.mp4")
    put(tmp_path / "other" / "b.mp4")
    assert shown.folder("").folders == ("d.mp4", "other")
    assert shown.folder("d.mp4").videos == ("a.mp4",)
    for name in ("d.mp4", "other"):
        os.utime(tmp_path / name, ns=(10**18, 10**18))
    os.rename(tmp_path / "d.mp4", tmp_path / "gone")
    os.rename(tmp_path / "other", tmp_path / "d.mp4")
    assert shown.folder("d.mp4").videos == ("b.mp4",)
    os.rename(tmp_path / "d.mp4", tmp_path / "other")
    put(tmp_path / "d.mp4")
    with pytest.raises(SourceNotFound):
        shown.folder("d.mp4")
    assert shown.source("d.mp4").fingerprint.size == 1
    assert shown.folder("").videos == ("d.mp4",)


def test_links_inside_are_followed_and_out_of_it_only_if_configured(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root / "sub" / "a.mp4")
    put(tmp_path / "outside" / "b.mp4")
    (root / "in.mp4").symlink_to("sub/a.mp4")
    (root / "in").symlink_to("sub")
    (root / "out.mp4").symlink_to(tmp_path / "outside" / "b.mp4")
    (root / "out").symlink_to(tmp_path / "outside")
    shown = corpus(root)
    assert shown.folder("").videos == ("in.mp4",)
    assert shown.folder("").folders == ("in", "sub")
    assert shown.source("in.mp4").fingerprint.size == 1
    assert shown.source("in/a.mp4").fingerprint.size == 1
    for relpath in ("out.mp4", "out/b.mp4"):
        with pytest.raises(SourceNotFound):
            shown.source(relpath)
    with pytest.raises(SourceNotFound):
        shown.folder("out")
    all_of_it = corpus(root, follow_symlinks=True)
    assert all_of_it.folder("").videos == ("in.mp4", "out.mp4")
    assert all_of_it.source("out/b.mp4").path == str(root / "out" / "b.mp4")


def test_root_may_be_a_link(tmp_path: Path) -> None:
    put(tmp_path / "real" / "sub" / "a.mp4")
    (tmp_path / "root").symlink_to("real")
    shown = corpus(tmp_path / "root")
    assert shown.root == str(tmp_path / "real")
    assert shown.source("sub/a.mp4").path == str(tmp_path / "real" / "sub" / "a.mp4")


def test_a_name_that_begins_like_the_root_is_outside(tmp_path: Path) -> None:
    put(tmp_path / "root" / "a.mp4")
    put(tmp_path / "rootless" / "b.mp4")
    (tmp_path / "root" / "b.mp4").symlink_to(tmp_path / "rootless" / "b.mp4")
    assert corpus(tmp_path / "root").folder("").videos == ("a.mp4",)


def test_useless_links_do_not_hide_the_others(tmp_path: Path) -> None:
    put(tmp_path / "a.mp4")
    (tmp_path / "circle.mp4").symlink_to("circle.mp4")
    (tmp_path / "dangling.mp4").symlink_to("nothing.mp4")
    for follow in (False, True):
        assert corpus(tmp_path, follow_symlinks=follow).folder("").videos == ("a.mp4",)


def test_walking_ends_where_links_lead_back(tmp_path: Path) -> None:
    put(tmp_path / "a" / "v.mp4")
    put(tmp_path / "b" / "w.mp4")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "a" / "self").symlink_to(".")
    (tmp_path / "a" / "b").symlink_to("../b")
    (tmp_path / "b" / "a").symlink_to("../a")
    shown = corpus(tmp_path)
    found = []
    waiting = [""]
    while waiting:
        relpath = waiting.pop()
        folder = shown.folder(relpath)
        found += [os.path.join(relpath, name) for name in folder.videos]
        waiting += [os.path.join(relpath, name) for name in folder.folders]
        assert len(found) < 20
    assert sorted(found) == ["a/b/w.mp4", "a/v.mp4", "b/a/v.mp4", "b/w.mp4"]


def test_what_a_link_leads_to_may_come_and_go(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root / "sub" / "keep.mp4")
    (root / "link.mp4").symlink_to("sub/late.mp4")
    shown = corpus(root)
    time.sleep(1.1)  # the directory itself is quiet
    assert shown.folder("").videos == ()
    put(root / "sub" / "late.mp4")
    time.sleep(0.6)
    assert shown.folder("").videos == ("link.mp4",)
    (root / "sub" / "late.mp4").unlink()
    time.sleep(0.6)
    assert shown.folder("").videos == ()


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \xff.mp4")
    put(tmp_path / name)
    shown = corpus(tmp_path)
    assert shown.folder("").videos == (name,)
    assert os.path.exists(shown.source(name).path)


def test_directory_that_may_not_be_listed(tmp_path: Path, permissions: None) -> None:
    put(tmp_path / "closed" / "a.mp4")
    (tmp_path / "link.mp4").symlink_to("closed/a.mp4")
    put(tmp_path / "b.mp4")
    (tmp_path / "closed").chmod(0)
    with pytest.raises(SourceUnreadable, match="permissions"):
        corpus(tmp_path).folder("closed")
    with pytest.raises(SourceNotFound):
        corpus(tmp_path).source("closed/a.mp4")
    assert corpus(tmp_path).folder("").folders == ("closed",)
    assert corpus(tmp_path).folder("").videos == ("b.mp4",)
    (tmp_path / "closed").chmod(0o700)


def test_file_that_may_not_be_read(tmp_path: Path, permissions: None, h264: Path) -> None:
    path = Path(shutil.copy(h264, tmp_path))
    path.chmod(0)
    source = corpus(tmp_path).source(path.name)
    with pytest.raises(SourceUnreadable, match="Permission denied"):
        scan(source)
