"""The stress protocol in short; ``make stress`` runs it for a minute with twenty readers."""

from __future__ import annotations

from tests import stress


def test_no_wrong_frame_while_the_corpus_changes(fuse: None) -> None:
    assert not stress.run(seconds=12, readers=8, seed=3)
