from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import Broken
from engines.cluster import Cluster, NoCluster
from tests.clusters import two_nodes
from tests.engines.jobs import Noting


@pytest.mark.timeout(300)
def test_every_item_is_done_once_though_a_node_is_killed(tmp_path: Path) -> None:
    lost: set[int] = set()
    with two_nodes() as (address, cluster, second):
        raylet = str(second.all_processes["raylet"][0].process.pid)
        found: dict[int, object] = {}

        def items() -> Iterator[int]:
            """Enough for the second node to have one when it is killed."""
            return (n for n in range(100) if n < 12 or not lost)

        for item, result in Cluster(address, patience=60).run(Noting(tmp_path, 1), items()):
            assert item not in found
            found[item] = result
            if not lost and len(found) >= 3:
                lost = {n for n, nodes in begun(tmp_path).items() if nodes[-1] == raylet}
                lost -= found.keys()
                if lost:
                    cluster.remove_node(second, allow_graceful=False)
    assert len(found) >= 12
    expected: dict[int, object] = {n: n * n for n in range(len(found))}
    expected[5] = Broken("an unexpected ValueError: five")
    assert found == expected
    nodes = begun(tmp_path)
    assert lost
    assert {n for n in nodes if len(nodes[n]) > 1} >= {3}  # its process was killed
    # Only what the second node had was begun again.
    assert all(set(nodes[n][:-1]) <= {raylet} for n in nodes.keys() - {3})


def begun(folder: Path) -> dict[int, list[str]]:
    """The nodes that each item was begun by."""
    found = {int(path.name): path.read_text().split() for path in folder.iterdir()}
    return {n: nodes for n, nodes in found.items() if nodes}


def test_where_there_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(NoCluster, match=r"needs Ray .*; pip install 'framefs\[cluster\]'"):
        list(Cluster("auto", patience=60).run(Noting(Path(), 1), [1]))
