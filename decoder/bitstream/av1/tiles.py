"""How a frame is divided into tiles, and which of them a tile group holds (AV1, 5.9.15, 5.11.1)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from decoder.bitstream.bits import BitReader, out_of_range
from decoder.errors import InvalidSyntax

MAX_TILE_WIDTH = 4096
MAX_TILE_AREA = 4096 * 2304
MAX_TILE_COLS = 64
MAX_TILE_ROWS = 64


class TileInfo(NamedTuple):
    """tile_info, as far as tile groups need it."""

    tile_bits: int
    """TileColsLog2 + TileRowsLog2."""
    num_tiles: int


class _Limits(NamedTuple):
    """What the size of a frame in superblocks says of its tiles."""

    sb_cols: int
    sb_rows: int
    max_tile_width_sb: int
    min_log2_tile_cols: int
    max_log2_tile_cols: int
    max_log2_tile_rows: int
    min_log2_tiles: int


@lru_cache(maxsize=64)
def _limits(frame_width: int, frame_height: int, use_128x128_superblock: int) -> _Limits:
    size_log2 = 7 if use_128x128_superblock else 6
    sb_cols = (frame_width + (1 << size_log2) - 1) >> size_log2
    sb_rows = (frame_height + (1 << size_log2) - 1) >> size_log2
    min_log2_tile_cols = _tile_log2(MAX_TILE_WIDTH >> size_log2, sb_cols)
    return _Limits(
        sb_cols,
        sb_rows,
        MAX_TILE_WIDTH >> size_log2,
        min_log2_tile_cols,
        _tile_log2(1, min(sb_cols, MAX_TILE_COLS)),
        _tile_log2(1, min(sb_rows, MAX_TILE_ROWS)),
        max(min_log2_tile_cols, _tile_log2(MAX_TILE_AREA >> 2 * size_log2, sb_cols * sb_rows)),
    )


def _tile_log2(size: int, target: int) -> int:
    """tile_log2() (5.9.16)."""
    k = 0
    while size << k < target:
        k += 1
    return k


def read_tile_info(
    r: BitReader, frame_width: int, frame_height: int, use_128x128_superblock: int
) -> TileInfo:
    """tile_info (5.9.15); the size is FrameWidth x FrameHeight in luma samples."""
    limits = _limits(frame_width, frame_height, use_128x128_superblock)
    if r.flag("uniform_tile_spacing_flag"):
        cols_log2 = _read_log2(
            r, "increment_tile_cols_log2", limits.min_log2_tile_cols, limits.max_log2_tile_cols
        )
        min_log2_tile_rows = max(limits.min_log2_tiles - cols_log2, 0)
        rows_log2 = _read_log2(
            r, "increment_tile_rows_log2", min_log2_tile_rows, limits.max_log2_tile_rows
        )
        cols = _uniform(limits.sb_cols, cols_log2)
        rows = _uniform(limits.sb_rows, rows_log2)
    else:
        sb_cols, sb_rows = limits.sb_cols, limits.sb_rows
        cols, widest = _read_sizes(
            r, "width_in_sbs_minus_1", sb_cols, limits.max_tile_width_sb, MAX_TILE_COLS
        )
        area = sb_cols * sb_rows
        if limits.min_log2_tiles:
            area >>= limits.min_log2_tiles + 1
        rows, _ = _read_sizes(
            r, "height_in_sbs_minus_1", sb_rows, max(area // widest, 1), MAX_TILE_ROWS
        )
        cols_log2 = _tile_log2(1, cols)
        rows_log2 = _tile_log2(1, rows)
    if cols_log2 or rows_log2:
        tile = r.u(cols_log2 + rows_log2, "context_update_tile_id")
        if tile >= cols * rows:
            raise out_of_range("context_update_tile_id", tile, 0, cols * rows - 1)
        r.u(2, "tile_size_bytes_minus_1")
    return TileInfo(cols_log2 + rows_log2, cols * rows)


def _read_log2(r: BitReader, name: str, low: int, high: int) -> int:
    while low < high and r.flag(name):
        low += 1
    return low


def _uniform(superblocks: int, log2: int) -> int:
    """Tiles of equal size, but for the last one, in so many superblocks."""
    size = (superblocks + (1 << log2) - 1) >> log2
    return -(-superblocks // size)


def _read_sizes(
    r: BitReader, name: str, superblocks: int, largest: int, most: int
) -> tuple[int, int]:
    """Tile sizes in superblocks, until all of them are covered: how many, and the largest."""
    count = widest = start = 0
    while start < superblocks:
        if count == most:
            raise InvalidSyntax(f"{name}: more than {most} tiles")
        size = read_ns(r, min(superblocks - start, largest), name) + 1
        widest = max(widest, size)
        start += size
        count += 1
    return count, widest


def read_ns(r: BitReader, n: int, name: str) -> int:
    """ns(n) (4.10.7): a number below ``n``."""
    width = n.bit_length()
    short = (1 << width) - n
    value = r.u(width - 1, name)
    if value < short:
        return value
    return (value << 1) - short + r.flag(name)


def read_tile_group(r: BitReader, tile_info: TileInfo) -> tuple[int, int]:
    """The beginning of tile_group_obu (5.11.1): tg_start and tg_end."""
    last = tile_info.num_tiles - 1
    if not last or not r.flag("tile_start_and_end_present_flag"):
        return 0, last
    tg_start = r.u(tile_info.tile_bits, "tg_start")
    tg_end = r.u(tile_info.tile_bits, "tg_end")
    if not tg_start <= tg_end <= last:
        raise out_of_range("tg_end", tg_end, tg_start, last)
    return tg_start, tg_end
