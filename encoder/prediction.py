"""How large a corpus will be: a part of it is encoded and thrown away again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import av
from av.video.stream import VideoStream

from decoder.errors import DecoderError
from encoder import formats
from encoder.corpus import Unit
from encoder.errors import EncoderError
from encoder.footage import Footage
from encoder.unit import transcode
from engines import Pulse

STRETCHES, LENGTH = 4, 32
"""A source is sampled in so many stretches of so many frames: little happens in some places, much
in others. Between stretches there is a cut, which costs more the shorter they are."""

FRAMES = STRETCHES * LENGTH
"""Frames of a source that are encoded at most."""

SOURCES = 16
"""Sources of which they are, at most."""

_LOSSLESS = "ffv1"


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the sample of one unit came to.

    Attributes:
        frames: of the source; ``taken`` of them are in the sample.
        bytes: of the sample's encoding.
        psnr: dB, RGB, pooled, of the sample.
        ssim: of the sample.
    """

    unit: Unit
    frames: int
    taken: int
    bytes: int
    psnr: float
    ssim: float

    @property
    def predicted(self) -> float:
        """Bytes of the whole source's encoding."""
        return self.bytes * self.frames / self.taken


@dataclass(frozen=True, slots=True)
class Prediction:
    """Bytes that all units together will come to, and what that is drawn from."""

    bytes_in: int
    bytes_out: float
    units: int
    samples: tuple[Sampled, ...]


class SampleJob:
    """Encodes the sample of a unit's source; an `engines.Job`. Leaves nothing behind."""

    def __call__(self, item: Unit, pulse: Pulse) -> Sampled | str:
        """What it came to, or why it cannot be said."""
        try:
            with tempfile.TemporaryDirectory(prefix="framefs-") as folder:
                return _sampled(item, folder, pulse)
        except (EncoderError, DecoderError) as error:
            return str(error)
        except OSError as error:
            return f"{item.source.path}: no sample can be written ({error.strerror or error})"


def spread(units: Sequence[Unit]) -> list[Unit]:
    """At most `SOURCES` of ``units``, evenly spread over them."""
    if len(units) <= SOURCES:
        return list(units)
    return [units[n * (len(units) - 1) // (SOURCES - 1)] for n in range(SOURCES)]


def prediction(units: Sequence[Unit], samples: Sequence[Sampled]) -> Prediction:
    """What ``samples``, at least one, say of ``units``.

    What was not sampled is taken to shrink as the samples do together.
    """
    by_target = {sample.unit.target: sample for sample in samples}
    sampled_in = sum(sample.unit.source.fingerprint.size for sample in samples)
    shrinking = sum(sample.predicted for sample in samples) / max(1, sampled_in)
    out = 0.0
    for unit in units:
        sample = by_target.get(unit.target)
        size = unit.source.fingerprint.size
        out += size * shrinking if sample is None else sample.predicted
    return Prediction(
        sum(unit.source.fingerprint.size for unit in units), out, len(units), tuple(samples)
    )


def _sampled(unit: Unit, folder: str, pulse: Pulse) -> Sampled:
    settings = unit.settings
    part = os.path.join(folder, "part.mkv")
    frames, taken = cut(unit.path, part, pulse, retime=settings.retime)
    if settings.like is not None:
        reference = os.path.join(folder, "reference.mkv")
        cut(settings.like, reference, pulse)
        settings = settings.replaced(like=reference)
    if settings.target_size is not None:
        settings = settings.replaced(target_size=max(1, settings.target_size * taken // frames))
    outcome = transcode(
        part, os.path.join(folder, "part.mp4"), settings, stop=pulse, progress=pulse.report
    )
    return Sampled(unit, frames, taken, outcome.bytes_out, outcome.psnr, outcome.ssim)


def cut(source: str, target: str, pulse: Pulse, *, retime: bool = True) -> tuple[int, int]:
    """Writes the sample of ``source`` without loss; frames there are, and frames in the sample."""
    with (
        Footage(source, pulse, retime=retime) as footage,
        av.open(target, "w", format="matroska") as output,
    ):
        form, _ = formats.chosen(source, footage.look, _LOSSLESS)
        stream = output.add_stream(_LOSSLESS, rate=footage.rate)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height = footage.look.width, footage.look.height
        stream.pix_fmt = form
        stream.codec_context.color_range = footage.look.range
        numbers = sample_of(len(footage))
        for n, number in enumerate(numbers):
            frame = footage.reader.frame(number).native
            if frame.format.name.replace("yuvj", "yuv") != form:
                frame = frame.reformat(format=form, threads=1)
            frame.pts, frame.time_base = n, 1 / footage.rate
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
        return len(footage), len(numbers)


def sample_of(count: int) -> list[int]:
    """The frames of a source of ``count`` that are in its sample: stretches, evenly spread."""
    if count <= FRAMES:
        return list(range(count))
    firsts = [n * (count - LENGTH) // (STRETCHES - 1) for n in range(STRETCHES)]
    return [first + n for first in firsts for n in range(LENGTH)]
