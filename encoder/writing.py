"""Frames through an encoder into an MP4 file, each with the timestamp it is to have."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import av
from av.codec.context import CodecContext, Flags
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType
from av.video.stream import VideoStream

from encoder import priority
from encoder.coding import Coding
from encoder.errors import EncodingFailed, Interrupted, TargetFailed
from encoder.external import External
from encoder.footage import Footage, Look
from encoder.repeatable import repeatable
from encoder.timing import Timing
from encoder.tracks import Tracks

VideoPacket: TypeAlias = "av.Packet[VideoStream]"

Progress = Callable[[int, int], None]
"""Is told of (frames encoded, frames in all)."""


def write(
    footage: Footage,
    path: str,
    coding: Coding,
    look: Look,
    when: Timing,
    crf: float,
    *,
    threads: int = 1,
    tracks: bool = False,
    stop: threading.Event | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Encodes all frames of ``footage`` to ``path``.

    Args:
        look: of the frames in the new file; those of another format are converted.
        tracks: copy what is beside the pictures.

    Returns:
        Which of the tracks are left out, in words.

    Raises:
        EncodingFailed: the encoder refuses, or its packets come in another order than promised.
        TargetFailed: the file cannot be written.
        SourceFailed, Interrupted: see `Footage.pixels`.
    """
    os.environ.setdefault("SVT_LOG", "1")  # errors; it says everything else on stderr too
    count = len(footage)
    with (
        _told(footage.path, path),
        ExitStack() as beside,
        _output(path, when.timescale) as output,
    ):
        options = repeatable(coding.encoder, coding.at(crf), look.width)
        track = _track(output, coding, options, look, footage.rate, threads)
        others = Tracks(footage.path, output, footage.later) if tracks else None
        if others is not None:
            beside.enter_context(others)
        output.start_encoding()
        priority.yield_to_others()
        bounds = [*coding.runs, count]
        ends = dict(pairwise(bounds))
        encoder: Encoder
        if coding.external:
            encoder = opened(coding, options, look, footage.rate, 0, ends[0])
        else:
            encoder = _Library(track.codec_context)
        beside.callback(lambda: encoder.close())
        starts = frozenset(coding.starts)
        muxed = 0

        def mux(packets: list[VideoPacket]) -> None:
            nonlocal muxed
            for packet in packets:
                frame = _numbered(packet, coding.order, muxed)
                _stamp(packet, frame, when)
                packet.is_keyframe = frame in starts
                packet.stream = track
                if others is not None:
                    others.copy(Fraction(when.dts[frame], when.timescale))
                output.mux(packet)
                muxed += 1

        for n, pixels in enumerate(footage.pixels()):
            if stop is not None and stop.is_set():
                raise Interrupted(f"{footage.path}: not encoded, it was asked to stop")
            if n in ends and n:
                mux(encoder.encode(None))
                encoder.close()
                encoder = opened(
                    coding, options, look, footage.rate, n, ends[n], threads, global_header=True
                )
            mux(encoder.encode(prepared(pixels.native, n, look, coding.kinds[n], footage.rate)))
            if progress is not None:
                progress(n + 1, count)
        mux(encoder.encode(None))
        if muxed != count:
            raise EncodingFailed(f"{footage.path}: {muxed} packets came of {count} frames")
        if others is None:
            return []
        others.copy()
        return others.notes


def _output(path: str, timescale: int) -> av.container.OutputContainer:
    # The movie's own timescale would round what an edit list tells of the first frame.
    options = {"video_track_timescale": str(timescale), "movie_timescale": str(timescale)}
    return av.open(path, "w", format="mp4", options=options)


def set_up(context: VideoCodecContext, look: Look, rate: Fraction, threads: int) -> None:
    """Tells an encoder what its frames are like; ``threads`` of its own."""
    context.width, context.height, context.pix_fmt = look.width, look.height, look.pixel_format
    context.time_base, context.framerate = 1 / rate, rate
    context.thread_count = threads
    context.color_range = look.range
    context.colorspace = look.matrix
    context.color_primaries = look.primaries
    context.color_trc = look.transfer
    if look.sample_aspect_ratio:
        context.sample_aspect_ratio = look.sample_aspect_ratio


