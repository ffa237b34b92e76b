"""The standard streams: what they cannot encode, and what becomes of them while a command runs."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Any, TextIO, cast

from gpgpu_legacy.numerals import natural_in
from gpgpu_legacy.present.plain import REPLACE, spelled_plainly

BROKEN_PIPE = 1
"""The exit code where the reader of stdout is gone, as Python's documentation has it."""

_LOST = {errno.ENOSPC, errno.EIO, errno.EBADF, errno.EPIPE, errno.EDQUOT, errno.EFBIG, errno.EAGAIN}
"""What writing to a stream fails with; errors of files have the name of the file."""


MOST_COLUMNS = 10_000
"""What COLUMNS and LINES may say at most: no table is as wide, and lines are filled up to it."""


class _LastResort:
    """stderr, which may be gone or full: then nobody can be told, and the command goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            _drop(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            _drop(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare_streams() -> None:
    """Make stdout and stderr take any text: what their encoding lacks is spelled plainly.

    A stream that was closed before the program started takes text, too, and drops it. A size of
    the terminal that is none is forgotten, since libraries would stumble over it.
    """
    for name in ("COLUMNS", "LINES"):
        if not 0 < (natural_in(os.environ.get(name, "")) or 0) <= MOST_COLUMNS:
            os.environ.pop(name, None)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, nowhere)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=_text_encoding(stream.encoding), errors=REPLACE)
    if not isinstance(sys.stderr, _LastResort):
        sys.stderr = cast("TextIO", _LastResort(sys.stderr))


def _text_encoding(encoding: str) -> str:
    """The encoding, or UTF-8 in place of one that is not for text, such as idna."""
    try:
        spelled_plainly("n×n", encoding)
    except (UnicodeError, LookupError):
        return "utf-8"
    return encoding


def is_of_output(error: Exception) -> bool:
    """Whether stdout cannot be written: its disk is full, or its reader is gone."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _LOST


def output_is_lost(error: OSError) -> str:
    """What keeps stdout from being written."""
    return f"standard output cannot be written: {error.strerror}"


def drop_output() -> None:
    """Send what stdout still holds to nowhere, so that the interpreter's exit does not complain."""
    _drop(sys.stdout)


def _drop(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
