"""Proof that mistakes about AV1 would be noticed: whatever plans rely on is made wrong here."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from decoder.bitstream.av1.frame import FrameHeader
from decoder.bitstream.av1.sequence import SequenceHeader
from decoder.bitstream.av1.slots import ReferenceSlots
from decoder.feed import FeedTable, Ragged
from tests import svtav1
from tests.encoding import write as write_recipe
from tests.known import Known, with_feed
from tests.omission import Outcomes, clips, leave_out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutations")


def encoded(name: str, folder: Path) -> Known:
    recipe = next(recipe for recipe in svtav1.recipes() if recipe.name == name)
    known = Known.of(write_recipe(recipe, folder))
    assert known.faults() == 0
    return known


def test_a_needed_frame_left_out_changes_the_target(folder: Path) -> None:
    total = Outcomes()
    for number, known in enumerate(clips("av1", folder, 1)):
        total += leave_out(known, 8, random.Random(number))
    assert total.tried == 64
    assert total.changed > 0.9 * total.tried


@pytest.mark.parametrize("name", ["gop_250", "low_delay", "open_gop_20", "film_grain_open"])
def test_a_slot_that_is_not_refreshed(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = encoded(name, folder)
    right = ReferenceSlots.refresh

    def forgetful(self: ReferenceSlots, header: FrameHeader, number: int) -> None:
        before = list(self._producers)
        right(self, header, number)
        changed = [n for n in range(8) if header.refresh_frame_flags >> n & 1]
        if before[0] >= 0 and number % 3 == 0 and changed:
            self._producers[changed[-1]] = before[changed[-1]]

    monkeypatch.setattr(ReferenceSlots, "refresh", forgetful)
    assert known.faults() > 0


@pytest.mark.parametrize("name", ["gop_250", "preset_6", "low_delay"])
def test_a_reference_forgotten(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = encoded(name, folder)
    right = ReferenceSlots.read_by

    def short(
        self: ReferenceSlots, header: FrameHeader, sequence: SequenceHeader
    ) -> tuple[int, ...]:
        return right(self, header, sequence)[:-1]

    monkeypatch.setattr(ReferenceSlots, "read_by", short)
    assert known.faults() > 0


@pytest.mark.parametrize("name", ["sequences_change", "size_changes", "depth_changes"])
def test_sequence_headers_that_are_not_in_force(name: str, folder: Path) -> None:
    known = encoded(name, folder)
    heads = known.feed.heads
    for place in (0, 1, len(heads.keys) - 1):
        always = heads.at(place)
        others = Ragged.of((int(key), always) for key in heads.keys)
        feed = replace(known.feed, heads=others)
        alarms, wrong, _ = known.read(with_feed(known.index, feed))
        assert alarms + wrong > 0


def test_packets_fed_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of a packet that nobody needs read slots that are empty."""
    known = encoded("open_gop_20", folder)
    monkeypatch.setattr(FeedTable, "own", lambda self, picture, packet: packet)
    assert known.faults() > 0
