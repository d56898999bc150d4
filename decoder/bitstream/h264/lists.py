"""Reference picture lists (ITU-T H.264, 8.2.4), for frames and fields.

An element of a list is ``(entry, fields)``; ``fields`` is TOP or BOTTOM in a field and FRAME in a
frame. The buffer keeps short-term entries newest first, which is descending PicNum (8.2.4.2.1) and
descending FrameNumWrap (8.2.4.2.2) in streams without loss, and the decoder's order otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from decoder.bitstream.h264.dpb import DecodedPictureBuffer, Entry, _field_number
from decoder.bitstream.h264.poc import FRAME
from decoder.bitstream.h264.slice import B, SliceHeader

Reference = tuple[Entry, int]

MISSING = "a slice refers to a picture that is not in the buffer"
SHORT = "a slice has more active references than there are pictures in the buffer"
"""Harmless in itself: encoders announce more than there is, and then do not use it."""


def reference_lists(
    header: SliceHeader, dpb: DecodedPictureBuffer, structure: int, poc: int
) -> tuple[list[Reference], list[Reference], str | None]:
    """RefPicList0 and RefPicList1 of a P, SP or B slice, and a problem or None.

    ``poc`` is the count of the current frame or field. Both lists are cut to their active length
    and hold what the decoder reads: it puts the first initial entry where a list has none.
    """
    count0 = header.num_ref_idx_l0_active_minus1 + 1
    if header.slice_type % 5 != B:
        initial = _initial_p(dpb, structure)
        list0, problem = _finish(
            header, dpb, structure, initial, count0, header.ref_pic_list_modification_l0
        )
        return list0, [], problem
    initial0, initial1 = _initial_b(dpb, structure, poc)
    list0, problem0 = _finish(
        header, dpb, structure, initial0, count0, header.ref_pic_list_modification_l0
    )
    list1, problem1 = _finish(
        header, dpb, structure, initial1,
        header.num_ref_idx_l1_active_minus1 + 1, header.ref_pic_list_modification_l1,
    )  # fmt: skip
    problem = problem0 if problem1 is None or problem0 is MISSING else problem1
    return list0, list1, problem


def _initial_p(dpb: DecodedPictureBuffer, structure: int) -> list[Reference]:
    """8.2.4.2.1 and 8.2.4.2.2."""
    if structure == FRAME:
        initial = [(entry, FRAME) for entry in dpb.short]
        if dpb.long:
            initial += [(dpb.long[i], FRAME) for i in sorted(dpb.long)]
        return initial
    initial = _alternate(dpb.short, structure)
    if dpb.long:
        initial += _alternate([dpb.long[i] for i in sorted(dpb.long)], structure)
    return initial


def _initial_b(
    dpb: DecodedPictureBuffer, structure: int, poc: int
) -> tuple[list[Reference], list[Reference]]:
    """8.2.4.2.3 and 8.2.4.2.4."""
    # The decoder takes each count once: of equal ones (only possible after a loss) the oldest
    # before and the newest after the current picture.
    before = {entry.poc: entry for entry in dpb.short if entry.poc <= poc}
    after = {entry.poc: entry for entry in reversed(dpb.short) if entry.poc > poc}
    past = [before[count] for count in sorted(before, reverse=True)]
    future = [after[count] for count in sorted(after)]
    if structure == FRAME:
        initial0 = [(entry, FRAME) for entry in past + future]
        initial1 = [(entry, FRAME) for entry in future + past]
        if dpb.long:
            tail = [(dpb.long[i], FRAME) for i in sorted(dpb.long)]
            initial0 += tail
            initial1 += tail
    else:
        initial0 = _alternate(past + future, structure)
        initial1 = _alternate(future + past, structure)
        if dpb.long:
            tail = _alternate([dpb.long[i] for i in sorted(dpb.long)], structure)
            initial0 += tail
            initial1 += tail
    if len(initial1) > 1 and len(initial0) == len(initial1):
        # 8.2.4.2.3, last paragraph; a frame inferred for a gap counts as the one it repeats
        pairs = zip(initial0, initial1, strict=True)
        if all(left[0].picture == right[0].picture for left, right in pairs):
            initial1[0], initial1[1] = initial1[1], initial1[0]
    return initial0, initial1


def _alternate(entries: Sequence[Entry], structure: int) -> list[Reference]:
    """Fields from frames, same parity first, then by turns (8.2.4.2.5)."""
    same = [(entry, structure) for entry in entries if entry.reference & structure]
    opposite = FRAME ^ structure
    other = [(entry, opposite) for entry in entries if entry.reference & opposite]
    fields: list[Reference] = []
    for pair in zip(same, other, strict=False):
        fields += pair
    shorter = min(len(same), len(other))
    return fields + same[shorter:] + other[shorter:]


def _finish(
    header: SliceHeader,
    dpb: DecodedPictureBuffer,
    structure: int,
    initial: list[Reference],
    count: int,
    modifications: tuple[tuple[int, int], ...] | None,
) -> tuple[list[Reference], str | None]:
    """Modification (8.2.4.3), then the list at its active length."""
    default = initial[0] if initial else None
    problem = None
    final: list[Reference | None]
    if modifications:
        final = [*initial[:count], *[None] * (count - len(initial))]
        missing = _modify(header, dpb, structure, final, modifications)
        problem = MISSING if missing else None
    elif count <= len(initial):
        final = [*initial[:count]]
    else:
        final = [*initial, *[None] * (count - len(initial))]
    result: list[Reference] = []
    for reference in final:
        if reference is None or (structure == FRAME and reference[0].reference != FRAME):
            problem = problem or (SHORT if reference is None else MISSING)
            reference = default
            if default is None or (structure == FRAME and default[0].reference != FRAME):
                problem = MISSING
                continue
        assert reference is not None
        result.append(reference)
    return result, problem


def _modify(
    header: SliceHeader,
    dpb: DecodedPictureBuffer,
    structure: int,
    final: list[Reference | None],
    modifications: tuple[tuple[int, int], ...],
) -> bool:
    """8.2.4.3.1 and 8.2.4.3.2, in place; whether a picture was not there."""
    modulus = header.sps.max_frame_num
    predicted = header.frame_num
    if structure != FRAME:
        modulus *= 2
        predicted = 2 * predicted + 1
    missing = False
    last = len(final) - 1
    for index, (code, value) in enumerate(modifications):
        if index > last:
            return True
        if code < 2:
            step = value + 1
            predicted = (predicted - step if code == 0 else predicted + step) % modulus
            reference = _short(dpb, predicted, structure)
        else:
            reference = _long(dpb, value, structure)
        if reference is None:
            missing = True
            final[index] = None
            continue
        # Move it here: what stood between moves one place down, up to its old place or the end.
        end = index
        while end < last and final[end] != reference:
            end += 1
        del final[end]
        final.insert(index, reference)
    return missing


def _short(dpb: DecodedPictureBuffer, number: int, structure: int) -> Reference | None:
    fields = FRAME
    if structure != FRAME:
        number, fields = _field_number(number, structure)
    for entry in reversed(dpb.short):
        if entry.frame_num == number and entry.reference & fields:
            return entry, fields
    return None


def _long(dpb: DecodedPictureBuffer, number: int, structure: int) -> Reference | None:
    fields = FRAME
    if structure != FRAME:
        number, fields = _field_number(number, structure)
    entry = dpb.long.get(number)
    if entry is None or not entry.reference & fields:
        return None
    return entry, fields
