"""H.264 files changed so that they ask more of a reader, or break."""

from __future__ import annotations

import random
from pathlib import Path

from decoder.bitstream import nal
from decoder.bitstream.bits import BitReader
from decoder.index import SourceIndex


def damage_slice(path: Path, index: SourceIndex, packet: int, seed: int = 1) -> None:
    """Overwrites the middle of a packet in the file; its headers stay as they are."""
    generator = random.Random(seed)
    size = int(index.packets.size[packet])
    start = int(index.packets.position[packet]) + int(index.packets.offset[packet])
    first = max(size // 3, 48)
    assert first + 8 < size, "too small a packet"
    content = bytearray(path.read_bytes())
    for place in range(start + first, start + size):
        content[place] = generator.randint(1, 255)
    path.write_bytes(content)


def damage_units(content: bytes, seed: int) -> bytes:
    """A raw stream, the data of up to three slices of which are cut short or overwritten."""
    generator = random.Random(seed)
    units = nal.split(content, nal.ANNEX_B)
    slices = [n for n, unit in enumerate(units) if unit[0] & 31 in (1, 5)]
    kind = ("half", "head", "tail", "same", "random")[seed % 5]
    for n in generator.sample(slices[3:], generator.randint(1, 3)):
        unit = units[n]
        noise = bytes(generator.randint(1, 255) for _ in unit)
        cut = {
            "half": unit[: max(16, len(unit) // 2)],
            "head": unit[: generator.randint(12, 16)],
            "tail": unit[: max(12, 2 * len(unit) // 3)],
            "same": unit[: len(unit) // 2] + b"\x55" * (len(unit) - len(unit) // 2),
            "random": unit[:20] + noise[20:],
        }[kind]
        units[n] = cut.rstrip(b"\0")
    return nal.join(units, nal.ANNEX_B)


def without_repeated_sets(content: bytes) -> bytes:
    """A raw stream in which parameter sets come only where they change."""
    in_force: dict[int, bytes] = {}
    units = []
    for unit in nal.split(content, nal.ANNEX_B):
        kind = unit[0] & 31
        if kind in (7, 8):
            if in_force.get(kind) == unit:
                continue
            in_force[kind] = unit
            if kind == 7:
                in_force.pop(8, None)
        units.append(unit)
    return nal.join(units, nal.ANNEX_B)


def with_second_pps(content: bytes, packet: int) -> bytes:
    """A raw CAVLC stream whose slices, from a packet on, refer to a PPS that comes with it.

    Every packet must hold one slice.
    """
    units: list[bytes] = []
    slices = 0
    pps = b""
    for unit in nal.split(content, nal.ANNEX_B):
        kind = unit[0] & 31
        if kind == 8:
            pps = unit
        if kind in (1, 5):
            if slices == packet:
                units.append(_under_pps_1(pps))
            slices += 1
        units.append(_under_pps_1(unit) if kind == 1 and slices > packet else unit)
    return nal.join(units, nal.ANNEX_B)


def _under_pps_1(unit: bytes) -> bytes:
    """A PPS, or a slice in CAVLC, with pic_parameter_set_id 1 in place of 0."""
    data = nal.unescape(unit)
    reader = BitReader(data)
    reader.u(8, "NAL unit header")
    if unit[0] & 31 != 8:
        reader.ue("first_mb_in_slice")
        reader.ue("slice_type")
    place = reader.position
    bits = format(int.from_bytes(data, "big"), f"0{8 * len(data)}b").rstrip("0")
    assert bits[place] == "1"
    bits = bits[:place] + "010" + bits[place + 1 :]
    bits += "0" * (-len(bits) % 8)
    return nal.escape(int(bits, 2).to_bytes(len(bits) // 8, "big"))
