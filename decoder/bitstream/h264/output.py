"""Which pictures the stock decoder shows with default options, and in which order.

FFmpeg's H.264 decoder does not follow the output process of annex C. It learns the reordering
delay while it decodes, unless the stream declares it, and leaves out what then comes too late; and
it shows nothing before a point of recovery. This model repeats those decisions from headers, so
that a list of frames can be made without decoding, and gives a reason for each picture not shown.
"""

from __future__ import annotations

LATE = "comes too late for the decoder's reordering delay, which it had to guess"
NOT_RECOVERED = "comes before the point where the decoder has recovered from a start without IDR"

_WINDOW = 16
_NEVER = -(1 << 62)
_IDR = 1
_SEI = 2


class _Waiting:
    """A decoded picture that has not been shown yet."""

    __slots__ = ("barrier", "index", "poc", "recovered")

    def __init__(self, index: int, poc: int) -> None:
        self.index = index
        self.poc = poc
        self.barrier = False
        self.recovered = 0


class DefaultOutput:
    """The output side of the decoder; fed picture by picture in decode order.

    ``delay`` is the reordering delay that the container's probing has found (has_b_frames).
    """

    __slots__ = (
        "_counts", "_current", "_delay", "_frame_recovered", "_has_recovery_point", "_next",
        "_recovery_frame", "_reset", "_valid_recovery_point", "_waiting", "hidden", "shown",
    )  # fmt: skip

    def __init__(self, delay: int = 0) -> None:
        self.shown: list[int] = []
        """Decode indexes in the order shown, so far."""
        self.hidden: dict[int, str] = {}
        """Decode index -> reason, of pictures decoded and not shown."""
        self._waiting: list[_Waiting] = []
        self._counts = [_NEVER] * _WINDOW
        self._delay = delay
        self._next = _NEVER
        self._reset = False
        self._current: _Waiting | None = None
        self._frame_recovered = 0
        self._recovery_frame = -1
        self._has_recovery_point = False
        self._valid_recovery_point = False

    @property
    def delay(self) -> int:
        """The reordering delay in force."""
        return self._delay

    def declare(self, max_num_reorder_frames: int | None) -> None:
        """bitstream_restriction of the active SPS, before each picture that has one."""
        if max_num_reorder_frames is not None and max_num_reorder_frames > self._delay:
            self._delay = max_num_reorder_frames

    def forget(self) -> None:
        """An IDR picture, lost frames or a missing reference: the guessing starts over."""
        self._counts = [_NEVER] * _WINDOW

    def recovery_point(self) -> None:
        """A recovery point message was seen."""
        self._has_recovery_point = True

    def start(
        self,
        index: int,
        *,
        idr: bool,
        reference: bool,
        intra: bool,
        frame_num: int,
        max_frame_num: int,
        recovery: int | None,
    ) -> None:
        """A coded frame or a coded field begins (for the second field with the same index)."""
        current = self._current
        if current is None or current.index != index:
            current = self._current = _Waiting(index, 0)
        if recovery is not None:
            if frame_num != recovery or not intra:
                self._valid_recovery_point = True
            distance = (self._recovery_frame - frame_num) % max_frame_num
            if self._recovery_frame < 0 or distance > recovery:
                self._recovery_frame = (frame_num + recovery) % max_frame_num
                if not self._valid_recovery_point:
                    self._recovery_frame = frame_num
        if idr:
            self.forget()
            self._has_recovery_point = True
            current.barrier = True
            current.recovered |= _IDR
            self._frame_recovered |= _IDR
        if reference and self._recovery_frame == frame_num:
            self._recovery_frame = -1
            current.recovered |= _SEI
        current.recovered |= self._frame_recovered

    def select(self, poc: int, *, bidirectional: bool, declared: bool) -> None:
        """The frame, or the second field, has started: this is when FFmpeg shows a picture."""
        current = self._current
        assert current is not None
        current.poc = poc
        current.barrier = current.barrier or self._reset
        self._reset = False
        counts = self._counts
        position = 0
        for count in counts:
            if poc < count:
                break
            position += 1
        if position:
            del counts[0]
            counts.insert(position - 1, poc)
        disorder = _WINDOW - position
        if bidirectional or (counts[-2] > _NEVER and counts[-1] - counts[-2] > 2):
            disorder = max(disorder, 1)
        if disorder == _WINDOW:
            self._counts = [poc, *[_NEVER] * (_WINDOW - 1)]
            current.barrier = True
        elif self._delay < disorder and not declared:
            self._delay = disorder
        waiting = self._waiting
        waiting.append(current)
        chosen = self._choose()
        first = waiting[0]
        if self._delay == 0 and first.barrier:
            self._next = _NEVER
        out = waiting[chosen]
        late = out.poc < self._next
        full = len(waiting) > self._delay
        if not (late or full):
            return
        del waiting[chosen]
        if late:
            self.hidden[out.index] = LATE
            return
        follows_barrier = chosen == 0 and bool(waiting) and waiting[0].barrier
        self._next = _NEVER if follows_barrier else out.poc
        self._frame_recovered |= out.recovered
        out.recovered |= self._frame_recovered & _SEI
        self._show(out)

    def _choose(self) -> int:
        """The least count before the next barrier."""
        waiting = self._waiting
        chosen, least = 0, waiting[0].poc
        for i in range(1, len(waiting)):
            picture = waiting[i]
            if picture.barrier:
                break
            if picture.poc < least:
                chosen, least = i, picture.poc
        return chosen

    def _show(self, out: _Waiting) -> None:
        if out.recovered:
            self.shown.append(out.index)
        else:
            self.hidden[out.index] = NOT_RECOVERED

    def marked(
        self, *, reset: bool, sound: bool, intra: bool, field: bool,
        short: int, long: int, active: tuple[int, int],
    ) -> None:  # fmt: skip
        """Reference marking of the picture is done.

        ``reset``: it had memory_management_control_operation 5. The rest decides whether an I
        picture passes as an unmarked point of recovery; ``active`` are the greatest default numbers
        of active references of any PPS.
        """
        current = self._current
        assert current is not None
        if reset:
            self._reset = True
            current.barrier = True
            self.forget()
        if not intra or not sound or long:
            return
        first, second = active
        few = (
            short <= 2
            or (first <= 2 and second <= 1 and self._delay > 0)
            or (first <= 1 + field and second <= 1)
        )
        if few and first <= 2 + field + (0 if self._has_recovery_point else 2):
            current.recovered |= _SEI << 1
            if not self._delay:
                self._frame_recovered |= _SEI << 1

    def drain(self) -> None:
        """The stream has ended: what waits is shown."""
        while self._waiting:
            out = self._waiting.pop(self._choose())
            self._frame_recovered |= out.recovered
            out.recovered |= self._frame_recovered & _SEI
            self._show(out)
