"""What can be wrong with a configuration."""

from __future__ import annotations


class ConfigError(Exception):
    """A setting is unknown, or has a wrong type or value; the message names it with its path."""
