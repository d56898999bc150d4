"""The Python binding to FUSE: mfusepy on libfuse3, or else mfusepy or fusepy on libfuse2."""

from __future__ import annotations

import functools
import importlib
import os
from ctypes.util import find_library
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from vfs.errors import BindingMissing

_CHOICES: tuple[tuple[str, str], ...] = (
    ("fuse3", "mfusepy"),
    ("fuse", "mfusepy"),
    ("fuse", "fuse"),
)
"""Library and module, the best first."""

_LIBRARY_VARIABLE = "FUSE_LIBRARY_PATH"
"""Names the library to the bindings, and to us where the user has set it."""

_HINT = (
    "install libfuse3 and its helper (Debian, Ubuntu: apt install fuse3) "
    "and the Python package mfusepy"
)


@dataclass(frozen=True, slots=True)
class Binding:
    """What was loaded.

    Attributes:
        module: ``mfusepy`` or ``fuse``.
        library: the file of the library.
        version: of libfuse, (major, minor).
    """

    module: ModuleType
    library: str
    version: tuple[int, int]

    @property
    def major(self) -> int:
        """2 or 3."""
        return self.version[0]

    @property
    def libfuse(self) -> Any:
        """The library that the module calls."""
        return self.module._libfuse

    def __str__(self) -> str:
        name = "fusepy" if self.module.__name__ == "fuse" else self.module.__name__
        return f"{name} on libfuse {self.version[0]}.{self.version[1]} ({self.library})"


@functools.cache
def load() -> Binding:
    """The best binding of this machine; FUSE_LIBRARY_PATH chooses another library.

    Raises:
        BindingMissing: none can be loaded; the message names the reasons.
    """
    reasons: list[str] = []
    chosen = os.environ.get(_LIBRARY_VARIABLE)
    for library_name, module_name in _CHOICES:
        library = chosen or find_library(library_name)
        if library is None:
            reasons.append(f"no lib{library_name}")
            continue
        # Both bindings choose while they are imported, and mfusepy would rather have libfuse2.
        os.environ[_LIBRARY_VARIABLE] = library
        try:
            return _binding(importlib.import_module(module_name), library)
        except (ImportError, OSError, AttributeError) as error:
            reasons.append(f"{module_name} on {library}: {error}")
        finally:
            if chosen is None:
                del os.environ[_LIBRARY_VARIABLE]
    raise BindingMissing(f"no FUSE binding can be loaded ({'; '.join(reasons)}); {_HINT}")


def _binding(module: ModuleType, library: str) -> Binding:
    number = int(module._libfuse.fuse_version())
    version = divmod(number, 10) if number < 100 else divmod(number, 100)
    if module.__name__ == "fuse" and version[0] != 2:
        raise ImportError(f"fusepy works with libfuse2 only, this is libfuse {version[0]}")
    return Binding(module, library, version)
