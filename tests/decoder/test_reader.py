from __future__ import annotations

import dataclasses
import multiprocessing
import os
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from decoder.checked import KeyTrust
from decoder.corpus import Source, source_at
from decoder.errors import (
    DecodeFailed,
    FrameOutOfRange,
    SourceChanged,
    SourceNotFound,
    UnsupportedStream,
)
from decoder.index import KEY, NO_PACKET, NO_TIMESTAMP, SourceIndex
from decoder.reader import FrameReader
from decoder.scan import scan
from tests.clips import concatenate, read_barcode, remux, write_clip
from tests.oracle import full_decode


@pytest.fixture(scope="module")
def expected(h264: Path) -> list[NDArray[Any]]:
    return list(full_decode(h264))


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Versions 1 and 2 of a clip in several containers, larger than what is read ahead."""
    folder = tmp_path_factory.mktemp("versions")
    found: dict[str, list[Path]] = {}
    for version in (1, 2):
        options = {"crf": "10", "preset": "ultrafast"}
        clip = folder / f"{version}.mp4"
        write_clip(clip, version=version, gop=15, size=(256, 192), options=options)
        found.setdefault("mp4", []).append(clip)
        for suffix in ("mkv", "ts"):
            copy = remux(clip, folder / f"{version}.{suffix}")
            found.setdefault(suffix, []).append(copy)
    assert found["mp4"][0].stat().st_size > 300_000
    return found


def numbers(arrays: NDArray[Any]) -> list[int]:
    return [read_barcode(array).frame for array in arrays]


def changed(index: SourceIndex, *, packets: Any = None, frames: Any = None) -> SourceIndex:
    return SourceIndex(
        index.facts, packets or index.packets, frames or index.frames, index.geometries
    )


def test_interface(h264: Path) -> None:
    with FrameReader(h264) as reader:
        assert len(reader) == 60
        assert reader.fps == 30
        assert reader.shape == (96, 128, 3)
        frames = reader.read([17, 2, 17])
        assert frames.shape == (3, 96, 128, 3)
        assert frames.dtype == np.uint8
        assert numbers(frames) == [17, 2, 17]
        assert reader.read([]).shape == (0, 96, 128, 3)
        assert reader.read([], "gray16le").shape == (0, 96, 128)
        assert reader.read([], "gray16le").dtype == np.uint16
        assert reader.read([5], "gray").shape == (1, 96, 128)
        assert reader.stats.requested == 3  # each once
        assert reader.stats.reconstructed > 0
        assert reader.stats.bytes_read > 0


@pytest.mark.parametrize("wrong", [[-1], [60], [0, 10**15], [3, -60]])
def test_out_of_range(source: Source, index: SourceIndex, wrong: list[int]) -> None:
    with FrameReader(source, index=index) as reader:
        with pytest.raises(FrameOutOfRange):
            reader.read(wrong)
        for n in (wrong[-1],):
            with pytest.raises(FrameOutOfRange):
                reader.frame(n)
        assert numbers(reader.read([59])) == [59]


def test_repeats_are_the_same_whatever_was_asked_before(
    source: Source, index: SourceIndex, expected: list[NDArray[Any]]
) -> None:
    rng = random.Random(4)
    with FrameReader(source, index=index) as reader:
        for _ in range(60):
            asked = [rng.choice([0, 1, 14, 15, 16, 44, 45, 57, 58, 59, 59]) for _ in range(4)]
            for n, array in zip(asked, reader.read(asked), strict=True):
                assert np.array_equal(array, expected[n])


def test_tail_again_and_again(source: Source, index: SourceIndex) -> None:
    with FrameReader(source, index=index) as reader:
        for _ in range(50):
            assert numbers(reader.read([59, 58, 59, 56])) == [59, 58, 59, 56]


def test_windows_that_shift_by_one(source: Source, index: SourceIndex) -> None:
    with FrameReader(source, index=index) as reader:
        for start in range(53):
            assert numbers(reader.read(range(start, start + 8))) == list(range(start, start + 8))


def test_disjoint_batches(source: Source, index: SourceIndex) -> None:
    with FrameReader(source, index=index) as reader:
        assert numbers(reader.read(range(40, 50))) == list(range(40, 50))
        assert numbers(reader.read(range(5, 15))) == list(range(5, 15))
        assert numbers(reader.read(range(50, 60))) == list(range(50, 60))


def test_backwards(source: Source, index: SourceIndex) -> None:
    with FrameReader(source, index=index) as reader:
        for n in reversed(range(60)):
            assert read_barcode(reader.frame(n).array("rgb24")).frame == n


def test_going_on_decodes_each_packet_once(source: Source, index: SourceIndex) -> None:
    with FrameReader(source, index=index) as reader:
        for n in range(60):
            reader.frame(n)
        assert reader.stats.reconstructed == 60
        assert reader.stats.opened == 1
        assert reader.stats.seeks == 0


def test_key_packets_save_decoding(source: Source, index: SourceIndex) -> None:
    with FrameReader(source, index=index) as reader:
        for n in (50, 20, 35, 59):
            reader.frame(n)
        assert reader.stats.rejected == 0
        assert reader.stats.reconstructed <= 4 * 22


def test_several_readers_in_several_threads(
    source: Source, index: SourceIndex, expected: list[NDArray[Any]]
) -> None:
    trust = KeyTrust(index)
    faults: list[object] = []

    def run(seed: int) -> None:
        rng = random.Random(seed)
        with FrameReader(source, index=index, trust=trust) as reader:
            for _ in range(25):
                n = rng.randrange(60)
                if not np.array_equal(reader.frame(n).array("rgb24"), expected[n]):
                    faults.append((seed, n))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults


def test_frames_of_different_sizes(tmp_path: Path) -> None:
    parts = [
        write_clip(tmp_path / "a.h264", frames=10),
        write_clip(tmp_path / "b.h264", frames=10, size=(64, 48)),
    ]
    path = concatenate(tmp_path / "ab.h264", parts)
    with FrameReader(path) as reader:
        with pytest.raises(UnsupportedStream, match="64x48, 128x96"):
            reader.read([3, 15])
        assert numbers(reader.read([15, 11])) == [5, 1]
        assert numbers(reader.read([3])) == [3]


# --- after a fork ----------------------------------------------------------------------------


def test_after_a_fork_both_go_on(versions: dict[str, list[Path]]) -> None:
    """Parent and child share the position in files that were open before."""
    for clips in versions.values():
        with FrameReader(clips[0]) as reader:
            reader.read([20])
            for first in (21, 30):
                child = os.fork()
                if child == 0:
                    status = 1
                    try:
                        asked = [first, 50, 3, 59, 31, 0]
                        status = 0 if numbers(reader.read(asked)) == asked else 2
                    finally:
                        os._exit(status)
                for asked in ([first, 22, 58, 1], [44, 16], [0, 59]):
                    assert numbers(reader.read(asked)) == asked
                assert os.waitpid(child, 0)[1] == 0
            assert reader.stats.rejected == 0


def _read_in_child(reader: FrameReader, asked: list[int], results: Any) -> None:
    opened = reader.stats.opened
    results.put((numbers(reader.read(asked)), reader.stats.opened - opened > 0))


def test_in_processes_that_multiprocessing_forks(versions: dict[str, list[Path]]) -> None:
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    with FrameReader(versions["mp4"][0]) as reader:
        reader.read([33])
        asked = [[34, 35], [2, 59], [59, 0]]
        children = [
            context.Process(target=_read_in_child, args=(reader, frames, results))
            for frames in asked
        ]
        for child in children:
            child.start()
        found = sorted(results.get(timeout=30) for _ in children)
        for child in children:
            child.join(30)
        assert found == [(frames, True) for frames in sorted(asked)]
        assert numbers(reader.read([34])) == [34]


# --- the file changes under the reader -------------------------------------------------------


Change: TypeAlias = Callable[[Path, Path], None]


def rename_over(path: Path, other: Path) -> None:
    os.replace(other, path)


def write_over(path: Path, other: Path) -> None:
    with path.open("r+b") as file:
        file.write(other.read_bytes())
        file.truncate()


def append(path: Path, other: Path) -> None:
    with path.open("ab") as file:
        file.write(other.read_bytes())


def truncate(path: Path, other: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def delete(path: Path, other: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [rename_over, write_over, append, truncate, delete])
@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
def test_never_a_wrong_frame_when_the_file_changes(
    tmp_path: Path, versions: dict[str, list[Path]], suffix: str, change: Change
) -> None:
    path, other = (Path(shutil.copy(clip, tmp_path)) for clip in versions[suffix])
    failed = False
    with FrameReader(source_at(str(path))) as reader:
        assert read_barcode(reader.frame(20).array("rgb24")) == (1, 20)
        change(path, other)
        for n in (21, 40, 22, 3, 59, 58, 0):
            try:
                # An open file that was replaced is still the version that was meant.
                assert read_barcode(reader.frame(n).array("rgb24")) == (1, n)
            except (SourceChanged, SourceNotFound):
                failed = True
    assert failed
    if change is not delete:
        with pytest.raises(SourceChanged):
            FrameReader(reader.source, index=reader.index).frame(3)
    else:
        with pytest.raises(SourceNotFound):
            FrameReader(reader.source, index=reader.index).frame(3)


def test_change_that_leaves_the_fingerprint_is_no_wrong_frame(tmp_path: Path, h264: Path) -> None:
    path = shutil.copyfile(h264, tmp_path / "a.mp4")
    source = source_at(str(path))
    index = scan(source)
    content = bytearray(path.read_bytes())
    start = int(index.packets.position[20]) + 8
    content[start : start + 40] = random.Random(1).randbytes(40)
    path.write_bytes(content)
    os.utime(path, ns=(source.fingerprint.mtime_ns, source.fingerprint.mtime_ns))
    right = wrong = 0
    with FrameReader(source, index=index) as reader:
        for n in [*range(60), 3, 59]:
            try:
                assert read_barcode(reader.frame(n).array("rgb24")) == (1, n)
                right += 1
            except DecodeFailed:
                wrong += 1
    assert right >= 45
    assert wrong >= 1


# --- an index that lies ----------------------------------------------------------------------


def read_all(
    source: Source, index: SourceIndex, expected: list[NDArray[Any]], seed: int
) -> tuple[int, int]:
    """(right, refused) frames, read in random order; a wrong one fails."""
    right = refused = 0
    order = list(range(60))
    random.Random(seed).shuffle(order)
    with FrameReader(source, index=index) as reader:
        for n in order[:20]:
            try:
                array = reader.frame(n).array("rgb24")
            except DecodeFailed:
                refused += 1
                continue
            assert np.array_equal(array, expected[n])
            right += 1
    return right, refused


@pytest.mark.parametrize("column", ["pts", "dts", "position", "size"])
def test_packet_rows_that_lie(
    source: Source, index: SourceIndex, expected: list[NDArray[Any]], column: str
) -> None:
    rng = np.random.default_rng(1)
    values = getattr(index.packets, column)
    same = np.full_like(values, values[30])
    shuffled = rng.permutation(values)
    shifted = np.roll(values, 3)
    for values in (same, shuffled, shifted):
        lying = changed(index, packets=dataclasses.replace(index.packets, **{column: values}))
        assert sum(read_all(source, lying, expected, 2)) == 20


def test_one_packet_row_that_lies(
    source: Source, index: SourceIndex, expected: list[NDArray[Any]]
) -> None:
    """What lies before it is served; nothing hangs on to the reader's broken state."""
    positions = index.packets.position.copy()
    positions[45] += 1
    lying = changed(index, packets=dataclasses.replace(index.packets, position=positions))
    with FrameReader(source, index=lying) as reader:
        for _ in range(2):
            with pytest.raises(DecodeFailed, match="packet 45"):
                reader.frame(50)
            assert np.array_equal(reader.frame(20).array("rgb24"), expected[20])
            assert np.array_equal(reader.frame(40).array("rgb24"), expected[40])


