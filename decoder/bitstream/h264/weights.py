"""Explicit weights of weighted prediction (ITU-T H.264, 7.3.3.2)."""

from __future__ import annotations

from msgspec import Struct

from decoder.bitstream.bits import BitReader


class PredWeightTable(Struct, frozen=True):
    """pred_weight_table (7.3.3.2).

    One entry per active reference index: (luma_weight, luma_offset) or None where the flag is 0;
    for chroma (weight Cb, offset Cb, weight Cr, offset Cr) or None. ``l1`` is empty for P and SP.
    """

    luma_log2_weight_denom: int
    chroma_log2_weight_denom: int
    luma_l0: tuple[tuple[int, int] | None, ...]
    chroma_l0: tuple[tuple[int, int, int, int] | None, ...]
    luma_l1: tuple[tuple[int, int] | None, ...]
    chroma_l1: tuple[tuple[int, int, int, int] | None, ...]

    @classmethod
    def read(cls, r: BitReader, chroma: bool, l0: int, l1: int) -> PredWeightTable:
        """Reads a table of ``l0`` and ``l1`` entries; ``chroma``: ChromaArrayType is not 0."""
        luma_log2_weight_denom = r.ue("luma_log2_weight_denom", 7)
        chroma_log2_weight_denom = r.ue("chroma_log2_weight_denom", 7) if chroma else 0
        luma_l0, chroma_l0 = _read_weights(r, chroma, l0, _WEIGHTS_L0)
        luma_l1, chroma_l1 = _read_weights(r, chroma, l1, _WEIGHTS_L1)
        return cls(
            luma_log2_weight_denom, chroma_log2_weight_denom, luma_l0, chroma_l0, luma_l1, chroma_l1
        )


_WEIGHTS_L0, _WEIGHTS_L1 = (
    (
        f"luma_weight_l{i}_flag",
        f"chroma_weight_l{i}_flag",
        f"luma_weight_l{i}",
        f"luma_offset_l{i}",
        f"chroma_weight_l{i}",
        f"chroma_offset_l{i}",
    )
    for i in range(2)
)


def _read_weights(
    r: BitReader, chroma: bool, count: int, names: tuple[str, ...]
) -> tuple[tuple[tuple[int, int] | None, ...], tuple[tuple[int, int, int, int] | None, ...]]:
    luma: list[tuple[int, int] | None] = []
    chromas: list[tuple[int, int, int, int] | None] = []
    luma_flag, chroma_flag, luma_weight, luma_offset, chroma_weight, chroma_offset = names
    for _ in range(count):
        if r.flag(luma_flag):
            luma.append((r.se(luma_weight, -128, 127), r.se(luma_offset, -128, 127)))
        else:
            luma.append(None)
        if chroma and r.flag(chroma_flag):
            chromas.append(
                (
                    r.se(chroma_weight, -128, 127),
                    r.se(chroma_offset, -128, 127),
                    r.se(chroma_weight, -128, 127),
                    r.se(chroma_offset, -128, 127),
                )
            )
        else:
            chromas.append(None)
    return tuple(luma), tuple(chromas)
