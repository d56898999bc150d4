from __future__ import annotations

import pytest

from decoder.model import ancestors, decoded_before, depth_first, expected_amplification


def test_the_published_figures() -> None:
    found = expected_amplification(32, 10, 30)
    assert f"{found.sequential:.2f} {found.sparse:.2f} {found.ddra:.2f}" == "16.40 5.04 2.01"


def test_depth_first_order_of_eight() -> None:
    assert depth_first(8) == (4, 2, 1, 3, 6, 5, 7)
    assert ancestors(8, 3) == {4, 2, 3}
    assert decoded_before(8, 3) == {4, 2, 1, 3}


def test_everything_is_decoded_once_when_everything_is_wanted() -> None:
    found = expected_amplification(8, 800, 1)
    assert found.sequential == pytest.approx(1, abs=0.01)
    assert found.sparse == pytest.approx(1, abs=0.01)
    assert found.ddra == pytest.approx(1, abs=0.01)


def test_a_single_frame() -> None:
    found = expected_amplification(4, 1, 7)
    # phases 0 to 3: the anchor alone, then (0, 4, 2, 1), (0, 4, 2), (0, 4, 2, 1, 3)
    assert found.sequential == (1 + 4 + 3 + 5) / 4
    assert found.sparse == (1 + 4 + 3 + 4) / 4
    assert found.ddra == (1 + 3 + 3 + 3) / 4


def test_intra_only_needs_nothing_else() -> None:
    found = expected_amplification(1, 5, 3)
    assert (found.sequential, found.sparse, found.ddra) == (1, 1, 1)


def test_sparse_is_between_ddra_and_sequential() -> None:
    for stride in range(1, 70):
        found = expected_amplification(32, 10, stride)
        assert found.ddra <= found.sparse <= found.sequential


@pytest.mark.parametrize(
    ("period", "count", "stride"), [(0, 1, 1), (12, 1, 1), (8, 0, 1), (8, 1, 0)]
)
def test_arguments_are_checked(period: int, count: int, stride: int) -> None:
    with pytest.raises(ValueError, match=r"power of two|at least 1"):
        expected_amplification(period, count, stride)
