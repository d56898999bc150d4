"""What the protocol counts at the decoder is right, and it notices where plans are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import av
import pytest

from decoder.closure import closure
from decoder.graph import DROPPABLE, ReferenceGraph
from tests import encoding, svtav1, x264, x265
from tests.amplification import measure
from tests.known import Known
from tests.tally import coded_pictures

MAKE: dict[str, Callable[[Path], Path]] = {
    "h264": lambda folder: x264.write(x264.recipe_named("default"), folder),
    "hevc": lambda folder: encoding.write(x265.recipe_named("b_7_1"), folder),
    "av1": lambda folder: encoding.write(svtav1.recipe_named("gop_40"), folder),
}


@pytest.mark.parametrize("codec", MAKE)
def test_a_picture_too_many_is_noticed(
    codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Known.of(MAKE[codec](tmp_path))
    assert known.faults() == 0

    def generous(
        graph: ReferenceGraph, targets: Iterable[int], known: Mapping[int, set[int]] | None = None
    ) -> set[int]:
        found = closure(graph, targets)
        between = set(range(min(found), max(found))) - found
        return found | {k for k in sorted(between)[:1] if graph.traits[k] & DROPPABLE}

    monkeypatch.setattr("decoder.plan.closure", generous)
    assert known.faults() > 0


@pytest.mark.parametrize("codec", ["hevc", "av1"])
def test_coded_pictures_are_those_of_the_graph(codec: str, tmp_path: Path) -> None:
    known = Known.of(MAKE[codec](tmp_path))
    pictures = shown_again = 0
    with av.open(str(known.path)) as container:
        stream = container.streams.video[0]
        for packet in container.demux(stream):
            here, again = coded_pictures(stream.codec_context, bytes(packet))
            pictures += here
            shown_again += again
    assert pictures == len(known.feed.graph)
    assert (shown_again > 0) == (codec == "av1")


def test_pictures_for_single_frames(tmp_path: Path) -> None:
    alone = measure(encoding.write(svtav1.recipe_named("gop_1"), tmp_path), 8)
    assert alone.sparse == alone.sequential == 1
    pairs = measure(encoding.write(svtav1.recipe_named("gop_2"), tmp_path), 20)
    assert 1 < pairs.sparse == pairs.sequential < 2
    layered = measure(encoding.write(x265.recipe_named("b_7_1"), tmp_path), 20)
    assert layered.ratio < 0.8
