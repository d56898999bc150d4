"""The model of streams against the decoder: indexes, and frames decoded from closures alone."""

from __future__ import annotations

import random
from pathlib import Path

import av
import pytest

from decoder.bitstream.av1.frame import INTER_FRAME, FrameHeader
from decoder.bitstream.av1.obu import TEMPORAL_DELIMITER

from .clip import corpus_files
from .decoding import decoded, differences, lenient, model_differences
from .packets import Known, parsed, shown_again, taken_apart
from .svt import RECIPES, encoded, muxed, read

PACKETS = 150  # of each clip of the corpus
_MORE = 4000  # bytes behind a tile, for noise is longer than what it was


def write(folder: Path, packets: list[bytes]) -> Path:
    path = folder / "clip.ivf"
    path.write_bytes(muxed(packets))
    return path


@pytest.mark.parametrize("name", RECIPES)
def test_streams_of_svt(name: str, tmp_path: Path) -> None:
    path = tmp_path / "clip.mkv"
    path.write_bytes(encoded(name).file)
    assert differences(path) == []


@pytest.mark.parametrize("clip", corpus_files(), ids=lambda clip: clip.name)
def test_clips(clip: Path, tmp_path: Path) -> None:
    packets = list(read(clip.read_bytes()).packets[:PACKETS])
    assert differences(write(tmp_path, packets)) == []


def test_a_raw_stream(tmp_path: Path) -> None:
    path = tmp_path / "clip.obu"
    path.write_bytes(b"".join(TEMPORAL_DELIMITER + p for p in encoded("closed").packets))
    assert differences(path) == []


def scrambled(seed: int) -> list[bytes]:
    """A clip whose frames read other slots and take other ones than they were made for.

    What comes out is noise, but the same noise whenever the same references are there. Key frames
    that are hidden at first come in between, and slots are shown at any time. What a decoder
    refuses is left out.
    """
    chance = random.Random(seed)
    clip = taken_apart(chance.choice(("default", "low_delay", "open", "shallow", "grain")))
    key = clip.packets[0][0]
    packets = [clip.sequence_obu + key.obu]

    def add(data: bytes) -> None:
        if parsed([*packets, data]).stream.fallback is None and decodes([*packets, data]):
            packets.append(data)

    for frames in clip.packets[1:]:
        data = b""
        for frame in frames:
            changed = noisy(frame, chance)
            data += changed.in_two() if frame.end > 0 and chance.random() < 0.3 else changed.obu
        add(data)
        slot = chance.randrange(8)
        if chance.random() < 0.15:
            add(key.hidden_key(1 << slot, clip.sequence.order_hint_bits))
        if chance.random() < 0.5:
            add(shown_again(slot))
    return packets


def noisy(frame: Known, chance: random.Random) -> Known:
    header = frame.header
    if not isinstance(header, FrameHeader):
        return frame
    if header.ref_frame_idx and chance.random() < 0.7:
        some = [chance.randrange(8) for _ in range(chance.choice((1, 2, 7)))]
        frame = frame.changed("ref_frame_idx", [chance.choice(some) for _ in range(7)])
    if header.frame_type == INTER_FRAME and chance.random() < 0.7:
        flags = 0 if chance.random() < 0.2 else 1 << chance.randrange(8)
        frame = frame.changed("refresh_frame_flags", flags)
    return frame._replace(payload=frame.payload + chance.randbytes(_MORE))


def decodes(packets: list[bytes]) -> bool:
    """Whether a decoder refuses nothing."""
    try:
        decoded(dict(enumerate(packets)), lenient())
    except av.FFmpegError:
        return False
    return True


@pytest.mark.parametrize("seed", range(12))
def test_scrambled_streams(seed: int) -> None:
    packets = scrambled(seed)
    assert len(packets) > 20
    assert model_differences(packets, most=30) == []


@pytest.mark.parametrize("name", ["default", "low_delay"])
def test_a_reference_that_is_forgotten_is_noticed(name: str) -> None:
    packets = list(encoded(name).packets[:24])
    pictures = parsed(packets).pictures
    noticed = []
    for number, picture in enumerate(pictures[2:], 2):
        try:
            found = model_differences(packets, 100, (number, picture.references[-1]))
        except av.FFmpegError:
            found = ["refused"]
        noticed.append(found != [])
    assert sum(noticed) > 0.9 * len(noticed)
