from __future__ import annotations

from pathlib import Path

import pytest

from engines import Broken
from engines.cluster import Cluster, NoCluster
from tests.clusters import two_nodes
from tests.engines.jobs import Noting


@pytest.mark.timeout(300)
def test_every_item_is_done_once_though_a_node_is_killed(tmp_path: Path) -> None:
    with two_nodes() as (address, cluster, second):
        found: dict[int, object] = {}
        for item, result in Cluster(address, patience=60).run(Noting(tmp_path, 1), range(12)):
            assert item not in found
            found[item] = result
            if len(found) == 4:
                cluster.remove_node(second, allow_graceful=False)
    expected: dict[int, object] = {n: n * n for n in range(12)}
    expected[5] = Broken("an unexpected ValueError: five")
    assert found == expected
    attempts = {n: (tmp_path / str(n)).stat().st_size for n in range(12)}
    assert attempts.pop(3) >= 2  # its process was killed
    assert set(attempts.values()) <= {1, 2}
    assert 2 in attempts.values()  # what the node had


def test_where_there_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(NoCluster, match=r"needs Ray .*; pip install 'framefs\[cluster\]'"):
        list(Cluster("auto", patience=60).run(Noting(Path(), 1), [1]))
