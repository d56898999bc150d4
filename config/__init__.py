"""Settings: typed, strict, met only in the entry points."""

from config.errors import ConfigError
from config.loading import from_mapping, load, override, setting_paths
from config.settings import Settings

__all__ = ["ConfigError", "Settings", "from_mapping", "load", "override", "setting_paths"]
