"""Scaling list data (ITU-T H.265, 7.3.4): read to get past it."""

from __future__ import annotations

from decoder.bitstream.bits import BitReader


def read_scaling_list_data(r: BitReader) -> None:
    """scaling_list_data."""
    for size_id in range(4):
        for matrix_id in range(0, 6, 3 if size_id == 3 else 1):
            if not r.flag("scaling_list_pred_mode_flag"):
                highest = matrix_id // 3 if size_id == 3 else matrix_id
                r.ue("scaling_list_pred_matrix_id_delta", highest)
                continue
            if size_id > 1:
                r.se("scaling_list_dc_coef_minus8", -7, 247)
            for _ in range(min(64, 1 << (4 + (size_id << 1)))):
                r.se("scaling_list_delta_coef", -128, 127)
