"""Which pixel format a source is encoded in: its own where the encoder takes it."""

from __future__ import annotations

import functools
from dataclasses import replace

import av
from av.codec.codec import Codec, find_best_pix_fmt_of_list

from encoder.coding import ENCODERS
from encoder.errors import SourceUnsupported
from encoder.footage import Look

_RGB, _UNSPECIFIED = 0, 2
"""MatrixCoefficients of ISO/IEC 23091-2."""

_ANY_SIZE = ENCODERS["av1"]

_OF_FIELDS = ENCODERS["h264"]


def chosen(path: str, look: Look, encoder: str) -> tuple[str, list[str]]:
    """The format of the new file, and what is lost by it, in words.

    Raises:
        SourceUnsupported: the encoder takes nothing that comes near.
    """
    formats = [name for name in _formats(encoder) if _fits(name, look, encoder)]
    if look.pixel_format in formats:
        return look.pixel_format, []
    best, _ = find_best_pix_fmt_of_list(
        [av.VideoFormat(name) for name in formats], av.VideoFormat(look.pixel_format), False
    )
    if best is None:
        raise SourceUnsupported(
            f"{path}: {encoder} takes no format near {look.pixel_format}; take another codec"
        )
    note = f"{encoder} does not take {look.pixel_format} at {look.width}x{look.height}: "
    note += f"frames are converted to {best.name}"
    return best.name, [note]


def as_encoded(look: Look, name: str) -> Look:
    """The look of the frames when they are converted to the format ``name``."""
    if name == look.pixel_format:
        return look
    form = av.VideoFormat(name)
    matrix = look.matrix
    if matrix == _RGB and not form.is_rgb:
        matrix = _UNSPECIFIED  # swscale's default, which it is read by as well
    bits = max(c.bits for c in form.components)
    return replace(look, pixel_format=name, bits=bits, matrix=matrix)


def has_fields(encoder: str, look: Look) -> bool:
    """Whether ``encoder`` keeps fields of such frames: x264 does, in whole lines of chroma each."""
    if encoder != _OF_FIELDS or look.pixel_format not in _formats(encoder):
        return False
    form = av.VideoFormat(look.pixel_format, look.width, look.height)
    lines = 2 if _is_gray(form) or form.chroma_height(2) == 2 else 4
    return look.height % lines == 0 and _fits(look.pixel_format, look, encoder)


def with_chroma_of_each_line(name: str, encoder: str) -> str:
    """The format ``name``, with 4:2:2 instead of 4:2:0 if ``encoder`` takes that."""
    other = name.replace("yuv420", "yuv422")
    return other if other in _formats(encoder) else name


@functools.lru_cache(maxsize=8)
def _formats(encoder: str) -> tuple[str, ...]:
    """Planar formats only; those with a range in their name stand for others of the list."""
    found = Codec(encoder, "w").video_formats or []
    return tuple(
        form.name
        for form in found
        if not form.name.startswith(("yuvj", "nv", "yuva")) and (form.is_planar or _is_gray(form))
    )


def _is_gray(form: av.VideoFormat) -> bool:
    return len(form.components) == 1


def _fits(name: str, look: Look, encoder: str) -> bool:
    """Whether ``encoder`` takes the size in the format ``name``.

    x264 and x265 demand a multiple of what one chroma sample covers. In SVT-AV1 the last chroma
    sample of a row or column may belong to a single one of luma.
    """
    if encoder == _ANY_SIZE:
        return True
    form = av.VideoFormat(name, look.width, look.height)
    wide = form.chroma_width(2) == 1 and not _is_gray(form)
    high = form.chroma_height(2) == 1 and not _is_gray(form)
    return not (wide and look.width % 2) and not (high and look.height % 2)
