from __future__ import annotations

import os
from pathlib import Path

import pytest

from config.values import AUTO_CACHE_LIMIT, ByteSize, CacheSize, Umask, available_memory


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (0, 0),
        (4096, 4096),
        ("4096", 4096),
        ("10B", 10),
        ("2KiB", 2048),
        ("1.5MiB", 3 * 2**19),
        ("2 GiB", 2**31),
        ("1tib", 2**40),
        ("3kB", 3000),
        ("500MB", 500_000_000),
        ("2GB", 2_000_000_000),
        ("1TB", 10**12),
    ],
)
def test_sizes(value: object, size: int) -> None:
    assert ByteSize.parse(value) == size


@pytest.mark.parametrize("value", ["", "GiB", "2G", "-1GiB", "1e9", "2GiB!", -1, 1.5, True, None])
def test_what_is_no_size(value: object) -> None:
    with pytest.raises(ValueError, match="not a size"):
        ByteSize.parse(value)


def test_auto_is_a_small_part_of_the_memory() -> None:
    assert CacheSize.parse("auto") == min(available_memory() // 32, AUTO_CACHE_LIMIT)
    assert CacheSize.parse("1GiB") == 2**30


def test_a_cgroup_may_allow_less_than_the_machine_has(tmp_path: Path) -> None:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert available_memory(tmp_path) == machine
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory(tmp_path) == machine
    (tmp_path / "memory.max").write_text(f"{2**28}\n")
    assert available_memory(tmp_path) == 2**28


@pytest.mark.parametrize(("text", "mask"), [("022", 0o22), ("27", 0o27), ("0o077", 0o77)])
def test_umask(text: str, mask: int) -> None:
    assert Umask.parse(text) == mask
