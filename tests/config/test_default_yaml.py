from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import config
from config import Settings
from decoder.corpus import VIDEO_EXTENSIONS

DEFAULT = Path(config.__file__).parent / "default.yaml"


def test_default_yaml_says_what_the_code_says() -> None:
    assert config.load(str(DEFAULT)) == Settings()


def test_default_yaml_lists_every_setting() -> None:
    document = yaml.safe_load(DEFAULT.read_text())
    listed = {
        f"{name}.{key}" if value and isinstance(value, dict) else name
        for name, value in document.items()
        for key in (value if value and isinstance(value, dict) else (name,))
    }
    assert listed == set(config.setting_paths())


@pytest.mark.parametrize("path", config.setting_paths())
def test_default_yaml_explains_every_setting_in_the_line_above_it(path: str) -> None:
    section, _, key = path.rpartition(".")
    lines = DEFAULT.read_text().splitlines()
    start = lines.index(f"{section}:") if section else 0
    indent = "  " if section else ""
    at = next(n for n in range(start, len(lines)) if lines[n].startswith(f"{indent}{key}:"))
    assert lines[at - 1].startswith(f"{indent}# ")


def test_the_default_extensions_are_those_of_the_decoder() -> None:
    assert Settings().corpus.extensions == tuple(VIDEO_EXTENSIONS)
