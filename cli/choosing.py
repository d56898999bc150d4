"""The settings that a command line chooses, in the order in which places for them go."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

import config
from cli import options
from config import Settings

_Command = TypeVar("_Command", bound=Callable[..., Any])


def chosen(
    parsed: options.Options,
    config_file: str | None,
    index: str | None,
    layout: str | None = None,
) -> Settings:
    """The settings of the configuration file, then of ``-o``, then of options of their own.

    Raises:
        ConfigError: something in them is unknown or wrong.
    """
    settings = Settings()
    if file := config_file or parsed.config:
        settings = config.load(file)
    for path, text in parsed.settings:
        settings = config.override(settings, path, text)
    if layout is not None:
        settings = config.override(settings, "frames.layout", layout)
    if index is not None:
        settings = config.override(settings, "index.path", index)
    if settings.index.path not in (None, ":memory:"):
        # a daemon leaves the directory that the path may be relative to
        settings = config.override(settings, "index.path", os.path.abspath(settings.index.path))
    return settings


def settings_options(command: _Command) -> _Command:
    """Adds ``-o``, ``--config`` and ``--index``, as mounting has them."""
    for option in (
        click.option("--index", metavar="FILE", help="Keep the indexes in FILE."),
        click.option("--config", "config_file", metavar="FILE", help="Read a YAML file."),
        click.option("-o", "texts", metavar="OPT[,OPT...]", multiple=True, help=options.HELP),
    ):
        command = option(command)
    return command
