"""What an encoder is told of a source besides the structure: chroma, fields, the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from encoder import formats
from encoder.coding import ENCODERS, Coding
from encoder.footage import Footage, Look

_PARAMETERS = {
    "libx264": "x264-params", "libx265": "x265-params", "libsvtav1": "svtav1-params",
}  # fmt: skip

_AV1 = ENCODERS["av1"]


def told(coding: Coding, footage: Footage, look: Look) -> Coding:
    """``coding`` for frames of ``look`` that are made of ``footage``."""
    more = dict(look.screen.parameters(coding.encoder))
    if look.interlaced and footage.first_field is not None:
        more[{"top": "tff", "bottom": "bff"}[footage.first_field]] = "1"
    coding = _with(coding, more)
    # The decoders of H.264 and H.265 say so by themselves.
    if not footage.sited or coding.encoder != _AV1:
        return coding
    return replace(coding, options={**coding.options, "chroma_sample_location": "left"})


def look_for(encoder: str, footage: Footage) -> tuple[Look, list[str]]:
    """How ``encoder`` is to see the frames of ``footage``, and what is lost by it, in words.

    Fields stay where the encoder has them. Elsewhere they become halves of progressive pictures:
    chroma of 4:2:0, whose lines belong to one field each, takes a line for each of luma then if it
    can, or RGB of the new file would mix the chroma of both fields.

    Raises:
        SourceUnsupported: the encoder takes nothing that comes near.
    """
    look, notes = footage.look, []
    if look.interlaced and not (footage.first_field and formats.has_fields(encoder, look)):
        whole = formats.with_chroma_of_each_line(look.pixel_format, encoder)
        note = "fields are encoded as the two halves of progressive pictures"
        if whole != look.pixel_format:
            note += f", with chroma for each line ({whole})"
        notes.append(note)
        look = replace(formats.as_encoded(look, whole), interlaced=False)
    form, lost = formats.chosen(footage.path, look, encoder)
    return formats.as_encoded(look, form), notes + lost


def _with(coding: Coding, more: Mapping[str, str]) -> Coding:
    if not more:
        return coding
    name = _PARAMETERS[coding.encoder]
    joined = ":".join((coding.options[name], *(f"{key}={value}" for key, value in more.items())))
    return replace(coding, options={**coding.options, name: joined})
