"""Video bytes to pixels: the n-th frame of a file, exactly, whatever was asked before.

Knows nothing of frame file names, image formats or FUSE.
"""

from decoder.errors import DecoderError
from decoder.index import FrameInfo, SourceIndex
from decoder.pixels import PixelFormat, Pixels
from decoder.reader import FrameReader

__all__ = ["DecoderError", "FrameInfo", "FrameReader", "PixelFormat", "Pixels", "SourceIndex"]