def test_rows_swapped_so_that_a_seek_lands_on_another_packet(
    source: Source, index: SourceIndex, expected: list[NDArray[Any]]
) -> None:
    tables = {
        name: getattr(index.packets, name).copy() for name in ("pts", "dts", "position", "size")
    }
    for values in tables.values():
        values[[15, 30]] = values[[30, 15]]
    lying = changed(index, packets=dataclasses.replace(index.packets, **tables))
    right, refused = read_all(source, lying, expected, 3)
    assert right
    assert refused


def test_seeks_that_lead_astray_do_not_lose_frames(tmp_path: Path) -> None:
    """Timestamps that a demuxer makes up differ after a seek; then the file is read through."""
    path = write_clip(tmp_path / "a.mkv", gop=10, b_frames=2, fps=2400)
    source = source_at(str(path))
    index = scan(source)
    with FrameReader(source, index=index) as reader:
        for n in (55, 20, 40, 12, 59, 31):
            assert numbers(reader.read([n])) == [n]


@pytest.mark.parametrize("flagged", [[3], [10, 33], [1, 2, 3, 4, 5, 6, 7, 8, 40], list(range(60))])
def test_key_flags_that_lie(
    source: Source, index: SourceIndex, expected: list[NDArray[Any]], flagged: list[int]
) -> None:
    flags = index.packets.flags.copy()
    flags[flagged] |= KEY
    lying = changed(index, packets=dataclasses.replace(index.packets, flags=flags))
    assert read_all(source, lying, expected, 5) == (20, 0)
    flags = np.zeros_like(flags)
    flags[flagged] |= KEY
    lying = changed(index, packets=dataclasses.replace(index.packets, flags=flags))
    assert read_all(source, lying, expected, 6) == (20, 0)


