"""Closure and plan on small graphs made by hand."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from decoder.bitstream.picture import PacketFacts, Picture
from decoder.closure import closure, reason_against
from decoder.graph import NO_PICTURE, ReferenceGraph
from decoder.plan import PREAMBLE_COST, STATE_ONLY_COST, Feed, Plan, plan, walk

NOTHING = PacketFacts(False, None)


def picture(
    number: int, *references: int, reference: bool = True, rap: bool = False,
    packets: tuple[int, ...] | None = None, preamble: tuple[bytes, ...] | None = None,
    replaceable: bool = True, droppable: bool | None = None, unsafe: str | None = None,
) -> Picture:  # fmt: skip
    droppable = not reference if droppable is None else droppable
    return Picture(
        packets or (number,), (0, number), "P" if references else "I", reference, rap, references,
        (b"s",) if replaceable and not rap and not droppable else None, droppable,
        () if rap else preamble, unsafe, 0,
    )  # fmt: skip


def graph(pictures: list[Picture], carriers: Iterable[int] = ()) -> ReferenceGraph:
    count = 1 + max(p for made in pictures for p in made.packets)
    facts = [NOTHING] * count
    for carrier in carriers:
        facts[carrier] = PacketFacts(True, None)
    return ReferenceGraph.from_pictures(pictures, facts)


def chain(length: int) -> list[Picture]:
    return [picture(0, rap=True), *[picture(i, i - 1) for i in range(1, length)]]


def pyramid() -> list[Picture]:
    """I P B(ref) b b, twice, then an IDR picture with a P."""
    return [
        picture(0, rap=True),
        picture(1, 0),
        picture(2, 0, 1),
        picture(3, 0, 2, reference=False),
        picture(4, 1, 2, reference=False),
        picture(5, 1),
        picture(6, 1, 5),
        picture(7, 1, 6, reference=False),
        picture(8, 5, 6, reference=False),
        picture(9, rap=True),
        picture(10, 9),
    ]


def fed(chosen: Plan) -> list[list[tuple[int, str]]]:
    return [[(item.packet, item.feed.value[0]) for item in run.items] for run in chosen.runs]


def test_closure_is_the_least_closed_set() -> None:
    g = graph(pyramid())
    assert closure(g, [3]) == {0, 1, 2, 3}
    assert closure(g, [8]) == {0, 1, 5, 6, 8}
    assert closure(g, [3, 10]) == {0, 1, 2, 3, 9, 10}
    assert closure(g, []) == set()


def test_closure_of_random_graphs_agrees_with_the_definition() -> None:
    generator = random.Random(1)
    for _ in range(50):
        size = generator.randint(1, 40)
        pictures = [picture(0, rap=True)]
        pictures += [
            picture(i, *generator.sample(range(i), min(i, generator.randint(0, 3))))
            for i in range(1, size)
        ]
        g = graph(pictures)
        targets = generator.sample(range(size), generator.randint(1, size))
        expected = set(targets)
        while True:
            more = expected | {r for p in expected for r in pictures[p].references}
            if more == expected:
                break
            expected = more
        assert closure(g, targets) == expected


def test_closure_costs_what_it_holds_not_what_the_stream_holds() -> None:
    pictures = [picture(i, rap=True) for i in range(5000)]
    g = graph(pictures)
    assert closure(g, [4999]) == {4999}
    assert plan(g, [4999]).real == 1


def test_references_are_state_only_and_others_dropped() -> None:
    chosen = plan(graph(pyramid()), [8])
    assert fed(chosen) == [[(0, "r"), (1, "r"), (2, "s"), (5, "r"), (6, "r"), (8, "r")]]
    (run,) = chosen.runs
    assert (run.real, run.state_only, run.dropped) == (5, 1, 3)
    assert chosen.amplification == 5


def test_the_plan_ends_with_the_last_target_in_decode_order() -> None:
    assert fed(plan(graph(pyramid()), [2])) == [[(0, "r"), (1, "r"), (2, "r")]]


def test_targets_in_different_segments_are_runs_of_their_own() -> None:
    chosen = plan(graph(pyramid()), [10, 3, 10])
    assert [run.start for run in chosen.runs] == [0, 9]
    assert [run.targets for run in chosen.runs] == [(3,), (10,)]


def test_targets_of_one_segment_share_a_run() -> None:
    chosen = plan(graph(chain(40)), [5, 30, 17])
    assert len(chosen.runs) == 1
    assert chosen.real == 31


def test_a_preamble_saves_the_way_from_the_random_access_point() -> None:
    pictures = [*chain(30), picture(30, preamble=(b"p", b"q")), picture(31, 30), picture(32, 31)]
    chosen = plan(graph(pictures), [32])
    assert chosen.runs[0].preamble
    assert fed(chosen) == [[(30, "r"), (31, "r"), (32, "r")]]


def test_without_a_preamble_the_buffer_is_kept_in_step_from_further_back() -> None:
    pictures = [*chain(4), picture(4), picture(5, 4)]
    chosen = plan(graph(pictures), [5])
    assert fed(chosen) == [[(0, "r"), (1, "s"), (2, "s"), (3, "s"), (4, "r"), (5, "r")]]
    assert (chosen.real, chosen.state_only) == (3, 3)


def test_runs_join_when_one_costs_less() -> None:
    """A target before and one behind a picture to start from, with most of the closure shared."""
    pictures = [*chain(10), picture(10, preamble=(b"p",)), picture(11, 10, 9), picture(12, 10)]
    g = graph(pictures)
    joint = plan(g, [11, 12])
    assert len(joint.runs) == 1
    assert joint.real == 13
    apart = plan(g, [3, 12])
    assert [run.start for run in apart.runs] == [0, 10]


def test_few_state_only_pictures_are_cheaper_than_a_preamble() -> None:
    """Pictures that read nothing, one after the other, as the anchors of DDRA."""

    def anchors(**third: Any) -> ReferenceGraph:
        told = [dict[str, Any](preamble=(b"p", b"q"))] * 9
        told[3] = third or told[3]
        return graph([picture(0, rap=True), *[picture(n, **t) for n, t in enumerate(told, 1)]])

    def starts(g: ReferenceGraph, *targets: int) -> list[int]:
        return [run.start for run in plan(g, targets).runs]

    g = anchors()
    assert fed(plan(g, [2, 3, 5])) == [[(2, "r"), (3, "r"), (4, "s"), (5, "r")]]
    assert starts(g, 2, 5) == [2]
    assert starts(g, 2, 6) == [2, 6]
    assert starts(anchors(replaceable=False), 2, 5) == [2, 5]
    assert starts(anchors(rap=True), 2, 5) == [2, 5]
    assert starts(anchors(rap=True), 2, 4) == [2, 4]


def test_what_cannot_be_replaced_is_fed_as_it_is() -> None:
    pictures = [*chain(3), picture(3, 2, replaceable=False), picture(4), picture(5, 4)]
    chosen = plan(graph(pictures), [5])
    assert fed(chosen)[0][3] == (3, "r")
    assert chosen.real == 4


def test_a_picture_that_is_no_reference_may_still_be_part_of_the_state() -> None:
    pictures = [*chain(3), picture(3, 2, reference=False, droppable=False), picture(4, 2)]
    assert (3, "s") in fed(plan(graph(pictures), [4]))[0]


def test_both_packets_of_a_field_pair_are_treated_alike() -> None:
    pictures = [
        picture(0, rap=True, packets=(0, 1)),
        picture(1, 0, packets=(2, 3)),
        picture(2, 0, packets=(4, 5)),
    ]
    chosen = plan(graph(pictures), [2])
    assert fed(chosen) == [[(0, "r"), (1, "r"), (2, "s"), (3, "s"), (4, "r"), (5, "r")]]


def test_packets_without_a_picture_are_passed_over() -> None:
    pictures = [picture(0, rap=True), picture(1, 0, packets=(2,))]
    g = graph(pictures, carriers=(1,))
    assert g.packet_pictures.tolist() == [0, NO_PICTURE, 1]
    assert g.carriers.tolist() == [1]
    assert fed(plan(g, [1])) == [[(0, "r"), (2, "r")]]


def shared(number: int, *references: int, packet: int, visible: bool = True) -> Picture:
    made = picture(number, *references, rap=not references, packets=(packet,), replaceable=False)
    return replace(made, droppable=True, visible=visible, spans=((number, 1),))


def test_a_packet_is_fed_for_those_of_its_pictures_that_are_needed() -> None:
    g = graph(
        [
            shared(0, packet=0),
            shared(1, 0, packet=1, visible=False),
            shared(2, 1, packet=1, visible=False),
            shared(3, 1, packet=1),
            shared(4, 2, packet=2),
        ]
    )
    assert g.packet_pictures.tolist() == [0, 3, 4]
    assert [item.pictures for item in plan(g, [4]).runs[0].items] == [(0,), (1, 2), (4,)]
    assert [item.pictures for item in plan(g, [3]).runs[0].items] == [(0,), (1, 3)]
    whole = walk(g, 3)
    assert whole is not None
    assert [item.pictures for item in whole.items] == [(0,), (1, 2, 3), (4,)]
    assert whole.targets == (0, 3, 4)


def test_walks_begin_at_the_last_start_and_leave_out_what_needs_more() -> None:
    """Two open groups: pictures 4 and 5 read 2 and 3, the rest of their group does not."""

    def b(number: int, *references: int) -> Picture:
        return picture(number, *references, droppable=True, replaceable=False)

    def fixed(number: int, *references: int, start: bool = False) -> Picture:
        made = picture(number, *references, rap=number == 0, replaceable=False)
        return replace(made, preamble=() if start else made.preamble)

    pictures = [
        fixed(0), b(1, 0), fixed(2, 0), fixed(3, start=True), b(4, 2, 3), b(5, 2, 3), fixed(6, 3),
        b(7, 3, 6), fixed(8, 6),
    ]  # fmt: skip
    chosen = walk(graph(pictures), 7)
    assert chosen is not None
    assert (chosen.start, chosen.preamble) == (3, True)
    assert chosen.targets == (3, 6, 7, 8)
    assert [item.packet for item in chosen.items] == [3, 6, 7, 8]
    before = walk(graph(pictures), 5)
    assert before is not None
    assert (before.start, before.targets) == (0, tuple(range(9)))
    # where what needs more cannot be left out, from the random access point
    pictures[5] = fixed(5, 2, 3)
    whole = walk(graph(pictures), 7)
    assert whole is not None
    assert (whole.start, whole.targets) == (0, tuple(range(9)))


def test_walks_end_at_a_start_when_they_are_long() -> None:
    pictures = [picture(0, rap=True)]
    for number in range(1, 1000):
        start = number % 10 == 0
        made = picture(number, *([] if start else [number - 1]), replaceable=False)
        pictures.append(replace(made, preamble=() if start else None))
    chosen = walk(graph(pictures), 105)
    assert chosen is not None
    assert chosen.start == 100
    assert 256 < len(chosen.targets) < 300


def counted(number: int, count: int, *references: int, anchors: bool = True) -> Picture:
    """A picture whose count is known modulo 16, and which may begin a run if it reads nothing."""
    made = picture(
        number, *references, rap=number == 0, replaceable=False, droppable=True,
        preamble=None if references else (),
    )  # fmt: skip
    return replace(made, order=(0, count), modulus=16, anchors=anchors)


def test_gaps_in_the_order_are_bridged() -> None:
    # 9 reads 0 alone, 36 counts later: four anchors lie in between, and one that is none
    between = [counted(n, 4 * n, n - 1, anchors=n != 5) for n in range(1, 9)]
    g = graph([counted(0, 0), *between, counted(9, 36, 0)])
    assert fed(plan(g, [9])) == [
        [(0, "r"), *((n, "b") for n in (1, 2, 3, 4, 6, 7, 8)), (9, "r")],
    ]
    near = graph([counted(0, 0), *between[:1], counted(2, 8, 0)])
    assert fed(plan(near, [2])) == [[(0, "r"), (2, "r")]]
    far = graph([counted(0, 8), *[counted(1, 4, 0)], counted(2, 0, 0)])
    assert fed(plan(far, [2])) == [[(0, "r"), (1, "b"), (2, "r")]]


def test_the_order_behind_a_bridge_is_told_from_it() -> None:
    # 6 is as near to 0, which it reads, as to 5, but not to 3, the last one fed for the sake of 4
    between = [counted(n, 4 * n, n - 1) for n in range(1, 4)]
    behind = [counted(4, 13, 0, anchors=False), counted(5, 5, 3), counted(6, 3, 0, 4)]
    g = graph([counted(0, 0), *between, *behind])
    assert fed(plan(g, [6])) == [
        [(0, "r"), (1, "b"), (2, "b"), (3, "b"), (4, "r"), (5, "b"), (6, "r")],
    ]


def test_walks_end_where_the_order_cannot_be_told() -> None:
    pictures = [counted(0, 0), counted(1, 4, 0), counted(2, 8)]
    pictures += [counted(n, 4 * n, 1) for n in range(3, 7)]
    pictures += [counted(7, 28, 2), counted(8, 32, 7)]
    g = graph(pictures)
    short = walk(g, 2)
    assert short is not None
    assert short.targets == (2,)
    # 2 is where decoding would begin for 7, but it is too far away without those in between
    whole = walk(g, 7)
    assert whole is not None
    assert whole.targets == tuple(range(9))


def test_gaps_in_the_order_are_split_where_nothing_is_read_across() -> None:
    pictures = [counted(0, 0), *(counted(n, 4 * n, n - 1) for n in range(1, 5)), counted(5, 20)]
    pictures += [counted(6, 24, 5), counted(7, 28, 2)]
    g = graph(pictures)
    # one plan for both, as 7 reads 2
    assert fed(plan(g, [6])) == [[(5, "r"), (6, "r")]]
    assert fed(plan(g, [1, 6])) == [[(0, "r"), (1, "r")], [(5, "r"), (6, "r")]]
    together = fed(plan(g, [6, 7]))
    assert together == [
        [(0, "r"), (1, "r"), (2, "r"), (3, "b"), (4, "b"), (5, "r"), (6, "r"), (7, "r")]
    ]


def test_a_run_that_begins_with_no_anchor_begins_with_the_one_before() -> None:
    pictures = [counted(0, 0), counted(1, 4, 0), counted(2, 6, anchors=False), counted(3, 8, 2)]
    g = graph(pictures)
    assert fed(plan(g, [3])) == [[(1, "b"), (2, "r"), (3, "r")]]
    assert fed(plan(g, [2])) == [[(2, "r")]]


def test_what_is_unsafe_is_decoded_conservatively_with_its_reason() -> None:
    pictures = pyramid()
    pictures[2] = picture(2, 0, 1, unsafe="something is missing")
    g = graph(pictures)
    assert reason_against(g, {2, 3}) == "picture 2: something is missing"
    assert reason_against(g, {0, 1}) is None
    chosen = plan(g, [3, 5, 10])
    assert chosen.runs[0].conservative == "picture 2: something is missing"
    assert chosen.runs[0].targets == (3,)
    assert len(chosen.runs[0].items) == 11
    assert [run.targets for run in chosen.runs[1:]] == [(5,), (10,)]
    assert "something is missing" in chosen.explain()


def test_a_target_without_a_place_to_start_is_decoded_conservatively() -> None:
    chosen = plan(graph([picture(0), picture(1, 0)]), [1])
    assert "no place to start" in (chosen.runs[0].conservative or "")


def test_explain_says_what_is_fed() -> None:
    text = plan(graph(pyramid()), [8, 10]).explain()
    assert text.splitlines()[0] == (
        "2 targets in 2 runs: 7 reconstructed (amplification 3.50), 1 state-only, 3 dropped"
    )
    assert "from the random access point 9: 2 real" in text
    assert plan(graph(pyramid()), []).explain().startswith("0 targets in 0 runs")


@pytest.mark.parametrize("targets", [[-1], [11], [0, 99]])
def test_targets_must_exist(targets: list[int]) -> None:
    with pytest.raises(ValueError, match="of 11 pictures"):
        plan(graph(pyramid()), targets)


def test_no_plan_is_cheaper_in_pieces_or_as_a_whole() -> None:
    """Against the cost of one run for each target, and of one run for all."""
    generator = random.Random(2)
    for _ in range(40):
        pictures = [picture(0, rap=True)]
        for i in range(1, 60):
            references = generator.sample(range(max(0, i - 6), i), min(i, generator.randint(0, 2)))
            kind = generator.random()
            pictures.append(
                picture(i, rap=True) if kind < 0.03
                else picture(i, preamble=(b"p",)) if kind < 0.1
                else picture(i, *references, reference=generator.random() < 0.6)
            )  # fmt: skip
        g = graph(pictures)
        targets = generator.sample(range(60), 6)
        cost = _cost(plan(g, targets))
        assert cost <= sum(_cost(plan(g, [target])) for target in targets) + 1e-9


def _cost(chosen: Plan) -> float:
    begins = PREAMBLE_COST * sum(run.preamble for run in chosen.runs)
    return begins + chosen.real + STATE_ONLY_COST * chosen.state_only


def test_feeds_are_in_decode_order_and_closed() -> None:
    chosen = plan(graph(pyramid()), [3, 7])
    packets = [item.packet for item in chosen.runs[0].items]
    assert packets == sorted(packets)
    real = {item.packet for item in chosen.runs[0].items if item.feed is Feed.REAL}
    assert real == {0, 1, 2, 3, 5, 6, 7}
