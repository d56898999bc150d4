"""x264 and x265 as programs of their own, for intervals that the libraries do not reach.

They are built by scripts/build-encoders.sh and looked for below XDG_DATA_HOME. Frames go in through
a pipe (YUV4MPEG2), kinds in a file, and the raw stream comes back when all of it is encoded.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import av
from av.video.stream import VideoStream

from decoder.pixels import Pixels
from encoder.coding import INTRA
from encoder.errors import EncodingFailed, SettingsError
from encoder.footage import Look

_SMALLEST, _RATES = 64, (1, 300)
"""Width and height, frames per second, of which x265 would say that it cannot open them: limits of
its reader of YUV4MPEG2. Its reader of raw frames hangs at them."""

_UNSPECIFIED = 2
_FULL = 2

_CHROMA = {"420": "420jpeg", "422": "422", "444": "444"}

_FORMATS = {"libx264": "h264", "libx265": "hevc"}

_PRIMARIES = {1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 9: "bt2020"}
_TRANSFERS = {
    1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "linear",
    13: "iec61966-2-1", 14: "bt2020-10", 15: "bt2020-12", 16: "smpte2084", 18: "arib-std-b67",
}  # fmt: skip
_MATRICES = {1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 9: "bt2020nc"}
"""Names that both programs have for numbers of ISO/IEC 23091-2."""


def program(encoder: str, bits: int) -> Path | None:
    """The program for ``encoder`` ("libx264", "libx265"), or None where it has not been built."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    name = {"libx264": "x264", "libx265": "x265"}[encoder]
    if encoder == "libx265" and bits > 8:
        name += f"-{bits}bit"
    path = Path(base) / "framefs" / "encoders" / name
    return path if os.access(path, os.X_OK) else None


class External:
    """One run of a program: takes frames like an encoder of FFmpeg's. A context manager.

    Args:
        options: as of FFmpeg's encoder of that name: preset, tune, crf and x264-params.
        kinds: of the frames to come, see `encoder.coding`.
        order: their numbers in the order in which they will be decoded.

    Raises:
        SettingsError: there is no such program, or it cannot be told of the frames' look.
    """

    def __init__(
        self,
        encoder: str,
        options: Mapping[str, str],
        look: Look,
        rate: Fraction,
        kinds: Sequence[int],
        order: Sequence[int],
    ) -> None:
        path = program(encoder, look.bits)
        low, high = _RATES
        small = min(look.width, look.height) < _SMALLEST
        if encoder == "libx265" and (small or not low <= rate <= high):
            raise SettingsError(
                f"interval: in more than 17 frames x265 takes pictures of {_SMALLEST}x{_SMALLEST} "
                f"and more, and {low} to {high} a second, not {look.width}x{look.height} and "
                f"{float(rate):.6g}; take a shorter interval or the profile fast"
            )
        if path is None:
            raise SettingsError(
                f"interval: there is no program for {encoder} with {look.bits} bits and intervals "
                "of more than 17 frames; scripts/build-encoders.sh builds them for 8 and 10 bits"
            )
        self._format = _FORMATS[encoder]
        self._order = order
        self._folder = tempfile.TemporaryDirectory(prefix="framefs-encoder-")
        self._stream = os.path.join(self._folder.name, f"stream.{self._format}")
        types = os.path.join(self._folder.name, "types")
        letters = ("I" if n == 0 else "i" if kind == INTRA else "b" for n, kind in enumerate(kinds))
        Path(types).write_text("".join(f"{n} {letter} -1\n" for n, letter in enumerate(letters)))
        self._log = open(os.path.join(self._folder.name, "log"), "w+b")  # noqa: SIM115 - see close
        self._path = path
        command = [str(path), *_arguments(encoder, options), *_look(encoder, look)]
        command += ["--qpfile", types, "--output", self._stream]
        command += ["--demuxer", "y4m", "-"] if encoder == "libx264" else ["--y4m", "--input", "-"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log
        )
        self._write(_header(look, rate))

    def encode(self, frame: av.VideoFrame | None) -> list[av.Packet[VideoStream]]:
        """Takes a frame; None: the end, and all packets come, their pts being frame numbers.

        Raises:
            EncodingFailed: the program gave up.
        """
        if frame is not None:
            self._write(b"FRAME\n")
            for plane in Pixels(frame).planes:
                self._write(plane.tobytes())
            return []
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.wait():
            raise self._failed()
        try:
            with av.open(self._stream, format=self._format) as container:
                packets = [packet for packet in container.demux(video=0) if packet.size]
        except (av.FFmpegError, OSError) as error:
            raise EncodingFailed(f"{self._path} left no stream that can be read") from error
        for packet, number in zip(packets, self._order, strict=False):
            packet.pts = number
        return packets

    def close(self) -> None:
        """Ends the program, if it still runs, and takes away its files."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._log.close()
        self._folder.cleanup()

    def __enter__(self) -> External:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, content: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(content)
        except BrokenPipeError as error:
            self._process.wait()
            raise self._failed() from error

    def _failed(self) -> EncodingFailed:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines() or ["no word"]
        return EncodingFailed(
            f"{self._path} ended with status {self._process.returncode}: {lines[-1]}"
        )


def _arguments(encoder: str, options: Mapping[str, str]) -> list[str]:
    """FFmpeg's options as those of the programs."""
    told = ["--preset", options["preset"], "--crf", options["crf"]]
    if "tune" in options:
        told += ["--tune", options["tune"]]
    parameters = dict(
        pair.split("=", 1) for pair in options[f"{encoder.removeprefix('lib')}-params"].split(":")
    )
    if encoder == "libx264":
        told += ["--threads", "1"]
    for name, value in parameters.items():
        if name in ("open-gop", "tff", "bff"):
            told.append(f"--{name}")
        elif name in ("b-pyramid", "info") and encoder == "libx265":
            told.append(f"--{'' if value == '1' else 'no-'}{name}")
        else:
            told += [f"--{name}", value]
    return told


def _look(encoder: str, look: Look) -> list[str]:
    told = []
    for option, number, names in (
        ("--colorprim", look.primaries, _PRIMARIES),
        ("--transfer", look.transfer, _TRANSFERS),
        ("--colormatrix", look.matrix, _MATRICES),
    ):
        if number == _UNSPECIFIED:
            continue
        if number not in names:
            raise SettingsError(
                f"interval: {encoder} with more than 17 frames cannot be told of colour {number}"
            )
        told += [option, names[number]]
    if look.range == _FULL:
        told += ["--range", "pc" if encoder == "libx264" else "full"]
    elif look.range:
        told += ["--range", "tv" if encoder == "libx264" else "limited"]
    if look.sample_aspect_ratio:
        aspect = look.sample_aspect_ratio
        told += ["--sar", f"{aspect.numerator}:{aspect.denominator}"]
    if encoder == "libx264":
        form = look.pixel_format
        told += ["--output-csp", f"i{form[3:6]}", "--output-depth", str(look.bits)]
    return told


def _header(look: Look, rate: Fraction) -> bytes:
    """Of YUV4MPEG2. Raises SettingsError for what it has no name for."""
    kind = look.pixel_format[3:6]
    if not look.pixel_format.startswith("yuv") or kind not in _CHROMA:
        raise SettingsError(
            f"interval: more than 17 frames cannot be had with the format {look.pixel_format}"
        )
    chroma = _CHROMA[kind] if look.bits == 8 else f"{kind}p{look.bits}"
    text = f"YUV4MPEG2 W{look.width} H{look.height} F{rate.numerator}:{rate.denominator} Ip"
    return f"{text} C{chroma}\n".encode()
