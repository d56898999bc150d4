from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from decoder.corpus import Source
from decoder.errors import FrameOutOfRange
from decoder.index import SourceIndex
from decoder.scan import scan
from inspection.anatomy import anatomy
from inspection.report import as_data, lines, model_data, model_lines, request, request_lines


def test_structure(index: SourceIndex) -> None:
    found = anatomy(index)
    assert (found.frames, found.pictures, found.packets) == (64, 64, 64)
    assert list(found.types) == ["I", "P", "B"]
    assert found.types["I"] == 4
    assert found.unreferenced == found.types["B"]  # no pyramid
    assert found.access_points == 4
    assert found.segments is not None
    assert (found.segments.shortest, found.segments.longest) == (16, 16)
    assert found.order.startswith("IbbbP")
    assert len(found.order) == 16


def test_closures_are_those_of_the_graph(index: SourceIndex) -> None:
    closures = anatomy(index).closures
    assert closures is not None
    assert closures.looked_at == 64
    # at worst everything in the segment but the other pictures that are read by no other
    assert 3 <= closures.mean < closures.worst <= 6


def test_ways_are_ordered_by_what_they_decode(index: SourceIndex) -> None:
    patterns = {pattern.name: pattern for pattern in anatomy(index).patterns}
    assert list(patterns) == ["contiguous 10", "stride 5", "stride 30", "random 10"]
    assert patterns["stride 30"].frames == 3
    for pattern in patterns.values():
        assert pattern.closure is not None
        assert pattern.drop_only is not None
        assert 1 <= pattern.closure <= pattern.drop_only <= pattern.sequential


def test_sequential_decoding_counts_from_the_access_point_on(index: SourceIndex) -> None:
    (stride,) = [p for p in anatomy(index).patterns if p.name == "stride 30"]
    # three frames in three different segments of 16
    assert 1 <= stride.sequential <= 16


def test_source_that_was_decoded_tells_of_key_packets_only(source: Source) -> None:
    index = scan(source, fallback="a reason")
    found = anatomy(index)
    assert found.closures is None
    assert found.unreferenced is None
    assert found.access_points == 4
    assert all(p.closure is None and p.sequential >= 1 for p in found.patterns)
    assert "conservative, because a reason" in "\n".join(lines(source.path, index, found))
    asked = request(index, [3])
    assert "because a reason" in "\n".join(request_lines(asked))


def test_request_is_planned_and_explained(index: SourceIndex) -> None:
    asked = request(index, [17, 40, 17])
    assert asked.plan.targets == 2
    assert set(asked.pictures) <= set(asked.closure)
    told = "\n".join(request_lines(asked))
    assert asked.plan.explain().splitlines()[0] in told
    assert "feeds packets" in told
    with pytest.raises(FrameOutOfRange):
        request(index, [64])


def test_data_for_programs_is_plain(index: SourceIndex) -> None:
    asked = request(index, [17])
    document = json.loads(json.dumps(as_data("x", index, anatomy(index), asked)))
    assert document["request"]["reconstructed"] == len(document["request"]["closure"])
    assert document["structure"]["frames"] == 64
    assert document["sparse"] is True


def test_model_says_what_was_published() -> None:
    (line,) = [line for line in model_lines() if line.split()[0] == "30"]
    assert line.split() == ["30", "16.40", "5.04", "2.01"]
    assert round(model_data()["strides"][30]["sparse"], 2) == 5.04


def test_source_without_a_key_packet(source: Source) -> None:
    index = scan(source, fallback="x")
    flags = np.zeros_like(index.packets.flags)
    keyless = SourceIndex(
        index.facts, replace(index.packets, flags=flags), index.frames, index.geometries
    )
    assert anatomy(keyless).segments is None
