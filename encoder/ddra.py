"""Dependency-reduced random access: B pictures between I pictures, which read nothing else.

Promises: the closure of an anchor is itself; that of any other frame is itself and the two anchors
around it, with bound 4 also the one B picture in the middle of the interval. The last frame is an
anchor, so the last interval keeps the bound though it may be shorter.

The kind of every picture is forced. What the encoders are told besides: one reference a list, no
pyramid (or, with bound 4, one reference in the middle), open groups of pictures (in a closed one
the picture before an I picture would be a P picture), and no decisions of their own. Which B
picture becomes a reference is not forced: x264 takes the earlier of two in the middle, x265 the
later. They are tuned for PSNR, by which quality is measured: what they do for the eyes of people by
default (psychovisual decisions, strong adaptive quantisation) takes 15 to 20 % more bytes for it.

A stream is a sequence of segments that do not refer to each other, since each is encoded by an
encoder of its own and begins with an IDR picture. Readers that know nothing of the structure can
start there only: an anchor elsewhere is followed by B pictures that are shown before it and read
the anchor before. Whoever seeks for one of those by decoding times, as FFmpeg does in MP4, would
arrive at the later anchor and show other frames, or none. So no other anchor is a sync sample.
"""

from __future__ import annotations

from collections.abc import Sequence

from encoder import spans
from encoder.coding import BETWEEN, ENCODERS, INTRA, Coding
from encoder.settings import Settings

_LOOKAHEAD = {"h264": 2, "h265": 1}
"""Intervals that an encoder looks ahead. x264 has to know of all that will read an anchor: with one
interval of 16 files of still cameras grow by 9 to 13 % at the same PSNR. x265 gains nothing."""

_LEAST_LOOKAHEAD = {"h264": 16, "h265": 20}
"""Frames that an encoder looks ahead at least."""

_SPREAD = "0.3"
"""Strength of adaptive quantisation: so little that it costs 2 to 3 % of bytes. Without any of it
all B pictures go to the next quantiser at the same crf, and quality jumps by 0.4 dB and more."""

_ANCHORS, _FAST_ANCHORS = "1.0", "0.8"
"""How much finer the quantiser of x264's I pictures is than that of others. Its default, 1.4, takes
as many bytes as 1.0, but more of them for anchors, which are decoded twice for one B picture. With
0.8 files grow by 2 %, and an anchor takes 10 to 23 % less time than with the default."""

_TREE, _FAST_TREE = "0.6", "0.8"
"""How little x264's macroblock tree gives to what others read (its strength is 5 times what is left
to 1; 0.6 is the default): with 0.8 anchors of still cameras have 14 % fewer bytes at the same PSNR,
and take as much less time; files grow by 10 %, of moving cameras not at all."""

LONGEST_STOCK = 17
"""Frames from anchor to anchor at most with FFmpeg's libraries: 16 B pictures in a row."""


def segment_of(settings: Settings) -> int:
    """Frames of a segment."""
    return spans.whole_segment(settings.interval, settings.segment)


def coding(settings: Settings, anchors: Sequence[int], count: int) -> Coding:
    """How ``count`` frames are encoded with these ``anchors``, which close every segment."""
    longest = max(spans.lengths(anchors), default=1)
    heads = tuple(spans.starts(count, segment_of(settings)))
    references: tuple[int, ...] = ()
    if settings.bound > 3:
        references = tuple(spans.middles(anchors, upper=settings.codec == "h265"))
    fixed = set(anchors)
    return Coding(
        name=f"DDRA {settings.codec}",
        encoder=ENCODERS[settings.codec],
        options=_h264(settings) if settings.codec == "h264" else _h265(settings),
        kinds=tuple(INTRA if n in fixed else BETWEEN for n in range(count)),
        order=tuple(spans.decode_order(anchors, references)),
        anchors=tuple(anchors),
        starts=heads,
        runs=heads,
        references=references,
        bound=settings.bound,
        external=longest > LONGEST_STOCK,
    )


def _h264(settings: Settings) -> dict[str, str]:
    parameters = _common(settings) | {
        # No anchor but the first is to be told as a place to start from: parsers would believe it.
        "keyint": "infinite",
        "min-keyint": str(2 * segment_of(settings)),
        "b-pyramid": "strict" if settings.bound > 3 else "none",
        "ipratio": _FAST_ANCHORS if settings.fastdecode else _ANCHORS,
        "qcomp": _FAST_TREE if settings.fastdecode else _TREE,
    }
    return {
        "preset": settings.preset,
        "tune": "psnr,fastdecode" if settings.fastdecode else "psnr",
        "x264-params": _joined(parameters),
    }


def _h265(settings: Settings) -> dict[str, str]:
    parameters = _common(settings) | {
        "keyint": str(settings.interval),
        "min-keyint": "1",
        "b-pyramid": "1" if settings.bound > 3 else "0",
        "log-level": "error",
        "pools": "none" if settings.threads == 1 else str(settings.threads),
        "frame-threads": str(min(settings.threads, 16)),
        "info": "0",
    }
    return {"preset": settings.preset, "tune": "psnr", "x265-params": _joined(parameters)}


def _common(settings: Settings) -> dict[str, str]:
    codec, interval = settings.codec, settings.interval
    return {
        "scenecut": "0",
        "rc-lookahead": str(max(_LEAST_LOOKAHEAD[codec], _LOOKAHEAD[codec] * interval)),
        "open-gop": "1",
        "bframes": str(max(1, interval - 1)),
        "b-adapt": "0",
        "ref": "1",
        "aq-mode": "2",
        "aq-strength": _SPREAD,
    }


def _joined(parameters: dict[str, str]) -> str:
    return ":".join(f"{name}={value}" for name, value in parameters.items())
