"""Sparse reading of sources that had to be decoded to be indexed."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import av
import numpy as np
import pytest

from decoder import packets, proving
from decoder.bitstream import mpeg12, vp8, vp9
from decoder.bitstream.bits import BitReader
from decoder.bitstream.mpeg4 import Mpeg4Parser
from decoder.bitstream.parsers import structure_of
from decoder.bitstream.structure import StructureParser
from decoder.corpus import source_at
from decoder.counters import Counters
from decoder.errors import DecoderError
from decoder.graph import DROPPABLE, HIDDEN, RAP, ReferenceGraph
from decoder.index import SourceIndex
from decoder.indexing import Indexer, index_source
from decoder.packets import BackwardReader, PacketReader
from decoder.reader import FrameReader
from decoder.service import FrameService
from decoder.sparse import SparseDecoder
from decoder.store import IndexStore
from tests.coded import CODED, UNPROVEN, write_coded
from tests.inspection.graphs import forgetful
from tests.protocol import Truth, pick

REQUESTS = 10


@dataclass(frozen=True)
class Known:
    """A file and what a full decode of it shows."""

    path: Path
    truth: Truth

    def index(self) -> SourceIndex:
        return index_source(source_at(str(self.path)))


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Known]:
    folder = tmp_path_factory.mktemp("coded")
    made: dict[str, Known] = {}

    def get(name: str) -> Known:
        if name not in made:
            path = write_coded(name, folder)
            made[name] = Known(path, Truth.of(path))
        return made[name]

    return get


def read(clip: Known, index: SourceIndex, requests: int = REQUESTS) -> tuple[int, int]:
    """(alarms, wrong or missing frames) of random requests and of some steps forward."""
    generator = random.Random(clip.path.name)
    wrong = 0
    with FrameReader(source_at(str(clip.path)), index=index) as reader:
        for _ in range(requests):
            kind, wanted = pick(generator, len(reader))
            if kind in ("forward", "backward"):
                found = {n: reader.frame(n).hash for n in wanted}
            else:
                found = {n: pixels.hash for n, pixels in reader.frames(wanted)}
            wrong += sum(found.get(n) != clip.truth.hashes[n] for n in set(wanted))
        return reader.stats.alarms, wrong


def check_list(index: SourceIndex, truth: Truth) -> None:
    assert index.frame_count == len(truth.hashes)
    assert [index.pts(n) for n in range(index.frame_count)] == truth.pts
    assert [index.geometry(n) for n in range(index.frame_count)] == truth.geometries


@pytest.mark.parametrize("name", CODED)
def test_frames_are_those_of_a_full_decode(name: str, known: Callable[[str], Known]) -> None:
    clip = known(name)
    index = SourceIndex.from_bytes(clip.index().to_bytes())
    assert index.feed is not None, index.facts.fallback
    assert index.facts.fallback is None
    assert "proven" in (index.facts.rule or "")
    check_list(index, clip.truth)
    assert read(clip, index) == (0, 0)


@pytest.mark.parametrize("name", UNPROVEN)
def test_what_cannot_be_proven_is_read_conservatively(
    name: str, known: Callable[[str], Known]
) -> None:
    clip = known(name)
    index = clip.index()
    assert index.feed is None
    assert index.facts.rule is None
    assert index.facts.fallback == UNPROVEN[name]
    assert read(clip, index, 4) == (0, 0)


def others() -> list[Path]:
    """Clips of the corpus that headers do not tell of."""
    folder = os.environ.get("FRAMEFS_CORPUS")
    found = []
    for path in sorted(Path(folder).glob("*/*")) if folder else []:
        try:
            with av.open(path, metadata_errors="ignore") as container:
                codec = container.streams.video[0].codec_context.codec.canonical_name
        except (av.FFmpegError, IndexError, AttributeError):
            continue
        if codec not in ("h264", "hevc", "av1"):
            found.append(path)
    return found


@pytest.mark.parametrize("path", others(), ids=lambda path: path.name)
def test_clips(path: Path) -> None:
    clip = Known(path, Truth.of(path))
    try:
        index = clip.index()
    except DecoderError:
        assert not clip.truth.hashes or "cover picture" in str(path) or path.suffix == ".m4a"
        return
    check_list(index, clip.truth)
    requests = REQUESTS if index.feed is not None else 1
    assert read(clip, index, requests) == (0, 0)


# -- cost


EXPECTED = {
    # what is left out, starts that are random access points, and other starts
    "mpeg2.ts": (39, 1, 5),
    "mpeg2-closed.mkv": (36, 6, 0),
    "mpeg2-no-b.m2v": (0, 5, 0),
    "mpeg4.avi": (39, 1, 5),
    "vp8.webm": (0, 3, 0),
    "vp8-layers.webm": (30, 2, 0),
    "vp9.webm": (0, 3, 0),
    "vp9-layers.webm": (30, 2, 0),
    "vp9-two-layers.webm": (0, 2, 0),
    "mjpeg.avi": (0, 60, 0),
    "ffv1.mkv": (0, 20, 0),
    "ffv1-contexts.mkv": (0, 3, 0),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_as_sparsely_as_the_codec_allows(name: str, known: Callable[[str], Known]) -> None:
    feed = known(name).index().feed
    assert feed is not None
    traits = feed.graph.traits
    points = int(np.sum((traits & RAP) != 0))
    dropped = int(np.sum((traits & DROPPABLE) != 0))
    assert (dropped, points, len(feed.graph.starts) - points) == EXPECTED[name]


def came_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the frames that come out of sparse decoders."""
    count = [0]
    decode = SparseDecoder._decode

    def counted(self: SparseDecoder, packet: av.Packet | None) -> list[av.VideoFrame]:  # type: ignore[type-arg]
        frames = decode(self, packet)
        count[0] += len(frames)
        return frames

    monkeypatch.setattr(SparseDecoder, "_decode", counted)
    return count


