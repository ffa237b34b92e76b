"""The standard streams: what they cannot encode, and what becomes of them while a command runs."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path

from gpgpu_legacy.present.plain import REPLACE

BROKEN_PIPE = 1
"""The exit code where the reader of stdout is gone, as Python's documentation has it."""

_LOST = {errno.ENOSPC, errno.EIO, errno.EBADF, errno.EPIPE, errno.EDQUOT, errno.EFBIG, errno.EAGAIN}
"""What writing to a stream fails with; errors of files have the name of the file."""


def prepare_streams() -> None:
    """Make stdout and stderr take any text: what their encoding lacks is spelled plainly.

    A stream that was closed before the program started takes text, too, and drops it.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, nowhere)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=REPLACE)


def is_of_output(error: Exception) -> bool:
    """Whether stdout cannot be written: its disk is full, or its reader is gone."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _LOST


def output_is_lost(error: OSError) -> str:
    """What keeps stdout from being written."""
    return f"standard output cannot be written: {error.strerror}"


def drop_output() -> None:
    """Send what stdout still holds to nowhere, so that the interpreter's exit does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
