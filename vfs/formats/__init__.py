"""Frames as files whose size is known before the pixels are."""

from vfs.formats.bmp import Bmp
from vfs.formats.format import Format, Shape
from vfs.formats.jpg import Jpg, quality_of
from vfs.formats.npy import Npy
from vfs.formats.png import Png
from vfs.formats.ppm import Ppm
from vfs.formats.webp import Webp

__all__ = ["Bmp", "Format", "Jpg", "Npy", "Png", "Ppm", "Shape", "Webp", "quality_of"]