def test_key_flags_that_lie_are_found_out_once(tmp_path: Path) -> None:
    """Intra refresh: recovery points are flagged as key packets and are none."""
    options = {"x264-params": "intra-refresh=1:keyint=10:bframes=0"}
    path = write_clip(tmp_path / "a.mp4", options=options, gop=10)
    source = source_at(str(path))
    index = scan(source)
    assert np.count_nonzero(index.packets.flags & KEY) > 1
    expected = list(full_decode(path))
    trust = KeyTrust(index)
    with FrameReader(source, index=index, trust=trust) as reader:
        for n in (55, 25, 58, 41, 12):
            assert np.array_equal(reader.frame(n).array("rgb24"), expected[n])
        found_out = reader.stats.rejected
        assert found_out
        for n in (55, 25, 58, 41, 12):
            assert np.array_equal(reader.frame(n).array("rgb24"), expected[n])
        assert reader.stats.rejected == found_out


def test_intra_refresh_of_the_corpus(clips: Path) -> None:
    path = clips / "synth" / "s08_intra_refresh.mp4"
    expected = list(full_decode(path))
    with FrameReader(path) as reader:
        for n in (59, 20, 40, 1, 58):
            assert np.array_equal(reader.frame(n).array("rgb24"), expected[n])


@pytest.mark.parametrize("frame", [0, 15, 29, 59])
def test_hash_that_lies(
    source: Source, index: SourceIndex, expected: list[NDArray[Any]], frame: int
) -> None:
    hashes = index.frames.hash.copy()
    hashes[frame] ^= np.uint64(1)
    lying = changed(index, frames=dataclasses.replace(index.frames, hash=hashes))
    trust = KeyTrust(lying)
    with FrameReader(source, index=lying, trust=trust) as reader:
        for _ in range(2):
            with pytest.raises(DecodeFailed, match=f"frame {frame} cannot be reproduced"):
                reader.frame(frame)
        for n in range(60):
            if n != frame:
                assert np.array_equal(reader.frame(n).array("rgb24"), expected[n])
        before = reader.stats.reconstructed
        reader.frame(5)
        reader.frame(58)
        # One frame that cannot be reproduced says nothing against the key packets.
        assert reader.stats.reconstructed - before < 40


