from __future__ import annotations

import errno
import logging
from collections.abc import Iterator

import pytest

from decoder import errors as decoder_errors
from vfs import errors as vfs_errors
from vfs.errnos import ERRNOS, errno_of, report


def leaves(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    below = kind.__subclasses__()
    if not below:
        yield kind
    for one in below:
        yield from leaves(one)


@pytest.mark.parametrize("root", [decoder_errors.DecoderError, vfs_errors.VfsError])
def test_every_leaf_class_has_an_entry(root: type[BaseException]) -> None:
    ours = [kind for kind in leaves(root) if kind.__module__.startswith(("decoder.", "vfs."))]
    assert ours
    assert [kind for kind in ours if kind not in ERRNOS] == []


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (decoder_errors.SourceNotFound("x"), errno.ENOENT),
        (decoder_errors.SourceUnreadable("x"), errno.EIO),
        (decoder_errors.SourceChanged("x"), errno.ESTALE),
        (decoder_errors.UnsupportedStream("x"), errno.ENOTSUP),
        (decoder_errors.FrameOutOfRange("x"), errno.ENOENT),
        (vfs_errors.NoSuchPath("x"), errno.ENOENT),
        (vfs_errors.ReadOnly("x"), errno.EROFS),
        (vfs_errors.NoSuchAttribute("x"), errno.ENODATA),
        (PermissionError(errno.EACCES, "x"), errno.EACCES),
        (OSError("without a number"), errno.EIO),
        (MemoryError(), errno.ENOMEM),
        (ValueError("x"), errno.EIO),
        (SystemExit(0), errno.EIO),
        (KeyboardInterrupt(), errno.EIO),
        (type("Special", (decoder_errors.SourceChanged,), {})("x"), errno.ESTALE),
    ],
)
def test_error_numbers(error: BaseException, number: int) -> None:
    assert errno_of(error) == number


def test_what_nobody_foresaw_is_logged_with_path_and_origin(
    caplog: pytest.LogCaptureFixture,
) -> None:
    report(ZeroDivisionError("oops"), "read", "/a/000001.png")
    assert "read /a/000001.png" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_reason_is_logged_once_and_what_is_missing_not_at_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            report(decoder_errors.DecodeFailed("only once"), "read", "/once/000001.png")
            report(vfs_errors.NoSuchPath("/nothing"), "getattr", "/nothing")
    assert caplog.text.count("only once") == 1
    assert "/nothing" not in caplog.text