class _Library:
    """An encoder of FFmpeg's."""

    def __init__(self, context: VideoCodecContext) -> None:
        self._context = context

    def encode(self, frame: av.VideoFrame | None) -> list[VideoPacket]:
        """Packets that come when ``frame`` (None: the end) goes in."""
        return self._context.encode(frame)

    def close(self) -> None:
        """Nothing is left to be done."""


def _track(
    output: av.container.OutputContainer,
    coding: Coding,
    options: dict[str, str],
    look: Look,
    rate: Fraction,
    threads: int,
) -> VideoStream:
    if coding.external:
        track = output.add_mux_stream(
            coding.encoder, rate=rate, width=look.width, height=look.height
        )
        assert isinstance(track, VideoStream)
    else:
        track = output.add_stream(coding.encoder, rate=rate, options=options)
        assert isinstance(track, VideoStream)
        set_up(track.codec_context, look, rate, threads)
    if look.display_matrix is not None:
        track.set_display_matrix(look.display_matrix)
    return track


Encoder: TypeAlias = "_Library | External"


def opened(
    coding: Coding,
    options: dict[str, str],
    look: Look,
    rate: Fraction,
    first: int,
    end: int,
    threads: int = 1,
    *,
    global_header: bool = False,
) -> Encoder:
    """What encodes frames ``first`` to ``end`` - 1 of ``coding``.

    Args:
        global_header: leave parameter sets out of the stream (a program does not).

    Raises:
        SettingsError: see `encoder.external.External`.
    """
    if coding.external:
        kinds, order = coding.kinds[first:end], coding.order[first:end]
        return External(coding.encoder, options, look, rate, kinds, order)
    context = CodecContext.create(coding.encoder, "w")
    assert isinstance(context, VideoCodecContext)
    context.options = options
    if global_header:
        context.flags |= Flags.global_header
    set_up(context, look, rate, threads)
    return _Library(context)


def prepared(frame: av.VideoFrame, n: int, look: Look, kind: int, rate: Fraction) -> av.VideoFrame:
    """``frame`` as the encoder is to see it: by number, since time is told to the muxer only."""
    name = frame.format.name
    if name != look.pixel_format and name != look.pixel_format.replace("yuv", "yuvj"):
        frame = frame.reformat(format=look.pixel_format, threads=1)
    frame.pts, frame.time_base = n, 1 / rate
    frame.pict_type = PictureType(kind)
    return frame


def _numbered(packet: VideoPacket, order: tuple[int, ...], place: int) -> int:
    """The frame of the packet at ``place``. Raises EncodingFailed unless it is the promised one."""
    promised = order[place] if place < len(order) else None
    if packet.pts is None or packet.pts != promised:
        raise EncodingFailed(
            f"packet {place} of the encoder is of frame {packet.pts}, not of {promised} as promised"
        )
    return promised


def _stamp(packet: VideoPacket, frame: int, when: Timing) -> None:
    packet.time_base = Fraction(1, when.timescale)
    packet.pts, packet.dts = when.pts[frame], when.dts[frame]
    packet.duration = when.durations[frame]


@contextmanager
def _told(source: str, target: str) -> Iterator[None]:
    """Errors of FFmpeg as errors of the encoder."""
    try:
        yield
    except (av.FFmpegError, OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        words = os.strerror(number) if number in _SYSTEM else str(error)
        if number in _SYSTEM:
            raise TargetFailed(
                f"{source}: {target} cannot be written ({words}); make room or choose another place"
            ) from error
        raise EncodingFailed(f"{source}: the encoder gave up ({words})") from error


_SYSTEM = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.EIO,
     errno.EFBIG, errno.ENOTDIR)
)  # fmt: skip
