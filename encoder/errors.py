"""What can go wrong between a source and its encoding.

Every message says what happened, to which file, and what to do.
"""

from __future__ import annotations


class EncoderError(Exception):
    """Root of everything the encoder raises on purpose."""


class SettingsError(EncoderError):
    """Settings that contradict each other, or that no encoder here can meet."""


class SourceFailed(EncoderError):
    """The source cannot be read, or was changed while it was."""


class SourceUnsupported(EncoderError):
    """The source is sound, but the new file cannot hold what it shows."""


class EncodingFailed(EncoderError):
    """The encoder or the muxer gave up."""


class CheckFailed(EncoderError):
    """The encoding does not keep what was promised; it was not put in place."""


class TargetFailed(EncoderError):
    """The target cannot be written: no space, no permission, no such folder."""


class Interrupted(EncoderError):
    """The work was given up because it was asked to stop."""
