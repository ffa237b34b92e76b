"""Reading text files."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from gpgpu_legacy.errors import InputError, reason_of

MOST_TEXT_BYTES = 2**24
"""Of a text file, where its reader gives no smaller number: more than any of them has, and little
beside a machine's memory."""


def read_text(path: Path, most: int = MOST_TEXT_BYTES) -> str:
    """The text of a file, with its line ends as they are.

    Text that is not UTF-8 is read as Latin-1, which shaders of the time have in their comments.
    Otherwise as `read_text_bytes`.
    """
    return _decoded(read_text_bytes(path, most))


def read_text_bytes(path: Path, most: int = MOST_TEXT_BYTES) -> bytes:
    """The bytes of a text file, for a reader that knows its encoding.

    most: the bytes that it may have. Raises InputError, in one line, where the file is missing,
    unreadable, longer, a device or not text.
    """
    try:
        with _opened(path) as file:
            is_longer = os.fstat(file.fileno()).st_size > most
            data = b"" if is_longer else file.read(most + 1)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:  # a ValueError for a path with a zero byte
        raise InputError(f"{path} cannot be read: {reason_of(error)}") from None
    return _checked(data, str(path), most, is_longer=is_longer)


def read_standard_input(most: int = MOST_TEXT_BYTES) -> str:
    """The text on standard input, up to its end; errors as `read_text` has them."""
    if sys.stdin is None:
        raise InputError("standard input is closed; give the name of a file")
    try:
        data = sys.stdin.buffer.read(most + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"standard input cannot be read: {reason_of(error)}") from None
    return _decoded(_checked(data, "standard input", most))


def open_data(path: Path) -> BinaryIO:
    """A file of data, opened; InputError where it is not a file that has an end and a beginning.

    So no reader waits for a pipe or reads a device without end.
    """
    try:
        file = _opened(path)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {reason_of(error)}") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise InputError(f"{path} is a pipe; write what comes through it to a file first")
    return file


def _opened(path: Path) -> BinaryIO:
    """A file or a pipe, opened without waiting for the pipe's other end. OSError for all else."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise OSError(errno.EINVAL, "it is a device; give a file")
        os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _checked(data: bytes, name: str, most: int, *, is_longer: bool = False) -> bytes:
    if is_longer or len(data) > most:
        raise InputError(f"{name} has more than {most} bytes, the most that such a file may have")
    if b"\0" in data:
        raise InputError(f"{name} is not a text file; it contains zero bytes")
    return data


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
