"""Real Ray clusters of several nodes on this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from tests.mounting import ROOT

_STORE = 100 * 1024 * 1024


@contextlib.contextmanager
def two_nodes() -> Iterator[tuple[str, Any, Any]]:
    """Address of a cluster of two nodes with a processor each, the cluster, its second node.

    Skips the test where Ray is not installed; ``make test-cluster`` brings it.
    """
    pytest.importorskip("ray", reason="no Ray here; make test-cluster brings it")
    from ray.cluster_utils import Cluster

    kept = {"object_store_memory": _STORE, "num_cpus": 1, "include_dashboard": False}
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # which the nodes inherit, and nobody else
    quiet = {"PYTHONPATH": paths, "RAY_USAGE_STATS_ENABLED": "0"}
    with mock.patch.dict(os.environ, quiet):
        cluster = Cluster(initialize_head=True, head_node_args=kept)
        try:
            second = cluster.add_node(object_store_memory=_STORE, num_cpus=1)
            cluster.wait_for_nodes()
            yield cluster.address, cluster, second
        finally:
            cluster.shutdown()
