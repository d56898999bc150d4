"""Two encodings of the same frames side by side: size, quality, and what requests cost."""

from __future__ import annotations

from dataclasses import dataclass

from decoder.corpus import source_at
from decoder.errors import DecoderError
from decoder.index import SourceIndex
from decoder.indexing import index_source
from encoder.errors import CheckFailed, SourceFailed
from encoder.footage import Footage
from encoder.quality import Quality, quality
from inspection.anatomy import Anatomy, Pattern, anatomy
from inspection.scheme import Scheme, scheme


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two.

    Attributes:
        path: of the file.
        size: its bytes.
        codec: FFmpeg's short name.
        sizes: bytes of the packet of each frame.
        structure: frames, closures and requests; see `inspection.anatomy`.
        scheme: None where there is none.
    """

    path: str
    size: int
    codec: str
    sizes: tuple[int, ...]
    structure: Anatomy
    scheme: Scheme | None


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Both, and how much the second one differs from the first.

    Attributes:
        quality: of the second, as an encoding of the first.
    """

    first: Side
    second: Side
    quality: Quality


def compared(first: str, second: str) -> Comparison:
    """The file ``second`` beside ``first``.

    Raises:
        SourceFailed: one of them cannot be read.
        CheckFailed: they show other numbers of frames, or of other sizes.
    """
    one, other = _side(first), _side(second)
    if one.structure.frames != other.structure.frames:
        raise CheckFailed(
            f"{first} has {one.structure.frames} frames and {second} {other.structure.frames}; "
            "only encodings of the same frames can be compared"
        )
    with Footage(first, retime=True) as footage:
        return Comparison(one, other, quality(footage, source_at(second)))


def _side(path: str) -> Side:
    try:
        source = source_at(path)
        index = index_source(source)
    except DecoderError as error:
        raise SourceFailed(str(error)) from error
    return Side(
        path=path,
        size=source.fingerprint.size,
        codec=index.facts.codec,
        sizes=_sizes(index),
        structure=anatomy(index),
        scheme=scheme(index),
    )


def _sizes(index: SourceIndex) -> tuple[int, ...]:
    sizes: list[int] = index.packets.size[index.frames.packet].tolist()
    return tuple(sizes)


Row = tuple[str, str, str]
"""What is compared, of the first, of the second."""


def rows(found: Comparison) -> list[Row]:
    """All that is compared, as texts for a table."""
    one, other = found.first, found.second
    count = one.structure.frames
    table: list[Row] = [
        ("bytes", f"{one.size:,}", f"{other.size:,} ({100 * other.size / one.size:.1f} %)"),
        ("bytes a frame", f"{one.size / count:,.0f}", f"{other.size / count:,.0f}"),
        ("codec", one.codec, other.codec),
        ("scheme", str(one.scheme or "-"), str(other.scheme or "-")),
        ("PSNR against the first", "-", f"{found.quality.psnr:.2f} dB"),
        ("PSNR of the worst frame", "-", f"{min(found.quality.frame_psnr):.2f} dB"),
        ("SSIM against the first", "-", f"{found.quality.mean_ssim:.4f}"),
        ("pictures for one frame", _closures(one), _closures(other)),
    ]
    patterns = zip(one.structure.patterns, other.structure.patterns, strict=True)
    return table + [
        (f"pictures a frame, {a.name}", f"{cost(a):.2f}", f"{cost(b):.2f}") for a, b in patterns
    ]


def _closures(side: Side) -> str:
    closures = side.structure.closures
    return "-" if closures is None else f"{closures.mean:.2f}, at worst {closures.worst}"


def cost(pattern: Pattern) -> float:
    """Read sparsely where that is possible."""
    return pattern.sequential if pattern.closure is None else pattern.closure
