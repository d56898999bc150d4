"""What a source says of the screen it was graded on, and of how bright its pixels are.

Mastering display colour volume (SMPTE ST 2086) and content light level (CTA-861.3), which H.264 and
H.265 have in SEI messages, AV1 in metadata OBUs. FFmpeg's decoders give them with the first frame.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import av

from decoder.corpus import Source
from decoder.media import Media
from decoder.pixels import side_data

_CHROMATICITY, _LUMINANCE = 50_000, 10_000
"""Units to 1, and to 1 cd/m2 (ISO/IEC 23008-2, D.3.28)."""

_COARSEST = 40
"""Units of luminance by which AV1 may be beside it: it has 1/256 cd/m2 (AV1, 6.7.4)."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What is said of the screen and of the light; units as in ISO/IEC 23008-2, D.3.28.

    Attributes:
        chromaticity: x and y of green, blue, red and white; () where they are not told.
        luminance: of the brightest and of the darkest pixel of the screen; () likewise.
        light: the brightest pixel (MaxCLL), and the brightest mean of a frame (MaxFALL), cd/m2; ()
            where either is not told.
    """

    chromaticity: tuple[int, ...] = ()
    luminance: tuple[int, ...] = ()
    light: tuple[int, ...] = ()

    def is_like(self, other: Screen) -> bool:
        """Whether both say the same, as exactly as codecs can."""
        if (self.chromaticity, self.light) != (other.chromaticity, other.light):
            return False
        if len(self.luminance) != len(other.luminance):
            return False
        pairs = zip(self.luminance, other.luminance, strict=True)
        return all(abs(one - two) <= _COARSEST for one, two in pairs)

    def parameters(self, encoder: str) -> Mapping[str, str]:
        """How ``encoder`` (FFmpeg's name) is told of it: in its own parameters."""
        light = ",".join(str(value) for value in self.light)
        screen = self._words(*((_CHROMATICITY, _LUMINANCE) if encoder == "libsvtav1" else (1, 1)))
        names = _NAMES[encoder]
        return {name: value for name, value in zip(names, (screen, light), strict=True) if value}

    def _words(self, chromaticity: int, luminance: int) -> str:
        if not self.chromaticity:
            return ""
        values = [f"{value / chromaticity:.10g}" for value in self.chromaticity]
        pairs = zip(("G", "B", "R", "WP"), values[::2], values[1::2], strict=True)
        most, least = (f"{value / luminance:.10g}" for value in self.luminance)
        return "".join(f"{name}({x},{y})" for name, x, y in pairs) + f"L({most},{least})"


_NAMES = {
    "libx264": ("mastering-display", "cll"),
    "libx265": ("master-display", "max-cll"),
    "libsvtav1": ("mastering-display", "content-light"),
}


def screen_of(source: Source) -> Screen:
    """What the first frame of ``source`` says, decoded from the stream as it is.

    What is told in part, or cannot be so, counts as untold. Raises DecoderError.
    """
    with Media(source) as media:
        for packet in media.packets():
            try:
                frames = media.context.decode(packet)
            except av.FFmpegError:  # whoever decodes it all says so
                continue
            if frames:
                return _told(frames[0])
    return Screen()


def _told(frame: av.VideoFrame) -> Screen:
    chromaticity, luminance = _mastering(side_data(frame, "MASTERING_DISPLAY_METADATA") or b"")
    light = side_data(frame, "CONTENT_LIGHT_LEVEL") or b""
    levels = _LIGHT.unpack_from(light) if len(light) >= _LIGHT.size else ()
    return Screen(chromaticity, luminance, levels if all(levels) else ())


_LIGHT = struct.Struct("=2I")
"""AVContentLightMetadata: MaxCLL, MaxFALL."""

_MASTERING = struct.Struct("=22i")
"""AVMasteringDisplayMetadata: fractions (red, green, blue, white; least and most), two flags."""


def _mastering(data: bytes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if len(data) < _MASTERING.size:
        return (), ()
    *fractions, primaries, luminance = _MASTERING.unpack_from(data)
    if not (primaries and luminance and all(fractions[1::2])):
        return (), ()
    values = [above / below for above, below in zip(fractions[::2], fractions[1::2], strict=True)]
    red, green, blue, white = (values[n : n + 2] for n in range(0, 8, 2))
    least, most = values[8:]
    if not (0 <= least < most and all(0 <= value <= 1 for value in values[:8])):
        return (), ()
    return (
        tuple(round(value * _CHROMATICITY) for value in (*green, *blue, *red, *white)),
        tuple(round(value * _LUMINANCE) for value in (most, least)),
    )
