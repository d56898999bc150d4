"""Whether pictures are fields, as picture timing messages say (ITU-T H.265, D.3.3).

Colours of an interlaced frame are converted otherwise, and decoders keep what the last message
said: pictures without one depend on those before them.
"""

from __future__ import annotations

from decoder.bitstream.hevc.sps import SequenceParameterSet

UNTOLD = "whether a picture is a field follows the picture before"

# pic_struct (table D.2): top and bottom field, also paired with the field before or after
_FIELDS = frozenset((1, 2, 9, 10, 11, 12))


class FieldTiming:
    """Fed the messages of a stream, and its pictures."""

    __slots__ = ("_fields", "_message", "_untold")

    def __init__(self) -> None:
        self._fields = False
        self._untold = False
        self._message: bytes | None = None

    @property
    def fault(self) -> str | None:
        """Why the frames cannot be told from headers."""
        return UNTOLD if self._fields and self._untold else None

    def message(self, payload: bytes) -> None:
        """A picture timing message, before its picture."""
        self._message = payload

    def picture(self, sps: SequenceParameterSet) -> None:
        """A picture starts.

        Decoders read messages by the SPS of id 0, unless other messages name another.
        """
        message, self._message = self._message, None
        if not message:
            self._untold = True
            return
        if not sps.frame_field_info_present_flag or sps.sps_seq_parameter_set_id:
            self._untold = True
        if message[0] >> 4 in _FIELDS:
            self._fields = True
