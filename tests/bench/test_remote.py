from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bench.remote import PeerDied, PeerFailed, Remote
from tests.oracle import full_decode


def script(path: Path, text: str) -> str:
    """An interpreter that does ``text`` whatever it is asked to run."""
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_peer_is_driven_over_a_pipe(clip: Path) -> None:
    expected = list(full_decode(clip))
    with Remote("pyav") as peer:
        assert not peer.ask("about")["why_not"]
        assert peer.ask("open", path=str(clip))["ms"] > 0
        answer = peer.ask("read", frames=[3, 40])
        assert answer["ms"] > 0
        assert answer["shape"] == [96, 128, 3]
        assert answer["counts"]["reconstructed"] > 2
        for place, n in enumerate((3, 40)):
            np.testing.assert_array_equal(peer.image(place, answer["shape"]), expected[n])


def test_what_a_peer_cannot_do_is_said_and_it_lives_on(clip: Path) -> None:
    with Remote("pyav") as peer:
        with pytest.raises(PeerFailed, match="no file is open"):
            peer.ask("read", frames=[1])
        with pytest.raises(PeerFailed, match="unknown request"):
            peer.ask("dance")
        peer.ask("open", path=str(clip))
        with pytest.raises(PeerFailed):
            peer.ask("read", frames=[10**6])
        assert peer.ask("read", frames=[1])["shape"] == [96, 128, 3]


def test_a_process_that_ends_says_its_last_words() -> None:
    with Remote("nonesuch") as peer, pytest.raises(PeerDied, match=r"status 1.*nonesuch"):
        peer.ask("about")


def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PeerDied, match="missing"):
        Remote("pyav", str(tmp_path / "missing"))


def test_a_peer_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    hung = script(tmp_path / "hung", "import time; time.sleep(60)")
    with Remote("pyav", hung, patience=0.5) as peer, pytest.raises(PeerDied):
        peer.ask("about")


def test_an_answer_that_makes_no_sense_is_a_death(tmp_path: Path) -> None:
    babble = script(tmp_path / "babble", "print('hello', flush=True); input()")
    with Remote("pyav", babble, patience=10) as peer, pytest.raises(PeerDied):
        peer.ask("about")


def test_what_a_library_prints_is_no_answer(tmp_path: Path, clip: Path) -> None:
    noisy = script(
        tmp_path / "noisy",
        "import sys; sys.argv = sys.argv[2:]\n"
        "import bench.worker as w, bench.peers.pyav as p\n"
        "old = p.Reader.read\n"
        "def read(self, indices):\n"
        "    print('noise'); import os; os.write(1, b'more noise')\n"
        "    return old(self, indices)\n"
        "p.Reader.read = read\n"
        "w.main()",
    )
    with Remote("pyav", noisy) as peer:
        peer.ask("open", path=str(clip))
        assert len(peer.ask("read", frames=[1, 2])["digests"]) == 2
