"""Settings: typed, strict, met only in the entry points."""

import os

from config.errors import ConfigError
from config.loading import from_mapping, load, override, setting_paths
from config.settings import Settings

DEFAULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "default.yaml")
"""The file that lists every setting with its default, for people."""

__all__ = [
    "DEFAULTS",
    "ConfigError",
    "Settings",
    "from_mapping",
    "load",
    "override",
    "setting_paths",
]
