"""What becomes of a frame when one picture that it needs is left out of its closure.

    python -m tests.omission --codec hevc [--count 200] [--seed 1]

The proof that a mistake in closures would be noticed: by the decoder's own alarm, or else by the
protocol, which compares pixels.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import av

from decoder.closure import closure
from decoder.corpus import source_at
from decoder.counters import Counters
from decoder.graph import REPLACEABLE, ReferenceGraph
from decoder.media import Media
from decoder.pixels import Pixels
from decoder.plan import Feed, FeedItem, Run, plan
from decoder.sparse import Alarm, SparseDecoder
from tests import encoding, svtav1, x264, x265
from tests.known import Known

_CLIPS = {
    "h264": "default pyramid_strict_7 interlaced_tff_4 refs_4_b_0 open_gop_3 refs_8_b_3 slices_4 "
    "weight_2_1",
    "hevc": "default b_7_1 open_4 refs_6 weights lsb_4_b_2 layers long",
    "av1": "gop_250 preset_6 levels_3 low_delay open_gop_20 film_grain_8 overlays fine",
}
"""Names of recipes, by codec."""


@dataclass(slots=True)
class Outcomes:
    """How often what happened.

    Attributes:
        alarmed: the frame came out with other pixels or not at all, and the decoder said so.
        silent: it came out with other pixels, and only a comparison tells.
        harmless: it came out as it should be.
        false_alarms: so it did, but the decoder raised the alarm.
    """

    alarmed: int = 0
    silent: int = 0
    harmless: int = 0
    false_alarms: int = 0

    @property
    def tried(self) -> int:
        return self.alarmed + self.silent + self.harmless + self.false_alarms

    @property
    def changed(self) -> int:
        return self.alarmed + self.silent

    def __iadd__(self, other: Outcomes) -> Outcomes:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def __str__(self) -> str:
        return (
            f"{self.tried} tried: {self.changed} frames changed ({self.alarmed} with an alarm, "
            f"{self.silent} in silence), {self.harmless} did not, {self.false_alarms} did not and "
            "raised one"
        )


def clips(codec: str, folder: Path, seed: int) -> Iterator[Known]:
    """Those that pictures are left out of."""
    for name in _CLIPS[codec].split():
        if codec == "h264":
            yield Known.of(x264.write(x264.recipe_named(name), folder, seed))
            continue
        recipe = {"hevc": x265, "av1": svtav1}[codec].recipe_named(name)
        yield Known.of(encoding.write(recipe, folder, seed))


def leave_out(known: Known, count: int, generator: random.Random) -> Outcomes:
    """Leaves one picture out of the closure of a frame, so many times."""
    graph, frames = known.feed.graph, known.index.frames
    decoder = SparseDecoder(source_at(str(known.path)), known.index, known.feed, Counters())
    outcomes = Outcomes()
    while outcomes.tried < count:
        n = generator.randrange(len(frames))
        target = int(graph.packet_pictures[frames.packet[n]])
        victims = sorted(closure(graph, [target]) - {target})
        if known.index.facts.codec == "h264":
            victims = [victim for victim in victims if graph.traits[victim] & REPLACEABLE]
        if not victims:
            continue
        (run,) = plan(graph, [target]).runs
        right = known.truth.hashes[n]
        assert [Pixels(frame).hash for _, frame in decoder.run(run)] == [right]
        outcomes += _outcome(decoder, without(graph, run, generator.choice(victims)), right)
    decoder.close()
    return outcomes


def _outcome(decoder: SparseDecoder, run: Run, right: int) -> Outcomes:
    try:
        alarm = False
        list(decoder.run(run))
    except Alarm:
        alarm = True
    shown = [Pixels(frame).hash for _, frame in deaf(decoder, run) if frame is not None]
    decoder.close()  # what was passed over may leave traces
    if shown == [right]:
        return Outcomes(false_alarms=1) if alarm else Outcomes(harmless=1)
    return Outcomes(alarmed=1) if alarm else Outcomes(silent=1)


def without(graph: ReferenceGraph, run: Run, victim: int) -> Run:
    """The run with one of its real pictures left out, or state-only where that can be."""
    items: list[FeedItem] = []
    for item in run.items:
        if victim not in item.pictures:
            items.append(item)
        elif graph.traits[victim] & REPLACEABLE:
            items.append(FeedItem(item.packet, Feed.STATE_ONLY, item.pictures))
        elif len(item.pictures) > 1:
            others = tuple(picture for picture in item.pictures if picture != victim)
            items.append(FeedItem(item.packet, item.feed, others))
    return replace(run, items=tuple(items))


def deaf(
    self: SparseDecoder, run: Run, by_products: bool = False
) -> Iterator[tuple[int, av.VideoFrame | None]]:
    """`SparseDecoder._frames` without its alarms."""
    graph = self._feed.graph
    wanted = {packet for picture in run.targets for packet in graph.packets_of(picture)}
    if self._media is None:
        self._media = Media(self._source, self._index.facts.stream, sparse=True)
    for ordinal, data in self._stream(run):
        packet = None
        if data is not None:
            packet = av.Packet(data)
            packet.pts = packet.dts = ordinal
        try:
            frames = self._media.context.decode(packet)
        except av.FFmpegError:
            continue
        for frame in frames:
            if frame.pts is not None and frame.pts >= 0:
                yield frame.pts, frame if frame.pts in wanted else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what happened, clip by clip."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--codec", choices=tuple(_CLIPS), action="append")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for codec in options.codec or _CLIPS:
            total = Outcomes()
            chosen = list(clips(codec, Path(folder), options.seed))
            for number, known in enumerate(chosen):
                share = (number + 1) * options.count // len(chosen) - total.tried
                here = leave_out(known, share, random.Random(f"{options.seed} {number}"))
                total += here
                print(f"    {known.path.name}: {here}", flush=True)
            print(f"{codec}: {total}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
