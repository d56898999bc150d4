"""Coverage-guided fuzzing of what reads MPEG-1, 2 and 4, VP8 and VP9; not part of the test suite.

    pip install atheris av numpy hypothesis
    python -m tests.fuzz.fuzz_others [--only vp9] -max_total_time=600 [FOLDER]

Without a folder it starts from heads of packets of small streams that it encodes itself. Whatever
the bytes, nothing may come out, in bounded time and memory. ``--only`` chooses among the codecs.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]
import av

with atheris.instrument_imports(include=["decoder"]):
    from decoder.bitstream.parsers import structure_of

from tests.encoding import encode
from tests.fuzz.harness import DISTURBANCE, SEPARATOR, Fuzzer, disturbed, run_structure
from tests.otherstreams import recipe_named

_RECIPES = {
    "mpeg2video": "mpeg2_b_2 mpeg2_closed_2 mpeg2_interlaced mpeg2_422 mpeg1_b_1".split(),
    "mpeg4": "mpeg4_b_2 mpeg4_packed mpeg4_interlaced mpeg4_partitions mpeg4_raw".split(),
    "vp8": "vp8_alt_ref vp8_layers vp8_partitions".split(),
    "vp9": "vp9_alt_ref vp9_layers vp9_444 vp9_lossless".split(),
}
_HEAD = 100  # bytes of each packet in the seeds
_PACKETS = 12
_DISTURBED = 128

_STREAMS: dict[str, list[list[bytes]]] = {codec: [] for codec in _RECIPES}


def _structure(codec: str, data: bytes) -> None:
    """A stream that is disturbed, or packets separated; the first of them is extradata."""
    if data and data[0] >= _DISTURBED:
        extradata, *packets = disturbed(_STREAMS[codec], data[1:]) or [b""]
    else:
        extradata, *packets = data[1:].split(SEPARATOR)
    parser = structure_of(codec, extradata, intra=False)
    assert parser is not None
    run_structure(parser, packets)


def _seeds() -> Iterator[tuple[str, bytes]]:
    """Heads of the packets of every stream. Fills _STREAMS too."""
    for codec, names in _RECIPES.items():
        for number, name in enumerate(names):
            packets = list(_packets(encode(recipe_named(name))))
            _STREAMS[codec].append(packets)
            yield codec, bytes(1) + SEPARATOR.join(packets)
            yield codec, bytes((_DISTURBED, number)) + DISTURBANCE


def _packets(content: bytes) -> Iterator[bytes]:
    """Extradata, then the first bytes of the first packets."""
    with av.open(io.BytesIO(content), "r") as container:
        stream = container.streams.video[0]
        yield bytes(stream.codec_context.extradata or b"")[:_HEAD]
        packets = (bytes(packet) for packet in container.demux(stream) if packet.size)
        yield from (data[:_HEAD] for _, data in zip(range(_PACKETS), packets, strict=False))


FUZZER = Fuzzer({codec: partial(_structure, codec) for codec in _RECIPES}, _seeds)

if __name__ == "__main__":
    FUZZER.main()