def test_hashes_swapped_are_no_wrong_frames(source: Source, index: SourceIndex) -> None:
    hashes = index.frames.hash.copy()
    hashes[[10, 40]] = hashes[[40, 10]]
    lying = changed(index, frames=dataclasses.replace(index.frames, hash=hashes))
    with FrameReader(source, index=lying) as reader:
        for n in (10, 40):
            with pytest.raises(DecodeFailed):
                reader.frame(n)
        assert numbers(reader.read([11, 41])) == [11, 41]


@pytest.mark.parametrize("untraced", [[0], [59], [20, 21, 22], list(range(60))])
def test_frames_that_no_packet_is_known_of(
    source: Source, index: SourceIndex, expected: list[NDArray[Any]], untraced: list[int]
) -> None:
    packets = index.frames.packet.copy()
    packets[untraced] = NO_PACKET
    blind = changed(index, frames=dataclasses.replace(index.frames, packet=packets))
    assert blind.pts(untraced[0]) is None
    with FrameReader(source, index=blind) as reader:
        for n in [*untraced[:3], 30, 10, 59, *untraced[-2:]]:
            try:
                assert np.array_equal(reader.frame(n).array("rgb24"), expected[n])
            except DecodeFailed:
                assert n in untraced


def test_still_pictures(tmp_path: Path) -> None:
    """Frames that equal each other bit for bit are still counted right."""
    path = write_clip(tmp_path / "a.mkv", codec="ffv1", frames=6)
    still = write_clip(tmp_path / "b.mkv", codec="ffv1", frames=1)
    copies = remux(path, tmp_path / "c.mkv")
    assert scan(source_at(str(still))).frame_count == 1
    with FrameReader(copies) as reader:
        assert numbers(reader.read([5, 0, 3])) == [5, 0, 3]


