"""Parquet files, by way of pyarrow, which not everybody has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from vfs.errors import DataSetUnreadable

_INSTALL = "LeRobot data sets are read with pyarrow; install it: pip install 'framefs[lerobot]'"


def require() -> Any:
    """pyarrow.parquet. Raises DataSetUnreadable, and says what to install."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DataSetUnreadable(_INSTALL) from error
    return pyarrow.parquet


def table(path: str, columns: list[str]) -> Any:
    """Columns of a file, in this order, as a pyarrow.Table.

    Uses no threads: who mounts forks afterwards.

    Raises:
        DataSetUnreadable: there is no pyarrow, or the file cannot be read.
    """
    with reading(path), require().ParquetFile(path, pre_buffer=False) as file:
        return file.read(columns, use_threads=False).select(columns)


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Has whatever goes wrong with a file said as a DataSetUnreadable that names it."""
    try:
        yield
    except OSError as error:
        raise DataSetUnreadable(f"{path}: {error.strerror or error}") from error
    except KeyError as error:
        raise DataSetUnreadable(f"{path}: {error} is missing") from error
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise DataSetUnreadable(f"{path}: cannot be read ({error})") from error
