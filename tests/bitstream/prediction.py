"""What a written stream must decode to, by the project's model of its reference lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import av
import numpy as np
import numpy.typing as npt

from decoder.bitstream.h264.coded import CodedFrame
from decoder.bitstream.h264.lists import Reference, reference_lists
from decoder.bitstream.h264.output import DefaultOutput
from decoder.bitstream.h264.poc import BOTTOM, FRAME
from decoder.bitstream.h264.process import DecodingProcess
from decoder.bitstream.h264.slice import B, P, SliceHeader
from decoder.bitstream.h264.stream import PictureStream

from .clip import Clip, context_for, model

SIDE = 32
"""Width and height of a picture."""

Luma = npt.NDArray[np.uint8]


@dataclass(slots=True)
class Block:
    """A macroblock: where it is, and what it was made of."""

    rows: slice
    columns: slice
    field: int
    """FRAME, or the field (of the frame) whose rows ``rows`` counts."""
    new: Luma | None = None
    list0: int = -1
    list1: int = -1
    guessed: bool = False
    """Direct prediction: what it copies is not predicted here."""


@dataclass(slots=True)
class Written:
    """A stream, and the blocks of each of its slices in order."""

    clip: Clip
    slices: list[list[Block]] = field(default_factory=list)


class Recorder(DecodingProcess):
    """Keeps the lists of every slice, by the order of slices in the stream."""

    __slots__ = ("recorded",)

    def __init__(self, output: DefaultOutput) -> None:
        super().__init__(output)
        self.recorded: list[tuple[int, int, list[Reference], list[Reference]]] = []

    def references(self, coded: CodedFrame, header: SliceHeader) -> None:
        super().references(coded, header)
        list0: list[Reference] = []
        list1: list[Reference] = []
        if header.slice_type % 5 in (P, B):
            entry = coded.entry
            poc = entry.poc
            if coded.structure != FRAME:
                poc = entry.bottom if header.bottom_field_flag else entry.top
            list0, list1, _ = reference_lists(header, self.buffer, coded.structure, poc)
        self.recorded.append((coded.index, coded.structure, list0, list1))


def predict(written: Written) -> tuple[list[Luma], list[npt.NDArray[np.bool_]]]:
    """The luma of each picture by decode index, and where it is predicted."""
    stream = PictureStream(b"")
    stream.process = recorder = Recorder(stream.output)
    for data in written.clip.packets:
        stream.feed(data)
    stream.flush()
    assert len(recorder.recorded) == len(written.slices)
    count = recorder.recorded[-1][0] + 1
    luma = [np.zeros((SIDE, SIDE), np.int32) for _ in range(count)]
    known = [np.zeros((SIDE, SIDE), np.bool_) for _ in range(count)]
    for (index, structure, *lists), blocks in zip(recorder.recorded, written.slices, strict=True):
        for block in blocks:
            where = _view(luma[index], block.field)[block.rows, block.columns]
            sure = _view(known[index], block.field)[block.rows, block.columns]
            if block.new is not None:
                where[:] = block.new
                sure[:] = True
                continue
            if block.guessed:
                continue
            copies = []
            sure[:] = True
            for number, which in ((block.list0, 0), (block.list1, 1)):
                if number < 0:
                    continue
                if structure == FRAME and block.field != FRAME:
                    entry = lists[which][number >> 1][0]
                    parity = FRAME ^ block.field if number & 1 else block.field
                else:
                    entry, parity = lists[which][number]
                assert entry.picture >= 0
                view = _view(luma[entry.picture], parity)[block.rows, block.columns]
                copies.append(view.copy())
                sure &= _view(known[entry.picture], parity)[block.rows, block.columns]
            where[:] = copies[0] if len(copies) == 1 else (copies[0] + copies[1] + 1) >> 1
    return [picture.astype(np.uint8) for picture in luma], known


def _view(frame: npt.NDArray[Any], parity: int) -> npt.NDArray[Any]:
    return frame if parity == FRAME else frame[parity == BOTTOM :: 2]


def lumas(clip: Clip) -> dict[int, Luma]:
    """Decoded luma by packet ordinal."""
    context = context_for(clip)
    found = {}
    for number, data in enumerate([*clip.packets, None]):
        packet = None
        if data is not None:
            packet = av.Packet(data)
            packet.pts = packet.dts = number
        for frame in context.decode(packet):
            plane = frame.planes[0]
            rows = np.frombuffer(bytes(plane), np.uint8).reshape(-1, plane.line_size)
            assert frame.pts is not None
            found[frame.pts] = rows[:SIDE, :SIDE].copy()
    return found


def wrong_predictions(written: Written) -> list[int]:
    """Pictures of a written stream that decode to other luma than the model's lists say."""
    expected, known = predict(written)
    decoded = lumas(written.clip)
    wrong = []
    for index, picture in enumerate(model(written.clip).pictures):
        shown = decoded.get(picture.packets[0])
        if shown is not None and (shown != expected[index])[known[index]].any():
            wrong.append(index)
    return wrong
