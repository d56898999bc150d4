"""Starts and what can be left out, proven on model decoders whose every secret is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from decoder.bitstream.picture import PacketFacts, Picture
from decoder.bitstream.structure import Coded
from decoder.graph import ReferenceGraph
from decoder.plan import plan
from decoder.proof import Proof, Stretch, Unproven


@dataclass
class Model:
    """A stream, and a decoder of it.

    ``needs`` says what each picture truly reads. The decoder shows a picture rightly if all of that
    was fed since the last flush and came out rightly; or, where ``leaks``, was ever fed.
    """

    needs: list[set[int]]
    frames: list[int]
    leaks: bool = False
    decoded: int = 0
    seen: set[int] = field(default_factory=set)

    def __call__(self, fed: list[int], *, fresh: bool = False) -> bool:
        if fresh:
            self.seen = set()
        right = set(self.seen) if self.leaks else set()
        sound = True
        for k in fed:
            self.decoded += 1
            if self.needs[k] <= right:
                right.add(k)
            elif self.frames[k] >= 0:
                sound = False
                break
        self.seen |= right
        return sound


def graph_of(pictures: list[Coded], stretches: list[Stretch]) -> ReferenceGraph:
    starts = {stretch.start: stretch for stretch in stretches}
    return ReferenceGraph.from_pictures(
        [
            Picture(
                (k,), (0, k), "P", True, k in starts and not starts[k].leading, coded.references,
                None, coded.droppable, () if k in starts else None, None, 0,
            )
            for k, coded in enumerate(pictures)
        ],
        [PacketFacts(False, None)] * len(pictures),
    )  # fmt: skip


def check_plans(pictures: list[Coded], stretches: list[Stretch], model: Model) -> ReferenceGraph:
    """Whether whatever is planned comes out rightly."""
    graph = graph_of(pictures, stretches)
    generator = random.Random(1)
    requests = [[k] for k in range(len(pictures))]
    requests += [
        [generator.randrange(len(pictures)) for _ in range(generator.randint(2, 5))]
        for _ in range(40)
    ]
    honest = Model(model.needs, model.frames)
    for wanted in requests:
        targets = [k for k in wanted if model.frames[k] >= 0]
        for run in plan(graph, targets).runs:
            assert run.conservative is None
            assert honest([k for item in run.items for k in item.pictures]), (targets, run)
    return graph


def chain(length: int, keys: set[int], true: set[int] | None = None) -> tuple[list[Coded], Model]:
    """Each picture reads the one before it; ``keys`` are said to be, ``true`` ones are starts."""
    true = keys if true is None else true
    pictures = [
        Coded((k,), () if k in keys or not k else (k - 1,), k in keys, False) for k in range(length)
    ]
    needs = [set() if k in true or not k else {k - 1} for k in range(length)]
    return pictures, Model(needs, list(range(length)))


def test_starts_that_hold_cost_one_decode() -> None:
    pictures, model = chain(60, set(range(0, 60, 12)))
    stretches = Proof(pictures, model.frames, model).stretches()
    assert [s.start for s in stretches] == [0, 12, 24, 36, 48]
    assert not any(s.leading for s in stretches)
    check_plans(pictures, stretches, model)
    assert model.decoded <= 60 + 4 * 5  # each start alone too, once on a new decoder


@pytest.mark.parametrize("false", [{12}, {24, 36}, {12, 24, 36, 48}, {48}])
def test_starts_that_do_not_hold_refer_to_the_picture_before(false: set[int]) -> None:
    keys = set(range(0, 60, 12))
    pictures, model = chain(60, keys, keys - false)
    stretches = Proof(pictures, model.frames, model).stretches()
    assert {s.start for s in stretches} == keys - false
    assert all(pictures[k].references == (k - 1,) for k in false)
    check_plans(pictures, stretches, model)


def test_a_start_that_goes_wrong_only_later_is_none() -> None:
    pictures, model = chain(36, {0, 12, 24})
    model.needs[20] |= {3}  # seen with everything in between only
    stretches = Proof(pictures, model.frames, model).stretches()
    assert [s.start for s in stretches] == [0, 24]
    check_plans(pictures, stretches, model)


def test_a_stream_without_a_start_that_holds_has_no_proof() -> None:
    pictures, model = chain(10, {0, 5}, {5})
    model.needs[0] = {9}
    with pytest.raises(Unproven, match="first picture"):
        Proof(pictures, model.frames, model).stretches()


def test_a_decoder_that_keeps_pictures_beyond_a_flush_is_found() -> None:
    pictures, model = chain(60, set(range(0, 60, 6)), {0, 12, 24, 36, 48})
    model.leaks = True
    stretches = Proof(pictures, model.frames, model).stretches()
    assert [s.start for s in stretches] == [0, 12, 24, 36, 48]

    class Dark(Model):
        """What is skipped is black, and so is a new decoder."""

        def __call__(self, fed: list[int], *, fresh: bool = False) -> bool:
            dirty = not fresh and bool(self.seen - set(fed))
            self.seen = set(fed) if fresh else self.seen | set(fed)
            return not dirty or fed[0] % 2 == 0

    pictures, model = chain(60, set(range(60)))
    with pytest.raises(Unproven, match="keeps something"):
        Proof(pictures, model.frames, Dark(model.needs, model.frames)).stretches()


Group = Callable[[int], tuple[list[Coded], Model]]


def groups(closed: set[int], said: set[int], count: int = 5) -> tuple[list[Coded], Model]:
    """I B B P B B, over and over; shown B B I B B P.

    B pictures behind the I picture of group g read the anchor before it, unless g is in ``closed``;
    headers say so unless g is in ``said``.
    """
    pictures: list[Coded] = []
    needs: list[set[int]] = []
    order: list[int] = []
    anchors: list[int] = []
    for group in range(count):
        for place in range(6):
            k = len(pictures)
            if place in (0, 3):
                refs = () if place == 0 else (anchors[-1],)
                pictures.append(Coded((k,), refs, place == 0, False))
                needs.append(set(refs))
                anchors.append(k)
                order.append(10 * k + 25)  # shown behind the two that follow
                continue
            both, last = tuple(anchors[-2:]), tuple(anchors[-1:])
            leading = place < 3
            pictures.append(Coded((k,), last if leading and group in said else both, False, True))
            needs.append(set(last if leading and group in closed else both))
            order.append(10 * k)
    ranks = {k: n for n, k in enumerate(sorted(range(len(order)), key=order.__getitem__))}
    return pictures, Model(needs, [ranks[k] for k in range(len(order))])


@pytest.mark.parametrize("said", [set(), {2, 3}, {1, 2, 3, 4}])
def test_leading_pictures_need_what_is_before_their_start(said: set[int]) -> None:
    pictures, model = groups(closed={0, *said}, said={0, *said})
    stretches = Proof(pictures, model.frames, model).stretches()
    assert [s.start for s in stretches] == [0, 6, 12, 18, 24]
    assert {s.start // 6 for s in stretches if not s.leading} == {0, *said}
    graph = check_plans(pictures, stretches, model)
    for k in range(len(pictures)):
        needed = {k}
        for j in range(k, -1, -1):
            needed |= model.needs[j] if j in needed else set()
        assert plan(graph, [k]).real == len(needed)  # nothing more than it needs


def test_groups_that_are_not_closed_whatever_they_say() -> None:
    pictures, model = groups(closed={0, 3}, said={0, 1, 2, 3})
    stretches = Proof(pictures, model.frames, model).stretches()
    assert [s.start for s in stretches] == [0, 6, 12, 18, 24]
    assert [s.leading for s in stretches] == [[], [7, 8], [13, 14], [], [25, 26]]
    check_plans(pictures, stretches, model)


def test_leading_pictures_of_which_nothing_is_known() -> None:
    """As in codecs whose headers are not read: a link each, and leading ones among them."""
    _, model = groups(closed={0}, said=set())
    pictures = [Coded((k,), () if k % 6 == 0 else (k - 1,), k % 6 == 0, False) for k in range(30)]
    stretches = Proof(pictures, model.frames, model).stretches()
    assert [s.leading for s in stretches] == [[], [7, 8], [13, 14], [19, 20], [25, 26]]
    assert pictures[9].references == (6,)
    check_plans(pictures, stretches, model)


def test_leading_pictures_that_need_more_than_the_stretch_before() -> None:
    pictures, model = groups(closed={0}, said={0})
    model.needs[13] |= {3}  # two starts back
    stretches = Proof(pictures, model.frames, model).stretches()
    assert 6 not in {s.start for s in stretches} or 12 not in {s.start for s in stretches}
    check_plans(pictures, stretches, model)


def test_what_is_needed_is_not_left_out() -> None:
    pictures, model = groups(closed={0}, said={0})
    model.needs[15] |= {13}  # an anchor that reads a B picture
    stretches = Proof(pictures, model.frames, model).stretches()
    kept = [k for k, coded in enumerate(pictures) if not coded.droppable and k % 3]
    assert kept
    check_plans(pictures, stretches, model)


def test_pictures_that_nobody_sees_may_come_out_as_they_like() -> None:
    pictures, model = chain(24, {6, 12}, {6, 12})
    for k in range(6):
        model.needs[k] = {23}
        model.frames[k] = -1
    stretches = Proof(pictures, model.frames, model).stretches()
    assert [s.start for s in stretches] == [0, 6, 12]
    check_plans(pictures, stretches, model)


def test_many_starts_that_fail_are_given_up_on() -> None:
    count = 3000
    pictures, model = chain(count, set(range(count)), {0})
    stretches = Proof(pictures, model.frames, model).stretches()
    assert [s.start for s in stretches] == [0]
    assert model.decoded < 3 * count


@pytest.mark.parametrize("seed", range(60))
def test_random_streams(seed: int) -> None:
    """Starts named at random, some false; B pictures, some leading; hidden ones."""
    generator = random.Random(seed)
    pictures, model = groups(
        closed={0, *generator.sample(range(1, 8), 3)},
        said={0, *generator.sample(range(1, 8), 3)},
        count=8,
    )
    for k in range(6, 48, 6):
        if generator.random() < 0.3:
            model.needs[k] |= {k - 3}  # no start, whatever it says
    for k in range(48):
        if generator.random() < 0.1:
            model.frames[k] = -1
    try:
        stretches = Proof(pictures, model.frames, model).stretches()
    except Unproven:
        pytest.fail("the first picture holds")
    check_plans(pictures, stretches, model)
