"""What can go wrong between a file and its pixels.

Classes by what the caller can do about it. Every message says what happened, to which file, and
what to do; errors of other libraries are converted where they arise, with ``from``.
"""

from __future__ import annotations


class DecoderError(Exception):
    """Root of everything the decoder raises on purpose."""


class SourceNotFound(DecoderError):
    """There is no such file or folder in the corpus."""


class SourceUnreadable(DecoderError):
    """The file cannot be opened, holds no video, or not one of its frames can be decoded."""


class SourceChanged(DecoderError):
    """The file was replaced or written to while it was being read; ask again for the new one."""


class UnsupportedStream(DecoderError):
    """The stream is sound but asks for something this decoder does not do."""


class InvalidSyntax(DecoderError):
    """A header is truncated or holds a value the specification forbids; names the element."""


class Truncated(InvalidSyntax):
    """The data end inside a syntax element."""


class MissingReference(DecoderError):
    """A picture refers to one that the file does not hold."""


class FrameOutOfRange(DecoderError):
    """The source has fewer frames than that."""


class Stopped(DecoderError):
    """The work was given up because decoding is being shut down."""


class TimedOut(DecoderError):
    """A frame was not there in time; asked for again it may be."""


class DecodeFailed(DecoderError):
    """The decoder could not reproduce the frame that the index promises."""
