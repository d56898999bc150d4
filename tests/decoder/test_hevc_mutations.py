"""Proof that mistakes about H.265 would be noticed: whatever plans rely on is made wrong here."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from decoder.bitstream.hevc.buffer import Entry
from decoder.bitstream.hevc.coded import CodedPicture
from decoder.bitstream.hevc.process import DecodingProcess
from decoder.bitstream.hevc.slice import SliceSegmentHeader
from decoder.feed import Ragged
from decoder.graph import ReferenceGraph
from decoder.plan import Plan, plan
from tests import x265
from tests.encoding import write as write_recipe
from tests.hevcwriter.stream import Features, write
from tests.known import Known, with_feed
from tests.omission import Outcomes, clips, leave_out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutations")


def encoded(name: str, folder: Path) -> Known:
    recipe = next(recipe for recipe in x265.recipes() if recipe.name == name)
    known = Known.of(write_recipe(recipe, folder))
    assert known.read(known.index) == (0, 0, 0)
    return known


def written(folder: Path, features: Features, seeds: Sequence[int]) -> list[Known]:
    made = []
    for seed in seeds:
        path = folder / f"{abs(hash(repr(features)))}-{seed}.hevc"
        path.write_bytes(write(seed, features).content)
        made.append(Known.of(path))
        assert made[-1].faults() == 0
    return made


def noticed(streams: Sequence[Known]) -> int:
    return sum(known.faults() for known in streams)


def test_a_needed_picture_left_out_never_changes_a_frame_in_silence(folder: Path) -> None:
    total = Outcomes()
    for number, known in enumerate(clips("hevc", folder, 1)):
        total += leave_out(known, 8, random.Random(number))
    assert total.tried == 64
    assert total.silent == 0
    assert total.changed > 0.5 * total.tried


def test_gaps_in_the_order_neither_split_nor_bridged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Targets more than half the range of LSBs apart, some of them with long-term references."""
    features = Features(log2_max_lsb=4, long_term=True, far=True, gop=40)
    streams = written(folder, features, (1, 3, 4))
    bridged = 0

    def counting(graph: ReferenceGraph, targets: Any) -> Plan:
        nonlocal bridged
        made = plan(graph, targets)
        bridged += sum(item.feed.value == "bridge" for run in made.runs for item in run.items)
        return made

    with monkeypatch.context() as patch:
        patch.setattr("decoder.walking.plan", counting)
        assert noticed(streams) == 0
    assert bridged > 0
    monkeypatch.setattr("decoder.plan._inferable", lambda graph, part: [part])
    assert noticed(streams) > 0


@pytest.mark.parametrize("name", ["sets_change_once", "size_changes_once"])
def test_parameter_sets_that_are_not_in_force(name: str, folder: Path) -> None:
    known = encoded(name, folder)
    heads = known.feed.heads
    for place in (0, len(heads.keys) - 1):
        always = heads.at(place)
        others = Ragged.of((int(key), always) for key in heads.keys)
        feed = replace(known.feed, heads=others)
        alarms, wrong, _ = known.read(with_feed(known.index, feed))
        assert alarms + wrong > 0


FEATURES = Features(log2_max_lsb=5, sub_layers=2, long_term=True, slices=True, modification=True)


def test_an_entry_of_the_reference_picture_set_forgotten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = written(folder, FEATURES, (1, 2))
    right = DecodingProcess._reference_picture_set

    def short(
        self: DecodingProcess, picture: CodedPicture, header: SliceSegmentHeader
    ) -> list[Entry]:
        kept = right(self, picture, header)
        picture.references.discard(max(picture.references, default=-1))
        return kept

    monkeypatch.setattr(DecodingProcess, "_reference_picture_set", short)
    assert noticed(streams) > 0


def test_order_counts_without_wrap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = written(folder, FEATURES, (3, 4))
    monkeypatch.setattr(
        DecodingProcess, "_count", lambda self, header: header.slice_pic_order_cnt_lsb
    )
    assert noticed(streams) > 0


def test_leading_pictures_taken_for_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RASL pictures decoded from their own CRA picture: a decoder passes over them."""
    streams = [encoded("open_4", folder), encoded("open_refs", folder)]
    right = DecodingProcess._place

    def alone(self: DecodingProcess, picture: CodedPicture, entry: Entry, kind: int) -> None:
        before = set(picture.references)
        right(self, picture, entry, kind)
        if kind in (x265.RASL_N, x265.RASL_R) and self._irap is not None:
            picture.references = {k for k in before if k >= self._irap.index}
            picture.references.add(self._irap.index)

    monkeypatch.setattr(DecodingProcess, "_place", alone)
    assert noticed(streams) > 0
