"""PyAV: seek to the key frame, decode on from there, one pass for all targets of one GOP."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.peer import Availability, Peer, words


class Reader(Peer):
    """Frame numbers are ranks of pts, which a pass through the packets finds at `open`.

    Where the next target of a batch lies ahead of the decoder in the same GOP decoding just goes
    on. Only targets are converted to RGB.
    """

    forward = False
    """Decoding goes on from one batch to the next, too."""

    def __init__(self) -> None:
        self._container: Any = None
        self._frames: Iterator[Any] = iter(())
        self._next = 0
        self._pts: list[int] = []
        self._keys: list[int] = []
        self._packets = 0
        self._bytes = 0

    @staticmethod
    def available() -> Availability:
        try:
            import av
        except Exception as error:
            return Availability(why_not=words(error))
        return Availability({"av": av.__version__, "FFmpeg": av.ffmpeg_version_info})

    def open(self, path: str) -> None:
        import av

        with av.open(path) as container:
            packets = [p for p in container.demux(video=0) if p.size]
        if any(p.pts is None for p in packets):
            raise ValueError("a packet has no pts, by which frames are found")
        self._pts = sorted(p.pts for p in packets if p.pts is not None)
        keys = [p.pts for p in packets if p.is_keyframe and p.pts is not None]
        self._keys = sorted(bisect.bisect_left(self._pts, pts) for pts in keys)
        self._container = av.open(path)
        context = self._container.streams.video[0].codec_context
        context.thread_count = 1
        context.thread_type = "NONE"
        self._go_to(0)

    def read(self, indices: Sequence[int]) -> NDArray[np.uint8]:
        result: NDArray[np.uint8] | None = None
        if indices and not self.forward:
            self._go_to(indices[0])
        for place, n in enumerate(indices):
            image = self._frame(n).to_ndarray(format="rgb24", threads=1)
            if result is None:
                result = np.empty((len(indices), *image.shape), np.uint8)
            result[place] = image
        if result is None:
            raise ValueError("no frames asked for")
        return result

    def counts(self) -> Mapping[str, int]:
        return {"reconstructed": self._packets, "bytes_read": self._bytes}

    def close(self) -> None:
        self._container.close()

    def _frame(self, n: int) -> Any:
        if n < self._next or self._key_before(n) > self._key_before(self._next):
            self._go_to(n)
        for frame in self._frames:
            self._next = bisect.bisect_right(self._pts, frame.pts)
            if frame.pts >= self._pts[n]:
                return frame
        raise ValueError(f"frame {n} does not come out")

    def _key_before(self, n: int) -> int:
        return self._keys[max(0, bisect.bisect_right(self._keys, n) - 1)]

    def _go_to(self, n: int) -> None:
        key = self._key_before(n)
        self._container.seek(self._pts[key], stream=self._container.streams.video[0])
        self._frames = self._decode()
        self._next = key

    def _decode(self) -> Iterator[Any]:
        """As ``container.decode``, which does not say how many packets it takes."""
        stream = self._container.streams.video[0]
        for packet in self._container.demux(stream):
            if packet.size:
                self._packets += 1
                self._bytes += packet.size
            yield from stream.codec_context.decode(packet if packet.size else None)
