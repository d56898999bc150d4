"""Proof that the protocol would notice: whatever sparse decoding relies on is made wrong here."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decoder import plan
from decoder.bitstream.h264 import lists
from decoder.bitstream.h264.dpb import DecodedPictureBuffer, Entry
from decoder.bitstream.h264.lists import Reference
from decoder.bitstream.h264.poc import PicOrderCount
from decoder.bitstream.h264.slice import SliceHeader
from decoder.closure import closure
from decoder.corpus import source_at
from decoder.feed import Ragged
from decoder.graph import DROPPABLE, REPLACEABLE, ReferenceGraph
from decoder.index import DIRECT, SourceIndex
from decoder.plan import Feed, FeedItem, Run, walk
from decoder.reader import FrameReader
from decoder.sparse import SparseDecoder
from tests.bitstream.prediction import wrong_predictions
from tests.bitstream.writer import Features, write
from tests.damaging import damage_slice, with_second_pps, without_repeated_sets
from tests.known import Known, with_feed
from tests.omission import Outcomes, clips, deaf, leave_out
from tests.x264 import BASE, Recipe
from tests.x264 import write as write_recipe


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutations")


@pytest.fixture(scope="module")
def clip(folder: Path) -> Known:
    """Several segments; B pictures that are not references."""
    recipe = Recipe("clip", f"{BASE}:bframes=3:ref=3:b-adapt=0", frames=72)
    known = Known.of(write_recipe(recipe, folder))
    assert known.read(known.index) == (0, 0, 0)
    return known


# -- closures


def test_a_needed_picture_left_out_changes_the_target(folder: Path) -> None:
    total = Outcomes()
    for number, known in enumerate(clips("h264", folder, 1)):
        total += leave_out(known, 25, random.Random(number))
    assert total.tried == 200
    assert total.changed > 0.7 * total.tried


def test_the_protocol_notices_closures_with_a_picture_missing(
    clip: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = random.Random(1)

    def short(graph: ReferenceGraph, targets: Any, known: object = None) -> set[int]:
        wanted = set(targets)
        found = closure(graph, wanted)
        others = sorted(k for k in found - wanted if graph.traits[k] & REPLACEABLE)
        return found - {generator.choice(others)} if others else found

    assert clip.faults() == 0
    monkeypatch.setattr("decoder.plan.closure", short)
    assert clip.faults() > 0


# -- the model


def written(folder: Path, features: Features, *seeds: int) -> list[Known]:
    made = []
    for seed in seeds:
        path = folder / f"{abs(hash(repr(features)))}-{seed}.h264"
        path.write_bytes(b"".join(write(seed, features).clip.packets))
        made.append(Known.of(path))
        assert made[-1].faults() == 0
    return made


def noticed(streams: list[Known]) -> int:
    return sum(known.faults() for known in streams)


def test_two_list_entries_swapped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = Features(max_refs=4, bidirectional=False, modification=False)
    streams = written(folder, features, 1, 2, 3)
    right = lists._initial_p

    def swapped(dpb: DecodedPictureBuffer, structure: int) -> list[Reference]:
        initial = right(dpb, structure)
        initial[:2] = initial[1::-1]
        return initial

    monkeypatch.setattr(lists, "_initial_p", swapped)
    assert noticed(streams) > 0


def test_b_lists_in_the_order_of_p_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = [write(seed, Features(max_refs=4, fields=True)) for seed in range(1, 4)]
    assert [wrong_predictions(each) for each in streams] == [[]] * 3

    def wrong(
        dpb: DecodedPictureBuffer, structure: int, poc: int
    ) -> tuple[list[Reference], list[Reference]]:
        return lists._initial_p(dpb, structure), lists._initial_p(dpb, structure)

    monkeypatch.setattr(lists, "_initial_b", wrong)
    assert sum(len(wrong_predictions(each)) for each in streams) > 0


def test_the_second_list_without_its_swap(monkeypatch: pytest.MonkeyPatch) -> None:
    features = Features(max_refs=6, modification=False)
    streams = [write(seed, features) for seed in range(1, 6)]
    assert [wrong_predictions(each) for each in streams] == [[]] * 5
    right = lists._initial_b

    def unswapped(
        dpb: DecodedPictureBuffer, structure: int, poc: int
    ) -> tuple[list[Reference], list[Reference]]:
        list0, list1 = right(dpb, structure, poc)
        if len(list1) > 1 and [list1[1], list1[0], *list1[2:]] == list0:
            list1 = list(list0)
        return list0, list1

    monkeypatch.setattr(lists, "_initial_b", unswapped)
    assert sum(len(wrong_predictions(each)) for each in streams) > 0


Operate = Callable[[DecodedPictureBuffer, tuple[int, ...], Entry, SliceHeader, int], str | None]


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, 6])
def test_a_marking_operation_ignored(
    code: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = Features(max_refs=4, marking=True, long_term=code != 5, reset=code == 5)
    streams = written(folder, features, 1, 2, 3)
    right: Operate = DecodedPictureBuffer._operate

    def ignoring(
        self: DecodedPictureBuffer,
        operation: tuple[int, ...],
        current: Entry,
        header: SliceHeader,
        structure: int,
    ) -> str | None:
        if operation[0] == code:
            return None
        return right(self, operation, current, header, structure)

    monkeypatch.setattr(DecodedPictureBuffer, "_operate", ignoring)
    assert noticed(streams) > 0


def test_the_sliding_window_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = written(folder, Features(max_refs=3), 1, 2)
    monkeypatch.setattr(DecodedPictureBuffer, "slide", lambda *_: None)
    assert noticed(streams) > 0


def test_order_counts_without_wrap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = written(folder, Features(), 1, 2)

    def cut(self: PicOrderCount, header: SliceHeader) -> tuple[int, int]:
        lsb = header.pic_order_cnt_lsb
        return lsb, lsb + header.delta_pic_order_cnt_bottom

    monkeypatch.setattr(PicOrderCount, "_type0", cut)
    assert noticed(streams) > 0


def test_state_only_pictures_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = written(folder, Features(max_refs=4, marking=True, long_term=True), 0, 1, 2)
    right = plan._run

    def hasty(graph: ReferenceGraph, part: Any) -> Run:
        run = right(graph, part)
        return replace(run, items=tuple(i for i in run.items if i.feed is not Feed.STATE_ONLY))

    monkeypatch.setattr(plan, "_run", hasty)
    assert noticed(streams) > 0


# -- bytes


@pytest.mark.parametrize(("container", "step"), [("mp4", 1), ("mkv", -1), ("h264", 5)])
def test_packets_read_from_the_wrong_place(container: str, step: int, folder: Path) -> None:
    """In a raw stream one byte is part of the start code, and harmless."""
    recipe = Recipe(f"shifted{step}", BASE, container=container)
    known = Known.of(write_recipe(recipe, folder))
    packets = known.index.packets
    assert (packets.flags & DIRECT).all()
    position = packets.position.copy()
    position[5:-1] += step
    moved = replace(packets, position=position)
    index = known.index
    alarms, wrong, missing = known.read(
        SourceIndex(index.facts, moved, index.frames, index.geometries, index.feed)
    )
    assert (alarms, wrong, missing) == (1, 0, 0)


def changing(folder: Path) -> Known:
    """Open GOPs, then others under parameter sets of the same ids that differ.

    Sets come only where they change, so that a run in the middle brings none of its own.
    """
    opened = "keyint=8:min-keyint=1:open-gop=1:bframes=2:scenecut=0:b-adapt=0"
    parts = [
        write_recipe(
            Recipe(f"part-{n}", f"{opened}:{more}", frames=32, container="h264"), folder, n
        )
        for n, more in enumerate(("ref=2:cabac=0", "ref=3:cabac=1"))
    ]
    path = folder / "changing.h264"
    path.write_bytes(without_repeated_sets(b"".join(part.read_bytes() for part in parts)))
    known = Known.of(path)
    assert known.read(known.index) == (0, 0, 0)
    return known


def test_parameter_sets_that_are_not_in_force(folder: Path) -> None:
    known = changing(folder)
    heads = known.feed.heads
    last = heads.at(len(heads.keys) - 1)
    assert last != heads.at(0)
    others = Ragged.of((int(key), last) for key in heads.keys)
    alarms, wrong, missing = known.read(with_feed(known.index, replace(known.feed, heads=others)))
    assert alarms + wrong > 0
    assert missing == 0


def test_new_parameter_sets_not_handed_on(folder: Path) -> None:
    recipe = Recipe(
        "carried", "keyint=60:cabac=0:bframes=3:b-adapt=0:b-pyramid=none:scenecut=0",
        frames=40, container="h264",
    )  # fmt: skip
    path = write_recipe(recipe, folder)
    traits = Known.of(path).feed.graph.traits
    dropped = next(k for k in range(10, 40) if traits[k] & DROPPABLE)
    path.write_bytes(with_second_pps(path.read_bytes(), dropped))
    known = Known.of(path)
    assert dropped in known.feed.graph.carriers.tolist()
    assert known.read(known.index) == (0, 0, 0)
    first = Ragged.of([(-1, known.feed.heads.at(0))])
    alarms, wrong, _ = known.read(with_feed(known.index, replace(known.feed, heads=first)))
    assert alarms + wrong > 0


def test_alarms_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [0, 0]
    for seed in range(4):
        recipe = Recipe(f"alarm-{seed}", f"{BASE}:bframes=5:b-adapt=0:ref=3", frames=48)
        path = write_recipe(recipe, folder, seed)
        sound = Known.of(path)
        references = np.flatnonzero(sound.feed.graph.traits[4:20] & REPLACEABLE) + 4
        sizes = sound.index.packets.size[references]
        damage_slice(path, sound.index, int(references[sizes.argmax()]), seed)
        known = Known.of(path)
        alarms, heeded, _ = known.read(known.index)
        assert alarms == 1
        wrong[0] += heeded
        with monkeypatch.context() as patch:
            patch.setattr(SparseDecoder, "_frames", deaf)
            wrong[1] += known.read(known.index)[1]
    assert wrong[0] == 0
    assert wrong[1] > 0


def test_walks_that_start_at_a_wrong_picture(clip: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(graph: ReferenceGraph, target: int) -> Run | None:
        run = walk(graph, target)
        assert run is not None
        items: tuple[FeedItem, ...] = run.items[1:]
        return replace(run, start=run.start + 1, items=items, targets=run.targets[1:])

    def walked() -> tuple[int, int]:
        with FrameReader(source_at(str(clip.path)), index=clip.index) as reader:
            wrong = sum(reader.frame(n).hash != clip.truth.hashes[n] for n in range(len(reader)))
            return reader.stats.alarms, wrong

    assert walked() == (0, 0)
    monkeypatch.setattr("decoder.walking.walk", late)
    alarms, wrong = walked()
    assert alarms + wrong > 0


def test_walks_through_the_wrong_segment(clip: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoder.walking.walk", lambda graph, target: walk(graph, 0))
    with FrameReader(source_at(str(clip.path)), index=clip.index) as reader:
        found = [reader.frame(n).hash for n in range(len(reader))]
        assert reader.stats.alarms == 1
    assert found == clip.truth.hashes
