"""`Tracks`: what a source holds beside its pictures, copied into the new file packet by packet."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import TracebackType

import av
from av.container import InputContainer, OutputContainer
from av.stream import Stream

_KINDS = ("audio", "subtitle", "data")


class Tracks:
    """The other tracks of the file at ``path``, as far as MP4 takes them. A context manager.

    Args:
        output: gets a stream for each; must not be written to yet.
        later: seconds by which all is shown later than in the source.

    Attributes:
        notes: which are left out, and why.
    """

    def __init__(self, path: str, output: OutputContainer, later: Fraction) -> None:
        self.notes: list[str] = []
        self._output = output
        self._later = later
        self._container: InputContainer = av.open(path, metadata_errors="ignore")
        self._copies: dict[int, Stream] = {}
        for stream in self._container.streams:
            if stream.type not in _KINDS:
                continue
            try:
                self._copies[stream.index] = output.add_stream_from_template(stream)
            except (av.FFmpegError, ValueError, TypeError) as error:
                what = f"track {stream.index} ({stream.type})"
                self.notes.append(f"{what} is left out, MP4 does not take it: {error}")
        self._packets = self._demuxed()
        self._next = next(self._packets, None)

    def copy(self, until: Fraction | None = None) -> None:
        """Writes what begins before ``until``, in seconds; None: all that is left."""
        while self._next is not None:
            packet = self._next
            assert packet.dts is not None
            if until is not None and packet.dts * packet.time_base >= until:
                return
            packet.stream = self._copies[packet.stream.index]
            self._output.mux(packet)
            self._next = next(self._packets, None)

    def _demuxed(self) -> Iterator[av.Packet[Stream]]:
        chosen = [stream for stream in self._container.streams if stream.index in self._copies]
        for packet in self._container.demux(chosen) if chosen else ():
            if packet.dts is None or not packet.size:
                continue
            shift = round(self._later / packet.time_base)
            packet.dts += shift
            packet.pts = None if packet.pts is None else packet.pts + shift
            yield packet

    def __enter__(self) -> Tracks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._container.close()
