"""PyAV without a seek where the next batch lies ahead in the same GOP."""

from __future__ import annotations

from bench.peers import pyav


class Reader(pyav.Reader):
    """As `bench.peers.pyav`, but decoding goes on from one batch to the next as well."""

    forward = True
