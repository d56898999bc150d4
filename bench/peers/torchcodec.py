"""TorchCodec, on the FFmpeg libraries of the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.peer import Availability, Peer, words


class Reader(Peer):
    """``VideoDecoder.get_frames_at``, exact seeking, one thread in FFmpeg and one in torch."""

    def __init__(self) -> None:
        self._decoder: Any = None

    @staticmethod
    def available() -> Availability:
        try:
            import torch
            import torchcodec
            from torchcodec import ffmpeg_major_version
        except Exception as error:
            if "libtorchcodec" in str(error):
                return Availability(
                    why_not="its library does not load: FFmpeg's shared libraries are missing "
                    "(apt-get install ffmpeg), or torch is of another version"
                )
            return Availability(why_not=words(error))
        return Availability(
            {
                "torchcodec": torchcodec.__version__,
                "torch": torch.__version__,
                "FFmpeg": str(ffmpeg_major_version),
            }
        )

    def open(self, path: str) -> None:
        import torch
        from torchcodec.decoders import VideoDecoder

        torch.set_num_threads(1)
        self._decoder = VideoDecoder(
            path, dimension_order="NHWC", num_ffmpeg_threads=1, seek_mode="exact"
        )

    def read(self, indices: Sequence[int]) -> NDArray[np.uint8]:
        frames: NDArray[np.uint8] = self._decoder.get_frames_at(list(indices)).data.numpy()
        return frames

    def close(self) -> None:
        self._decoder = None
