"""Streams decoded through the product, sparsely, against their full decode."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import av
from msgspec.structs import replace

from decoder.bitstream.av1.stream import PictureStream
from decoder.bitstream.picture import Picture
from decoder.corpus import source_at
from decoder.counters import Counters
from decoder.graph import ReferenceGraph
from decoder.headers import index_by_headers
from decoder.index import PICTURE_TYPES, SourceIndex
from decoder.pixels import Pixels
from decoder.plan import Run, plan, walk
from decoder.scan import scan
from decoder.sparse import SparseDecoder

from .packets import parsed


def differences(path: Path, most: int = 60) -> list[str]:
    """What is not as a full decode has it: the index, then frames one by one and in sets.

    Args:
        path: a file whose index can be made from its headers.
        most: frames asked for, by chance if there are more.
    """
    source = source_at(str(path))
    full = scan(source)
    index = index_by_headers(source)
    if full.facts.damage:
        return [f"the full decode fails: {full.facts.damage}"]
    if told(index) != told(full):
        return ["the index differs"]
    chance = random.Random(str(path.name))
    frames = list(range(index.frame_count))
    if len(frames) > most:
        frames = sorted(chance.sample(frames, most))
    requests = [[n] for n in frames]
    requests += [sorted({chance.choice(frames) for _ in range(k)}) for k in (2, 4, 8) * 2]
    assert index.feed is not None
    graph = index.feed.graph
    pictures = graph.packet_pictures[index.frames.packet].tolist()
    places = {picture: n for n, picture in enumerate(pictures)}
    decoder = SparseDecoder(source, index, index.feed, Counters())
    wrong = []
    for request in requests:
        runs = plan(graph, [pictures[n] for n in request]).runs
        if any(run.conservative is not None for run in runs):
            wrong.append(f"{request}: not planned")
            continue
        hashes = {
            places[picture]: Pixels(frame).hash
            for run in runs
            for picture, frame in decoder.run(run)
        }
        if hashes != {n: int(full.frames.hash[n]) for n in request}:
            wrong.append(f"{request}: other frames")
    decoder.close()
    return wrong


def told(index: SourceIndex) -> list[tuple[object, ...]]:
    """Packet, type and geometry of each frame."""
    frames = index.frames
    return [
        (packet, kind, index.geometry(n))
        for n, (packet, kind) in enumerate(
            zip(frames.packet.tolist(), frames.picture_type.tolist(), strict=True)
        )
    ]


def lenient() -> av.VideoCodecContext:
    """A decoder that does not mind when the data of a tile end too early, as those of noise do."""
    context = av.CodecContext.create("libdav1d", "r")
    assert isinstance(context, av.VideoCodecContext)
    context.thread_count = 1
    return context


def decoded(packets: Mapping[int, bytes], context: av.VideoCodecContext) -> list[Shown]:
    """What comes out for packets by ordinal. Raises av.FFmpegError where one is refused."""
    shown: list[Shown] = []
    for ordinal, data in [*packets.items(), (-1, None)]:
        packet = None
        if data is not None:
            packet = av.Packet(data)
            packet.pts = packet.dts = ordinal
        shown += [
            Shown(frame.pts, PICTURE_TYPES[int(frame.pict_type)], Pixels(frame).hash)
            for frame in context.decode(packet)
        ]
    context.flush_buffers()
    return shown


class Shown(NamedTuple):
    """A frame that came out."""

    packet: int | None
    picture_type: str
    hash: int


def model_differences(
    packets: Sequence[bytes], most: int, forgotten: tuple[int, int] | None = None
) -> list[str]:
    """As `differences`, for a stream that no container holds and that a strict decoder refuses.

    ``forgotten``: a picture and one of its references that the model is not to know of.
    """
    stream, pictures = parsed(packets)
    if forgotten is not None:
        number, reference = forgotten
        rest = tuple(k for k in pictures[number].references if k != reference)
        pictures[number] = replace(pictures[number], references=rest)
    assert stream.fallback is None
    full = decoded(dict(enumerate(packets)), lenient())
    model = [(pictures[k].packets[0], pictures[k].picture_type) for k in stream.shown]
    if model != [(frame.packet, frame.picture_type) for frame in full]:
        return ["other frames are shown"]
    if sorted([*stream.shown, *stream.hidden]) != list(range(len(pictures))):
        return ["a picture is neither shown nor hidden"]
    graph = ReferenceGraph.from_pictures(pictures, stream.packets)
    chance = random.Random(len(packets))
    requests = chance.sample(stream.shown, min(most, len(stream.shown)))
    runs = [run for target in requests for run in plan(graph, [target]).runs]
    points = [number for number, picture in enumerate(pictures) if picture.is_rap]
    runs += [run for point in points if (run := walk(graph, point)) is not None]
    wanted = {frame.packet: frame for frame in full}
    context = lenient()
    wrong = []
    for run in runs:
        if run.conservative is not None:
            wrong.append(f"{run.targets}: not planned")
            continue
        shown = decoded(_fed(run, packets, stream, pictures), context)
        fed = [pictures[k] for item in run.items for k in item.pictures]
        visible = [picture.packets[0] for picture in fed if picture.visible]
        # A lower spatial layer comes out where the packet is fed without the higher one.
        if [f for f in shown if f.packet in visible] != [wanted[packet] for packet in visible]:
            wrong.append(f"{run.targets}: other frames")
    return wrong


def _fed(
    run: Run, packets: Sequence[bytes], stream: PictureStream, pictures: Sequence[Picture]
) -> dict[int, bytes]:
    """What a run feeds, by ordinal."""
    known = b""
    fed = {}
    for item in run.items:
        head = [data for place, data in stream.heads() if place < item.packet][-1]
        spans = [span for k in item.pictures for span in pictures[k].spans or ()]
        own = b"".join(packets[item.packet][start : start + size] for start, size in spans)
        fed[item.packet] = own if head == known else head + own
        known = head
    return fed