def test_timestamps_that_the_index_does_not_have(source: Source, index: SourceIndex) -> None:
    """The file is not the one of the index, then."""
    nothing = np.full_like(index.packets.pts, NO_TIMESTAMP)
    raw = dataclasses.replace(index.packets, pts=nothing, dts=nothing)
    reader = FrameReader(source, index=changed(index, packets=raw))
    with reader, pytest.raises(DecodeFailed, match="packet 0"):
        reader.frame(30)


# --- which packets to start from -------------------------------------------------------------


def test_starts_are_named_nearest_first(index: SourceIndex) -> None:
    trust = KeyTrust(index)
    packet = int(index.frames.packet[50])
    assert list(trust.before(50, packet)) == [45, 30, 15, 0]
    trust.reject(30)
    assert list(trust.before(50, packet)) == [45, 15, 0]
    assert list(trust.before(0, 0)) == [0]


def test_leading_pictures_start_before_their_key(tmp_path: Path) -> None:
    options = {"x264-params": "open-gop=1:bframes=3:keyint=10:scenecut=0:b-adapt=0"}
    path = write_clip(tmp_path / "a.mp4", options=options, gop=10)
    index = scan(source_at(str(path)))
    trust = KeyTrust(index)
    keys = [key for key in np.flatnonzero(index.packets.flags & KEY).tolist() if key]
    leading = 0
    for n in range(60):
        packet = int(index.frames.packet[n])
        for key in trust.before(n, packet):
            own = int(np.flatnonzero(index.frames.packet == key)[0])
            assert own <= n
        leading += any(
            key < packet and n < int(np.flatnonzero(index.frames.packet == key)[0]) for key in keys
        )
    assert leading


def test_trust_is_quick_where_every_packet_is_a_key_one(index: SourceIndex) -> None:
    n = 500_000
    packets = dataclasses.replace(
        index.packets,
        **{
            name: np.arange(n, dtype=getattr(index.packets, name).dtype)
            for name in ("pts", "dts", "position", "size")
        },
        flags=np.full(n, KEY, np.uint8),
    )
    frames = dataclasses.replace(
        index.frames,
        packet=np.arange(n, dtype=np.int32),
        picture_type=np.ones(n, np.uint8),
        hash=np.zeros(n, np.uint64),
        geometry=np.zeros(n, np.uint16),
    )
    trust = KeyTrust(changed(index, packets=packets, frames=frames))
    assert next(trust.before(n - 1, n - 1)) == n - 1
