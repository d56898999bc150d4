"""One video stream of one open file, as FFmpeg demuxes it.

The only place that opens containers: scanning and reading see the same packets and the same codec
context settings, or their results would not be comparable.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import TypeAlias, cast

import av
from av.codec.codec import Properties
from av.codec.context import Flags
from av.stream import Disposition
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from decoder.corpus import Source, fingerprint_of
from decoder.errors import SourceChanged, SourceNotFound, SourceUnreadable, Stopped

VideoPacket: TypeAlias = "av.Packet[VideoStream]"

_REFERRING = frozenset(
    "alsa avisynth concat dash fbdev hls image2 imf kmsgrab lavfi rtp rtsp sap sdp v4l2 "
    "vapoursynth video4linux2 vobsub webm_dash_manifest".split()
)
"""Demuxers whose pictures come from elsewhere than the file itself: lists, scripts, devices."""

_OPTIONS = {
    # A video is one local file. Without these a playlist or script under a video's name would
    # make the reader open whatever it lists.
    "protocol_whitelist": "file",
    "format_whitelist": ",".join(
        sorted({name for names in av.formats_available for name in names.split(",")} - _REFERRING)
    ),
}


class Media:
    """An open file, its chosen stream and that stream's codec context: one thread, own defaults.

    Use from one thread at a time, in the process that opened it; a context manager.

    Args:
        source: the file, in the version that is meant.
        stream: number of the stream in the file; None takes the first video stream that is not an
            attached picture (cover art).
        stop: ends the work where it is when set.
        sparse: the context will be fed parts of the stream only.

    Raises:
        SourceNotFound: the file is gone.
        SourceChanged: the file is there in another version.
        SourceUnreadable: FFmpeg cannot open it, or it has no such video stream.
    """

    def __init__(
        self,
        source: Source,
        stream: int | None = None,
        stop: threading.Event | None = None,
        *,
        sparse: bool = False,
    ) -> None:
        self.source = source
        self._stop = stop
        check_unchanged(source)
        try:
            # Metadata in an unknown encoding is no reason to refuse the pictures.
            self._container = av.open(source.path, metadata_errors="ignore", options=_OPTIONS)
        except (av.FFmpegError, OSError, ValueError) as error:
            check_unchanged(source)
            raise SourceUnreadable(
                f"{source.path}: cannot be opened as a video ({_words(error)}); "
                "check that the file is complete"
            ) from error
        try:
            check_unchanged(source)
            self.stream = self._choose(stream)
            self.context = self.stream.codec_context
            if self.context is None:
                raise SourceUnreadable(
                    f"{source.path}: no decoder for stream {self.stream.index}; "
                    "choose another with the setting decoder.stream"
                )
            self.context.thread_count = 1
            self.context.thread_type = "NONE"
            if sparse:
                # Without it frames are lost where the stream does not declare its reordering, and
                # what refers to a picture that was left out on purpose is withheld as corrupt.
                self.context.options = {"strict": "1"}
                self.context.flags |= Flags.output_corrupt
        except BaseException:
            self._container.close()
            raise

    def _choose(self, number: int | None) -> VideoStream:
        path = self.source.path
        videos = list(self._container.streams.video)
        if number is not None:
            for stream in videos:
                if stream.index == number:
                    return stream
            found = ", ".join(str(stream.index) for stream in videos) or "none"
            raise SourceUnreadable(
                f"{path}: stream {number} is not a video stream (video streams here: {found}); "
                "change the setting decoder.stream"
            )
        for stream in videos:
            if not stream.disposition & Disposition.attached_pic:
                return stream
        what = "only a cover picture" if videos else "no video stream"
        raise SourceUnreadable(f"{path}: the file holds {what}; move it out of the corpus")

    @property
    def container_format(self) -> str:
        """FFmpeg's name of the container, e.g. "mov,mp4,m4a,3gp,3g2,mj2"."""
        return str(self._container.format.name)

    def packets(self, damage: list[str] | None = None) -> Iterator[VideoPacket]:
        """The packets of the stream from here on, in decode order; those without data left out.

        A packet without data is no picture, and a decoder takes it as the end of the stream.
        Where the demuxer fails the packets end, as they do for the ffmpeg tool; the reason is
        appended to ``damage``.

        Raises:
            Stopped: ``stop`` is set.
        """
        while True:
            try:
                for packet in self._container.demux(self.stream):
                    if self._stop is not None and self._stop.is_set():
                        raise Stopped(f"{self.source.path}: not read, decoding is being shut down")
                    if packet.size:
                        yield packet
                return
            except IndexError:
                # PyAV trips over a stream that appears in mid-file (its packet is lost, ours are
                # not): go on behind it.
                continue
            except av.FFmpegError as error:
                if damage is not None:
                    damage.append(f"demuxing ended early: {_words(error)}")
                return

    def seek(self, timestamp: int) -> bool:
        """Asks the container to go to ``timestamp`` (time base of the stream) or before it.

        Where it lands is for the caller to find out. False where the container cannot seek.
        """
        try:
            self._container.seek(timestamp, stream=self.stream, backward=True, any_frame=False)
        except (av.FFmpegError, OSError):
            return False
        return True

    def close(self) -> None:
        """Closes the file; the object is of no use afterwards."""
        self._container.close()

    def __enter__(self) -> Media:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def check_unchanged(source: Source) -> None:
    """Raises SourceNotFound or SourceChanged unless the file is there in the meant version."""
    try:
        present = fingerprint_of(os.stat(source.path))
    except OSError as error:
        raise SourceNotFound(f"{source.path}: {error.strerror}") from error
    if present != source.fingerprint:
        raise SourceChanged(
            f"{source.path}: the file was changed while it was in use; read it again"
        )


def is_intra_only(context: VideoCodecContext) -> bool:
    """Whether FFmpeg says of a codec that each of its pictures is coded alone."""
    flag = cast(int, Properties.INTRA_ONLY.value)
    return bool(context.codec.properties & flag)


def decode(
    media: Media, packet: VideoPacket | None, damage: list[str] | None = None
) -> list[av.VideoFrame]:
    """Frames that come out when ``packet`` (None: the end) goes in.

    A packet that the decoder refuses is passed over, as the ffmpeg tool does; the reason is
    appended to ``damage``.
    """
    try:
        return media.context.decode(packet)
    except av.FFmpegError as error:
        if damage is not None:
            damage.append(f"a packet was refused: {_words(error)}")
        return []


def _words(error: Exception) -> str:
    if isinstance(error, av.FFmpegError):
        return str(error.strerror)
    return str(error)
