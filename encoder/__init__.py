"""Sources to encodings made for random access, each checked before it is put in place.

Knows nothing of what mounts show, of FUSE or of the command line.
"""

from encoder.errors import EncoderError
from encoder.settings import Settings
from encoder.unit import Outcome, transcode

__all__ = ["EncoderError", "Outcome", "Settings", "transcode"]