@pytest.mark.parametrize(
    "name",
    ["mpeg2.mpg", "mpeg2-closed.mkv", "mpeg4-qpel.mp4", "vp8.webm", "vp8-layers.webm",
     "vp9-layers.webm", "mjpeg.avi", "ffv1-contexts.mkv", "wmv2.wmv"],
)  # fmt: skip
def test_what_is_decoded_is_what_is_planned(
    name: str, known: Callable[[str], Known], monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = known(name)
    index = clip.index()
    assert index.feed is not None
    traits = index.feed.graph.traits
    generator = random.Random(name)
    count = came_out(monkeypatch)
    with FrameReader(source_at(str(clip.path)), index=index) as reader:
        for _ in range(12):
            wanted = generator.sample(range(len(reader)), generator.randint(2, 6))
            planned = reader.plan(wanted)
            fed = [k for run in planned.runs for item in run.items for k in item.pictures]
            count[0] = 0
            before = reader.stats.reconstructed
            assert len(dict(reader.frames(wanted))) == len(wanted)
            assert count[0] == sum(not traits[k] & HIDDEN for k in fed)
            assert reader.stats.reconstructed - before == planned.real == len(fed)


@pytest.mark.parametrize("name", ["mpeg2.ts", "mpeg4.avi", "vp9.webm", "wmv2.wmv", "mjpeg.avi"])
@pytest.mark.parametrize("step", [1, 3])
def test_reading_forward_decodes_every_picture_about_once(
    name: str, step: int, known: Callable[[str], Known]
) -> None:
    clip = known(name)
    with FrameReader(source_at(str(clip.path)), index=clip.index()) as reader:
        wanted = range(30, 60, step)
        assert [reader.frame(n).hash for n in wanted] == clip.truth.hashes[30::step]
        assert reader.stats.alarms == 0
        assert reader.stats.reconstructed <= 30 + 2 * 20
        assert reader.stats.opened <= 4


def test_long_steps_through_a_long_stretch_go_on(known: Callable[[str], Known]) -> None:
    clip = known("animation.gif")
    with FrameReader(source_at(str(clip.path)), index=clip.index()) as reader:
        wanted = range(20, 40, 9)
        assert [reader.frame(n).hash for n in wanted] == clip.truth.hashes[20::9]
        assert reader.stats.reconstructed == 39


def test_a_walk_in_the_middle_of_open_groups_begins_there(known: Callable[[str], Known]) -> None:
    clip = known("mpeg2.mpg")
    index = clip.index()
    assert index.feed is not None
    assert np.sum((index.feed.graph.traits & RAP) != 0) == 1
    with FrameReader(source_at(str(clip.path)), index=index) as reader:
        for n in (45, 46, 47, 48):
            assert reader.frame(n).hash == clip.truth.hashes[n]
        assert reader.stats.reconstructed <= 24


# -- packets


def test_backwards_packets_are_read_forward_in_blocks(
    known: Callable[[str], Known], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packets, "_BLOCK", 20_000)
    clip = known("mpeg2.ts")
    source, index = source_at(str(clip.path)), clip.index()
    counters = Counters()
    forward, backward = PacketReader(source, index, Counters()), None
    expected = [forward.read(n) for n in range(60)]
    backward = BackwardReader(source, index, counters)
    assert [backward.read(n) for n in range(59, -1, -1)] == expected[::-1]
    assert counters.seeks + counters.opened <= 2 + 3 * (index.packets.size.sum() // 20_000 + 1)
    forward.close()
    backward.close()


# -- the store, and giving up


def test_the_graph_is_kept(tmp_path: Path, known: Callable[[str], Known]) -> None:
    source = source_at(str(known("mpeg4.avi").path))
    made = Indexer(IndexStore(str(tmp_path / "store"))).make(source)
    stored = Indexer(IndexStore(str(tmp_path / "store"))).stored(source)
    assert stored is not None
    assert stored.facts == made.facts
    assert stored.feed is not None
    assert made.feed is not None
    for name, array in made.feed.arrays().items():
        assert np.array_equal(stored.feed.arrays()[name], array), name


def test_a_graph_that_is_wrong_is_noticed_once_and_for_all(
    tmp_path: Path, known: Callable[[str], Known], caplog: pytest.LogCaptureFixture
) -> None:
    """Every frame is compared with its hash, whatever a graph says."""
    clip = known("vp9.webm")
    source = source_at(str(clip.path))
    store = IndexStore(str(tmp_path / "store"))
    options = Indexer(store)._options
    store.put(source, options, shortened(clip.index()))
    service = FrameService(store)
    with caplog.at_level(logging.WARNING), FrameReader(str(clip.path)) as right:
        for n in (15, 50, 33, 7):
            found = service.array(source, n, "rgb24")
            assert np.array_equal(found, right.frame(n).array("rgb24"))
    assert service.index(source).feed is None
    assert sum("conservatively from now on" in r.message for r in caplog.records) == 1
    service.close()
    stored = Indexer(IndexStore(str(tmp_path / "store"))).stored(source)
    assert stored is not None
    assert stored.feed is None
    assert "other pixels" in (stored.facts.fallback or "")


def shortened(index: SourceIndex) -> SourceIndex:
    """With every picture taken to be needed by none, and each to need its start alone."""
    index = forgetful(index)
    assert index.feed is not None
    graph = index.feed.graph
    arrays = {name: getattr(graph, name) for name in FEED}
    arrays["traits"] = np.where(graph.traits & RAP, graph.traits, graph.traits | DROPPABLE)
    wrong = ReferenceGraph.from_arrays(**arrays, unsafe={})
    feed = replace(index.feed, graph=wrong)
    return SourceIndex(index.facts, index.packets, index.frames, index.geometries, feed)


FEED = (
    "offsets", "references", "traits", "packet_offsets", "packets", "packet_pictures", "carriers",
    "segments", "counts", "moduli",
)  # fmt: skip


# -- each rule, made wrong: reading notices where nothing is proven, and the proof where it is


def believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes everything as proven."""
    monkeypatch.setattr(proving._Trial, "__call__", lambda self, fed, *, fresh=False: True)


def closed_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpeg12, "closed_gop", lambda data, start: True)


def progressive(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Mpeg4Parser._layers

    def wrong(self: Mpeg4Parser, data: bytes, end: int) -> bytes | None:
        headers = right(self, data, end)
        if self._layer is not None:
            self._layer = replace(self._layer, interlaced=False)
        return headers

    monkeypatch.setattr(Mpeg4Parser, "_layers", wrong)


def anchors_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mpeg12.Mpeg12Parser.finish

    def wrong(self: mpeg12.Mpeg12Parser) -> None:
        right(self)
        start = 0
        for number, picture in enumerate(self.pictures):
            start = number if picture.start else start
            picture.droppable = number != start
            picture.references = (start,) if number != start else ()

    monkeypatch.setattr(mpeg12.Mpeg12Parser, "finish", wrong)


class Forgetting(vp8.BoolDecoder):
    """Reads refresh_entropy_probs as 0."""

    def flag(self, name: str) -> int:
        value = super().flag(name)
        return 0 if name == "refresh_entropy_probs" else value


def entropy_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vp8, "BoolDecoder", Forgetting)


def contexts_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ignoring(BitReader):
        def flag(self, name: str) -> int:
            value = super().flag(name)
            return 0 if name == "refresh_frame_context" else value

    monkeypatch.setattr(vp9, "BitReader", Ignoring)
    right = vp9.UncompressedHeader.parse

    def wrong(data: bytes) -> vp9.UncompressedHeader:
        return replace(right(data), resets=True)

    monkeypatch.setattr(vp9.UncompressedHeader, "parse", wrong)


def every_packet_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(codec: str, extradata: bytes, *, intra: bool) -> StructureParser | None:
        return structure_of(codec, extradata, intra=True)

    monkeypatch.setattr("decoder.proving.structure_of", wrong)


MUTATIONS: list[tuple[str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("mpeg2.mpg", closed_groups),
    ("mpeg2-no-b.m2v", anchors_left_out),
    ("mpeg4-interlaced.mkv", progressive),
    ("vp8-two-layers.ivf", entropy_ignored),
    ("vp9-two-layers.webm", contexts_ignored),
    ("wmv2.wmv", every_packet_starts),
    ("ffv1-contexts.mkv", every_packet_starts),
]


@pytest.mark.parametrize(("name", "mutate"), MUTATIONS)
def test_a_wrong_rule_is_noticed(
    name: str,
    mutate: Callable[[pytest.MonkeyPatch], None],
    known: Callable[[str], Known],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clip = known(name)
    mutate(monkeypatch)
    with monkeypatch.context() as patch:
        believed(patch)
        index = clip.index()
    assert index.feed is not None
    alarms, wrong = read(clip, index)
    assert (alarms, wrong) == (1, 0)


@pytest.mark.parametrize(("name", "mutate"), MUTATIONS)
def test_a_wrong_rule_is_not_proven(
    name: str,
    mutate: Callable[[pytest.MonkeyPatch], None],
    known: Callable[[str], Known],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clip = known(name)
    mutate(monkeypatch)
    assert read(clip, clip.index()) == (0, 0)


def test_starts_that_were_not_proven_are_noticed(
    known: Callable[[str], Known], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The container of this one calls every packet a key packet."""
    clip = known("h263.avi")
    assert int(np.sum(clip.index().packets.flags & 1)) == 60
    believed(monkeypatch)
    assert read(clip, clip.index()) == (1, 0)


def test_an_index_is_made_with_the_proof_that_it_tells_of(known: Callable[[str], Known]) -> None:
    index = known("h263.avi").index()
    assert index.feed is not None
    assert (index.facts.rule or "").endswith(f"starts proven: {len(index.feed.graph.starts)} of 60")


def test_what_is_proven_is_what_was_decoded(
    known: Callable[[str], Known], monkeypatch: pytest.MonkeyPatch
) -> None:
    """About once more, not again and again."""
    fed: list[int] = []
    right = proving._Trial.__call__

    def counted(self: proving._Trial, pictures: list[int], *, fresh: bool = False) -> bool:
        fed.append(len(pictures))
        return right(self, pictures, fresh=fresh)

    monkeypatch.setattr(proving._Trial, "__call__", counted)
    for name, most in (("mpeg2-no-b.m2v", 60), ("mpeg2.mpg", 90), ("vp9.webm", 60)):
        fed.clear()
        index = known(name).index()
        assert index.feed is not None
        assert sum(fed) <= most + 4 * len(index.feed.graph.starts) + 12


def test_damage_is_not_proven_away(known: Callable[[str], Known], tmp_path: Path) -> None:
    content = bytearray(known("mpeg2-no-b.m2v").path.read_bytes())
    place = len(content) // 2
    content[place : place + 300] = random.Random(1).randbytes(300)
    path = tmp_path / "damaged.m2v"
    path.write_bytes(content)
    clip = Known(path, Truth.of(path))
    index = clip.index()
    assert index.facts.damage or index.feed is None
    assert read(clip, index, 4)[1] == 0
